// Reads the notification that a person would see on a phone: an APNs payload as iOS reads it, and
// an FCM message as Android's library reads it. Null when nothing is shown and only the app is
// woken.
import type { ShownNotification } from './notification.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * `collapseId`: a later notification with the same id replaces this one. `app`: the device's bundle
 * id.
 */
export function readApnsNotification(
  json: unknown,
  collapseId: string | null,
  app: string | null,
): ShownNotification | null {
  const payload = fieldsOf(json);
  const aps = fieldsOf(payload['aps']);
  const alert = typeof aps['alert'] === 'string' ? { body: aps['alert'] } : fieldsOf(aps['alert']);
  const title = string(alert['title']) ?? string(alert['title-loc-key']);
  const body = string(alert['body']) ?? string(alert['loc-key']);
  if (title === null && body === null) return null;
  const sound = typeof aps['sound'] === 'string' ? aps['sound'] : string(fieldsOf(aps['sound'])['name']);
  return {
    ...shown(title ?? '', body ?? ''),
    // An image needs the app's service extension, which iOS runs only for mutable content.
    image: aps['mutable-content'] === 1 ? string(payload['image_url']) : null,
    url: string(payload['url']),
    tag: collapseId,
    isSilent: sound === null,
    receiptToken: string(payload['carillon_token']),
    phone: {
      app,
      subtitle: string(alert['subtitle']),
      count: typeof aps['badge'] === 'number' ? aps['badge'] : null,
      sound,
      group: string(aps['thread-id']),
      level: string(aps['interruption-level']),
      color: null,
    },
  };
}

/** `message` is as it was sent, with names in either spelling. `app` is the device's project. */
export function readFcmNotification(message: unknown, app: string | null): ShownNotification | null {
  const root = fieldsOf(message);
  const android = fieldsOf(root['android']);
  const common = fieldsOf(root['notification']);
  const own = fieldsOf(android['notification']);
  const data = { ...fieldsOf(root['data']), ...fieldsOf(android['data']) };
  const either = (name: string): unknown => own[name] ?? own[camel(name)];
  const title = string(own['title']) ?? string(common['title']) ?? string(either('title_loc_key'));
  const body = string(own['body']) ?? string(common['body']) ?? string(either('body_loc_key'));
  if (title === null && body === null) return null;
  const sound = string(own['sound']) ?? (either('default_sound') === true ? 'default' : null);
  const count = either('notification_count');
  return {
    ...shown(title ?? '', body ?? ''),
    image: string(own['image']) ?? string(common['image']),
    url: string(data['url']),
    tag: string(own['tag']),
    isSilent: sound === null,
    receiptToken: string(data['carillon_token']),
    phone: {
      app,
      subtitle: null,
      count: typeof count === 'number' ? count : null,
      sound,
      group: string(either('channel_id')),
      level: string(android['priority'])?.toUpperCase() ?? null,
      color: string(own['color']),
    },
  };
}

function shown(title: string, body: string): Omit<ShownNotification, 'phone'> {
  return {
    title,
    body,
    icon: null,
    image: null,
    badge: null,
    url: null,
    navigate: null,
    tag: null,
    actions: [],
    isSilent: false,
    isRequiringInteraction: false,
    dir: 'auto',
    lang: null,
    isDeclarative: false,
    receiptToken: null,
  };
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function string(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
