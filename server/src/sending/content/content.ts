// The content of a message: the fields of contract 7.1, and how a channel's own object overrides
// the common fields. Pure; renders nothing and knows no person.
import { z } from 'zod';
import { component, list } from '../../ground/http/schemas.ts';
import { isBlank } from './blank-text.ts';
import {
  byLocale,
  dataField,
  icon,
  plainHttpsUrl,
  plainText,
  report,
  templateText,
  templateUrl,
  visibleAscii,
} from './content-fields.ts';
import { isHttpsUrl, isWebUrl, type UrlUse } from './content-url.ts';
import { languageTag } from './locales.ts';

/**
 * The objects in content that override the common fields for one channel. Their names are those of
 * the channels.
 */
export const contentChannels = ['webpush', 'apns', 'fcm'] as const;
export type ContentChannel = (typeof contentChannels)[number];

const priorities = ['high', 'normal', 'low'] as const;
export type Priority = (typeof priorities)[number];
export type DataValue = string | number | boolean;

/** An action button of a web notification. */
export interface WebAction {
  readonly action: string;
  readonly title: string;
  readonly url?: string;
  readonly icon?: string;
}

/**
 * The content of one channel for one person: merged and rendered. Keys are spelled as in contract
 * 7.1, because this is the caller's document. An absent key was not given, or a `null` removed it.
 */
export interface ChannelContent {
  readonly title?: string;
  readonly body?: string;
  readonly url?: string;
  readonly image?: string;
  readonly icon?: string;
  readonly data?: Readonly<Record<string, DataValue>>;
  readonly ttl: number;
  readonly priority: Priority;
  readonly collapse_key?: string;
  // Only for webpush.
  readonly badge?: string | number;
  readonly tag?: string;
  readonly renotify?: boolean;
  readonly require_interaction?: boolean;
  readonly silent?: boolean;
  readonly actions?: readonly WebAction[];
  readonly dir?: 'auto' | 'ltr' | 'rtl';
  readonly lang?: string;
  readonly app_badge?: number;
  // Only for apns.
  readonly subtitle?: string;
  readonly sound?: string | { readonly name: string; readonly critical?: boolean; readonly volume?: number };
  readonly category?: string;
  readonly thread_id?: string;
  readonly interruption_level?: 'passive' | 'active' | 'time-sensitive' | 'critical';
  readonly relevance_score?: number;
  readonly mutable_content?: boolean;
  readonly content_available?: boolean;
  readonly target_content_id?: string;
  // Only for fcm.
  readonly channel_id?: string;
  readonly color?: string;
  readonly visibility?: 'private' | 'public' | 'secret';
  readonly notification_count?: number;
  readonly click_action?: string;
  readonly analytics_label?: string;
  readonly direct_boot_ok?: boolean;
}

const titleLengthMax = 1024;
const bodyLengthMax = 4096;
const ttlSecondsMax = 2_419_200;
const ttlSecondsDefault = 259_200;
const badgeMax = 99_999;

function commonFields(urlUse: UrlUse, iconKind: 'url' | 'resource' | 'any') {
  return {
    title: templateText(titleLengthMax).nullish(),
    body: templateText(bodyLengthMax).nullish(),
    url: templateUrl(urlUse).nullish(),
    image: templateUrl('https').nullish(),
    icon: icon(iconKind).nullish(),
    data: dataField.nullish(),
    ttl: z.int().min(0).max(ttlSecondsMax).nullish(),
    priority: z.enum(priorities).nullish(),
    collapse_key: visibleAscii.nullish(),
  };
}

const badgeCount = z.int().min(0).max(badgeMax);

const webActions = list(
  z.strictObject({
    action: plainText(64, 1),
    title: templateText(128),
    url: templateUrl('web').nullish(),
    icon: plainHttpsUrl.nullish(),
  }),
  { most: 2 },
).superRefine(([first, second], ctx) => {
  // A click names its action, so two actions of one name could not be told apart.
  if (first && first.action === second?.action) {
    const message = `The action '${first.action}' is given twice.`;
    report(ctx, { path: [1, 'action'], code: 'invalid_value', message });
  }
});

const webpushFields = z.strictObject({
  ...commonFields('web', 'url'),
  badge: plainHttpsUrl.nullish(),
  tag: plainText(64).nullish(),
  renotify: z.boolean().nullish(),
  require_interaction: z.boolean().nullish(),
  silent: z.boolean().nullish(),
  actions: webActions.nullish(),
  dir: z.enum(['auto', 'ltr', 'rtl']).nullish(),
  lang: languageTag.nullish(),
  app_badge: badgeCount.nullish(),
});

const apnsSound = z.union([
  plainText(128),
  z.strictObject({
    name: plainText(128),
    critical: z.boolean().nullish(),
    volume: z.number().min(0).max(1).nullish(),
  }),
]);

const apnsFields = z.strictObject({
  ...commonFields('open', 'any'),
  subtitle: templateText(titleLengthMax).nullish(),
  sound: apnsSound.nullish(),
  badge: badgeCount.nullish(),
  category: plainText(64).nullish(),
  thread_id: plainText(64).nullish(),
  interruption_level: z.enum(['passive', 'active', 'time-sensitive', 'critical']).nullish(),
  relevance_score: z.number().min(0).max(1).nullish(),
  mutable_content: z.boolean().nullish(),
  content_available: z.boolean().nullish(),
  target_content_id: plainText(256).nullish(),
});

