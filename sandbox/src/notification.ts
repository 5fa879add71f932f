// Reads the notification that a person would see from a payload. It understands the declarative
// shape (`web_push: 8030`), shapes that are common in service workers, and plain text. Strings stay
// as they are; escaping is the drawing code's task.

export interface NotificationAction {
  readonly action: string;
  readonly title: string;
  readonly url: string | null;
}

export interface ShownNotification {
  readonly title: string;
  readonly body: string;
  readonly icon: string | null;
  readonly image: string | null;
  readonly badge: string | null;
  /** The click's target when a service worker handles it. */
  readonly url: string | null;
  /** The click's target without a service worker. */
  readonly navigate: string | null;
  /** A later notification with the same tag replaces this one. */
  readonly tag: string | null;
  readonly actions: readonly NotificationAction[];
  readonly isSilent: boolean;
  readonly isRequiringInteraction: boolean;
  readonly dir: 'ltr' | 'rtl' | 'auto';
  readonly lang: string | null;
  /** Safari shows it without asking the service worker. */
  readonly isDeclarative: boolean;
  /** The receipt token of a Carillon message. */
  readonly receiptToken: string | null;
  /** Details that only phones show; null in a browser. */
  readonly phone: PhoneDetails | null;
}

export interface PhoneDetails {
  /** The app's bundle id or project. */
  readonly app: string | null;
  readonly subtitle: string | null;
  /** The number on the app's icon. */
  readonly count: number | null;
  readonly sound: string | null;
  /** Thread on an iPhone, channel on Android. */
  readonly group: string | null;
  /** Interruption level on an iPhone, priority on Android. */
  readonly level: string | null;
  /** `#rrggbb` */
  readonly color: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** The notification in a payload, or null when a service worker would find nothing to show. */
export function readNotification(text: string, json: unknown): ShownNotification | null {
  if (!isFields(json)) return text === '' ? null : titled(text);
  const inner = isFields(json['notification']) ? json['notification'] : json;
  const title = string(inner['title']) ?? string(json['title']);
  const body = string(inner['body']) ?? string(inner['message']);
  if (title === null && body === null) return null;
  const data = isFields(inner['data']) ? inner['data'] : {};
  const dir = inner['dir'];
  return {
    title: title ?? '',
    body: body ?? '',
    icon: string(inner['icon']),
    image: string(inner['image']),
    badge: string(inner['badge']),
    url: string(data['url']) ?? string(inner['navigate']) ?? string(inner['url']),
    navigate: string(inner['navigate']),
    tag: string(inner['tag']),
    actions: (Array.isArray(inner['actions']) ? inner['actions'] : []).filter(isFields).flatMap(readAction),
    isSilent: inner['silent'] === true,
    isRequiringInteraction: inner['requireInteraction'] === true,
    dir: dir === 'ltr' || dir === 'rtl' ? dir : 'auto',
    lang: string(inner['lang']),
    isDeclarative: json['web_push'] === 8030,
    receiptToken: string(data['carillon_token']),
    phone: null,
  };
}

/** A payload that is no JSON object: most service workers show its text. */
function titled(text: string): ShownNotification {
  return {
    title: text.slice(0, 200),
    body: '',
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
    phone: null,
  };
}

function readAction(fields: Fields): NotificationAction[] {
  const action = string(fields['action']);
  const title = string(fields['title']);
  return action === null || title === null ? [] : [{ action, title, url: string(fields['navigate']) }];
}

function string(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
