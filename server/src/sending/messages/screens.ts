// The screens on which people read a notification, and how much of it each shows. Platforms cut by
// width and not by characters, so these are the lengths at which a text of ordinary letters is cut.
//
// - iphone_lock_screen: one line of title; four lines of body, about 178 characters (Reteno, "Push
//   notification character limits"; Batch says 180 in four lines, doc.batch.com, "optimal length for
//   every iOS/Android push notification"). The title's 50 are the same guides' length of one line.
// - android_shade: the opened notification; 65 characters of title on one line, and about 240 of body
//   (mojicnt.click, "Push notification character limits"). Closed, it shows one line of 50 (Batch).
// - chrome_windows: 70 characters of title in two lines, 140 of body in four, and an image (Batch,
//   "optimal length for every web push notification"; PushOwl measured 70 and 141 on Windows 11). An
//   action shows 19 characters (PushOwl).
// - chrome_macos: 43 and 88 characters (webpushnotifications.xyz); no image (Braze, "message
//   formats"). Two actions stand under Options.
// - firefox: 50 characters of title on one line, 200 of body in four lines, no image (Batch; PushOwl
//   measured 54 and 200). Firefox shows no actions (MDN, Notification.maxActions).
import type { ChannelId } from '../channels/channel.ts';

export const screenNames = [
  'iphone_lock_screen',
  'android_shade',
  'chrome_windows',
  'chrome_macos',
  'firefox',
] as const;
export type ScreenName = (typeof screenNames)[number];

export interface Screen {
  readonly name: ScreenName;
  /** Characters as people count them, before the cut. */
  readonly title: number;
  /** Null: this screen has no line for it. */
  readonly subtitle: number | null;
  readonly body: number;
  readonly showsImage: boolean;
  /** Actions that are shown, and the characters of each. */
  readonly actions: { readonly most: number; readonly title: number };
}

const noActions = { most: 0, title: 0 };

export const screensOf: Readonly<Record<ChannelId, readonly Screen[]>> = {
  apns: [
    {
      name: 'iphone_lock_screen',
      title: 50,
      subtitle: 50,
      body: 178,
      // Only an extension of the app fetches the image, and most apps have one.
      showsImage: true,
      actions: noActions,
    },
  ],
  fcm: [{ name: 'android_shade', title: 65, subtitle: null, body: 240, showsImage: true, actions: noActions }],
  webpush: [
    {
      name: 'chrome_windows',
      title: 70,
      subtitle: null,
      body: 140,
      showsImage: true,
      actions: { most: 2, title: 19 },
    },
    { name: 'chrome_macos', title: 43, subtitle: null, body: 88, showsImage: false, actions: { most: 2, title: 19 } },
    { name: 'firefox', title: 50, subtitle: null, body: 200, showsImage: false, actions: noActions },
  ],
};

/** A text as one screen shows it. */
export interface CutText {
  readonly text: string;
  /** The text that people read; ends in `…` where the screen cuts. */
  readonly shown: string;
  readonly length: number;
  readonly limit: number;
}

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Cuts between characters as people see them, so that no emoji is torn. Spaces count. */
export function cutText(text: string, limit: number): CutText {
  let length = 0;
  let keptTo = 0;
  for (const { index, segment } of characters.segment(text)) {
    length += 1;
    if (length < limit) keptTo = index + segment.length;
  }
  const shown = length > limit ? `${text.slice(0, keptTo).trimEnd()}…` : text;
  return { text, shown, length, limit };
}