const fcmFields = z.strictObject({
  ...commonFields('open', 'resource'),
  channel_id: plainText(128).nullish(),
  sound: plainText(128).nullish(),
  color: z
    .string()
    .regex(/^#[0-9A-Fa-f]{6}$/, { error: 'A color is written #rrggbb.' })
    .nullish(),
  tag: plainText(64).nullish(),
  visibility: z.enum(['private', 'public', 'secret']).nullish(),
  notification_count: badgeCount.nullish(),
  click_action: plainText(256).nullish(),
  analytics_label: plainText(50).nullish(),
  direct_boot_ok: z.boolean().nullish(),
});

const localeFields = z.strictObject({
  title: templateText(titleLengthMax).nullish(),
  body: templateText(bodyLengthMax).nullish(),
  subtitle: templateText(titleLengthMax).nullish(),
  url: templateUrl('open').nullish(),
  image: templateUrl('https').nullish(),
});

const contentFields = z.strictObject({
  ...commonFields('open', 'any'),
  locales: byLocale(localeFields.nullish()).nullish(),
  webpush: webpushFields.nullish(),
  apns: apnsFields.nullish(),
  fcm: fcmFields.nullish(),
});

/**
 * The `content` of a message. The result is what was sent, nulls included, with language tags in
 * canonical case, so that it can be stored, compared and shown. Emptiness is checked in this second
 * stage, because the check needs valid fields.
 */
export const contentSchema = component(
  'Content',
  contentFields.superRefine((content, ctx) => {
    if (!saysSomething(content)) {
      const message = 'No channel has a title, a body, a badge or a sound of apns, or a background push.';
      report(ctx, { path: [], code: 'empty_content', message });
    }
  }),
);
export type Content = z.infer<typeof contentFields>;

const commonKeys = ['title', 'body', 'url', 'image', 'icon', 'data', 'ttl', 'priority', 'collapse_key'] as const;

/**
 * The content of one channel in one language, before personalization. The entry of `locale`
 * overrides the top level field by field, and the channel's own object overrides both. A null
 * removes a field; an object or array replaces the former as a whole.
 */
export function mergeContent(content: Content, channel: ContentChannel, locale: string | null): ChannelContent {
  const { url, icon: iconName, ...rest } = inherit(content, channel, locale);
  const usesUrl = url !== undefined && (channel !== 'webpush' || isWebUrl(url));
  // A browser loads an icon from a url, Android finds it in the app, and APNs has no icon.
  const usesIcon = iconName !== undefined && channel !== 'apns' && isHttpsUrl(iconName) === (channel === 'webpush');
  return { ...rest, ...(usesUrl && { url }), ...(usesIcon && { icon: iconName }) };
}

/**
 * Whether webpush loses a url that only an app can open, which the dry run reports as
 * `url_dropped`.
 */
export function dropsUrl(content: Content, locale: string | null): boolean {
  const { url } = inherit(content, 'webpush', locale);
  return url !== undefined && !isWebUrl(url);
}

/**
 * The kind of push that merged content makes (contract 7.1). `shown` has a text. `background` shows
 * nothing and wakes the app. `badge` sets the badge of an iPhone or plays a sound. `empty` is none
 * of these. Web push has only `shown` and `empty`.
 */
export type PushKind = 'shown' | 'background' | 'badge' | 'empty';

export function pushKindOf(channel: ContentChannel, merged: ChannelContent): PushKind {
  const { title = '', body = '', badge, sound, content_available, data = {} } = merged;
  if (!isBlank(title) || !isBlank(body)) return 'shown';
  if (channel === 'fcm') return Object.keys(data).length > 0 ? 'background' : 'empty';
  if (channel === 'webpush') return 'empty';
  // Apple refuses a background push that has a badge or a sound.
  if (badge !== undefined || (typeof sound === 'object' ? sound.name : sound)) return 'badge';
  return content_available ? 'background' : 'empty';
}

/** The keys of `content.locales`. Null stands for people whose language has no entry. */
export function localesOf(content: Content): readonly (string | null)[] {
  return [null, ...Object.keys(content.locales ?? {})];
}

function inherit(content: Content, channel: ContentChannel, locale: string | null): ChannelContent {
  const merged: Record<string, unknown> = {};
  const overlay = (fields: object): void => {
    for (const [key, value] of Object.entries(fields)) {
      if (value === null) delete merged[key];
      else if (value !== undefined) merged[key] = key === 'data' ? value : withoutNulls(value);
    }
  };
  for (const key of commonKeys) overlay({ [key]: content[key] });
  const entry = locale === null ? undefined : content.locales?.[locale];
  if (entry) {
    const { subtitle, ...shared } = entry;
    overlay(channel === 'apns' ? { subtitle, ...shared } : shared);
  }
  overlay(content[channel] ?? {});
  // The schemas above allow no other keys, so the object has this type.
  return { ttl: ttlSecondsDefault, priority: 'high', ...merged } as ChannelContent;
}

/** A null inside an action or a sound means the same as an absent key. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

function saysSomething(content: Content): boolean {
  return localesOf(content).some((locale) =>
    contentChannels.some((channel) => pushKindOf(channel, mergeContent(content, channel, locale)) !== 'empty'),
  );
}
