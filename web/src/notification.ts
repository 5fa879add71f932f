// Turns the payload of a push into a notification, and a click into its target (contract 7.4).
// Pure, and never throws: any payload gives something to show.
import type { NotificationDefaults } from './device-id.ts';

/** The options that browsers accept; the compiler's own list lacks the newer ones. */
export interface ShownOptions extends NotificationOptions {
  image?: string;
  renotify?: boolean;
  actions?: { action: string; title: string; icon?: string }[];
}

export interface Shown {
  readonly title: string;
  readonly options: ShownOptions;
  /** The number for the app's icon; null leaves the number as it is. */
  readonly appBadge: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a push. `text` is null for a push without payload. Text that is not JSON is shown as it is,
 * because browsers' developer tools send such text. `siteName` is the last choice for the title.
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

/**
 * The target of a click: the button's own address, else the notification's. Null when there is none
 * or it is no web page.
 */
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

/** The facts about a shown notification that a receipt needs. */
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

/**
 * `{name: value}`, or an empty object, because some browsers reject an option that is present and
 * undefined.
 */
function only<Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);
}
