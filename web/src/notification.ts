// From the payload of a push to what is shown, and from what was clicked to where it leads (contract 7.4).
// Pure, and never throws: whatever arrives, there is something to show.
import type { NotificationDefaults } from './device-id.ts';

/** The options browsers take; the compiler's own list lacks the newer ones. */
export interface ShownOptions extends NotificationOptions {
  image?: string;
  renotify?: boolean;
  actions?: { action: string; title: string; icon?: string }[];
}

export interface Shown {
  readonly title: string;
  readonly options: ShownOptions;
  /** The number for the app's icon; null leaves it as it is. */
  readonly appBadge: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a push. `text` is null for a push without payload; text that is not JSON is shown as it came, for that is what
 * a browser's developer tools send. `siteName` is the title of last resort.
 */
export function readNotification(
  text: string | null,
  defaults: NotificationDefaults,
  siteName: string,
  actionsMax: number | undefined,
): Shown {
  const payload = parse(text);
  const notification = fieldsOf(payload?.['notification']);
  const data = fieldsOf(notification['data']);
  const actions = listOf(notification['actions']).slice(0, actionsMax);
  const tag = textOf(notification['tag']) ?? textOf(data['carillon_message_id']);
  const options: ShownOptions = {
    data: {
      ...data,
      carillon_url: textOf(data['url']) ?? textOf(notification['navigate']),
      carillon_actions: Object.fromEntries(actions.map((action) => [action['action'], textOf(action['navigate'])])),
    },
    ...only('body', textOf(notification['body']) ?? (payload ? undefined : (text ?? undefined))),
    ...only('icon', textOf(notification['icon']) ?? defaults.icon),
    ...only('badge', textOf(notification['badge']) ?? defaults.badge),
    ...only('image', textOf(notification['image'])),
    ...only('lang', textOf(notification['lang'])),
    ...only('dir', directionOf(notification['dir'])),
    ...only('tag', tag),
    // Browsers throw for `renotify` without a tag.
    ...(notification['renotify'] === true && tag ? { renotify: true } : {}),
    ...((notification['requireInteraction'] ?? notification['require_interaction']) === true
      ? { requireInteraction: true }
      : {}),
    ...(notification['silent'] === true ? { silent: true } : {}),
    ...(actions.length > 0 ? { actions: actions.map(shownAction) } : {}),
  };
  const badge = notification['app_badge'] ?? payload?.['app_badge'];
  return {
    title: textOf(notification['title']) ?? defaults.title ?? siteName,
    options,
    appBadge: Number.isInteger(badge) ? Number(badge) : null,
  };
}

/** Where a click leads: the button's own address, else the notification's; null where there is none or it is no web page. */
export function targetOf(data: unknown, action: string, base: string): string | null {
  const fields = fieldsOf(data);
  const url = textOf(fieldsOf(fields['carillon_actions'])[action]) ?? textOf(fields['carillon_url']);
  if (url === undefined) return null;
  try {
    const target = new URL(url, base);
    return target.protocol === 'https:' || target.protocol === 'http:' ? target.href : null;
  } catch {
    return null;
  }
}

/** What a receipt needs of a shown notification. */
export function marksOf(data: unknown): { readonly token: string | null; readonly messageId: string | null } {
  const fields = fieldsOf(data);
  return { token: textOf(fields['carillon_token']) ?? null, messageId: textOf(fields['carillon_message_id']) ?? null };
}

function shownAction(action: Fields): { action: string; title: string; icon?: string } {
  return {
    action: textOf(action['action']) ?? '',
    title: textOf(action['title']) ?? '',
    ...only('icon', textOf(action['icon'])),
  };
}

function parse(text: string | null): Fields | null {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? (value as Fields) : null;
  } catch {
    return null;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter((item) => typeof fieldsOf(item)['action'] === 'string') : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function directionOf(value: unknown): NotificationDirection | undefined {
  return value === 'ltr' || value === 'rtl' || value === 'auto' ? value : undefined;
}

/** `{name: value}`, or nothing: an option that is present and undefined is an error to some browsers. */
function only<Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);
}
