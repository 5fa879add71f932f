// The fields of a message beside its texts, in plain words: the places that take each, and its kind
// of input. The API's types check that every field is listed. Pure.
import type { Content } from '../../api/objects.ts';
import type { Channel, Place, TextField } from './message-form.ts';

interface Option {
  readonly value: string | boolean;
  readonly label: string;
}

export type FieldInput =
  | { readonly kind: 'text' | 'template'; readonly max: number; readonly placeholder?: string }
  | { readonly kind: 'number'; readonly max: number; readonly step?: number }
  /** `unset`: the meaning of no choice. */
  | { readonly kind: 'choice'; readonly unset: string; readonly options: readonly Option[] }
  | { readonly kind: 'seconds' | 'pairs' | 'sound' };

export interface ContentField {
  readonly label: string;
  readonly note?: string;
  readonly input: FieldInput;
}

const text = (max: number, placeholder?: string): FieldInput => ({ kind: 'text', max, placeholder });
const yesOrNo: FieldInput = {
  kind: 'choice',
  unset: 'Not set',
  options: [
    { value: true, label: 'Yes' },
    { value: false, label: 'No' },
  ],
};
/** The composer's names of a message's texts. */
export const textLabels: Readonly<Record<TextField, string>> = {
  title: 'Title',
  subtitle: 'Subtitle',
  body: 'Body',
  url: 'Address it opens',
  image: 'Image',
};

const appBadge: ContentField = { label: 'Number on the app icon', input: { kind: 'number', max: 99_999 } };

/** Fields of the whole message, which each channel may override. */
const common = {
  icon: {
    label: 'Icon',
    note: 'An https address for browsers, or the name of a picture in an Android app',
    input: { kind: 'template', max: 2048 },
  },
  ttl: {
    label: 'Give up after',
    note: 'How long to wait for a device that is offline. 0: now or never. Not set: 3 days',
    input: { kind: 'seconds' },
  },
  priority: {
    label: 'Priority',
    input: {
      kind: 'choice',
      unset: 'Not set: high',
      options: [
        { value: 'high', label: 'High: at once, also on a phone that sleeps' },
        { value: 'normal', label: 'Normal: when the phone wakes' },
        { value: 'low', label: 'Low: when it costs no battery' },
      ],
    },
  },
  collapse_key: {
    label: 'Replaces messages with the same key',
    note: 'A device shows only the newest of them',
    input: text(64, 'order-17'),
  },
  data: { label: 'Data for your app', note: 'One a line: key = value', input: { kind: 'pairs' } },
} satisfies Readonly<Record<string, ContentField>>;

/** The composer's name of a field of the whole message; an unknown field keeps its own. Pure. */
export function labelOf(name: string): string {
  const labels: Readonly<Record<string, string>> = textLabels;
  const fields: Readonly<Record<string, ContentField>> = common;
  return labels[name] ?? fields[name]?.label ?? name;
}

type Shared = TextField | keyof typeof common;
/** Buttons are lists and have inputs of their own. */
type OwnFields<Name extends Channel> = Readonly<
  Record<Exclude<keyof NonNullable<Content[Name]>, Shared | 'actions'>, ContentField>
>;

const webpush: OwnFields<'webpush'> = {
  badge: {
    label: 'Small icon',
    note: 'The https address of a picture in one colour, for the status bar of Android',
    input: text(2048, 'https://shop.example/bell.png'),
  },
  tag: { label: 'Tag', note: 'Takes the place of a notification with the same tag', input: text(64) },
  renotify: { label: 'Rings again when it takes that place', input: yesOrNo },
  require_interaction: { label: 'Stays until somebody acts', input: yesOrNo },
  silent: { label: 'Without sound and vibration', input: yesOrNo },
  app_badge: appBadge,
  lang: { label: 'Language of its text', input: text(35, 'de') },
  dir: {
    label: 'Direction of its text',
    input: {
      kind: 'choice',
      unset: 'Not set: as the browser',
      options: [
        { value: 'auto', label: 'As the browser' },
        { value: 'ltr', label: 'Left to right' },
        { value: 'rtl', label: 'Right to left' },
      ],
    },
  },
};

const apns: OwnFields<'apns'> = {
  sound: { label: 'Sound', note: 'The name of a sound in the app, or default', input: { kind: 'sound' } },
  badge: appBadge,
  interruption_level: {
    label: 'Interrupts',
    input: {
      kind: 'choice',
      unset: 'Not set: as usual',
      options: [
        { value: 'passive', label: 'Never: it waits in the list' },
        { value: 'active', label: 'As usual' },
        { value: 'time-sensitive', label: 'Also during a focus' },
        { value: 'critical', label: 'Always, if Apple permits it' },
      ],
    },
  },
  relevance_score: {
    label: 'Relevance in the summary',
    note: 'From 0 to 1; the highest stands on top',
    input: { kind: 'number', max: 1, step: 0.1 },
  },
  thread_id: { label: 'Group', note: 'Notifications of one group are stacked', input: text(64) },
  category: { label: 'Category', note: 'Names the buttons that the app has for it', input: text(64) },
  target_content_id: { label: 'Window that it opens', input: text(256) },
  mutable_content: { label: 'The app may change it first', input: yesOrNo },
  content_available: { label: 'Wakes the app in the background', input: yesOrNo },
};

const fcm: OwnFields<'fcm'> = {
  channel_id: {
    label: 'Notification channel',
    note: 'A channel of the app, which decides on sound and importance',
    input: text(128),
  },
  sound: { label: 'Sound', note: 'The name of a sound in the app, or default', input: text(128) },
  color: { label: 'Colour of the icon', input: text(7, '#b0722a') },
  tag: { label: 'Tag', note: 'Takes the place of a notification with the same tag', input: text(64) },
  visibility: {
    label: 'On the lock screen',
    input: {
      kind: 'choice',
      unset: 'Not set: as the phone',
      options: [
        { value: 'public', label: 'Shown whole' },
        { value: 'private', label: 'Shown without its text' },
        { value: 'secret', label: 'Not shown' },
      ],
    },
  },
  notification_count: appBadge,
  click_action: { label: 'Action of a tap', note: 'The name of an intent of the app', input: text(256) },
  direct_boot_ok: { label: 'Also before the first unlock after a restart', input: yesOrNo },
  analytics_label: { label: 'Label in Firebase reports', input: text(50) },
};

const own: Readonly<Record<Channel, Readonly<Record<string, ContentField>>>> = { webpush, apns, fcm };

export interface NamedField extends ContentField {
  readonly name: string;
  /** True: the place may return to the common value, or remove it. */
  readonly isShared: boolean;
}

/** The fields of a place beside its texts. A language has texts only. Pure. */
export function moreFieldsAt(place: Place): readonly NamedField[] {
  if (place.startsWith('language-')) return [];
  const shared = namedOf(common, place !== 'all');
  return place === 'all' ? shared : [...namedOf(own[place as Channel], false), ...shared];
}

const namedOf = (fields: Readonly<Record<string, ContentField>>, isShared: boolean): readonly NamedField[] =>
  Object.entries(fields).map(([name, field]) => ({ name, isShared, ...field }));
