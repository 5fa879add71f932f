// The message of FCM's HTTP v1 API for an Android phone (contract 7.4;
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages). Pure.
import { type ChannelContent, isBackgroundPush, type Priority } from '../../content/content.ts';
import { member, membersOf, nested, objectOf } from '../../ground/json-text.ts';
import type { Push } from '../channel.ts';

/** Four weeks: FCM keeps no message longer. */
const ttlSecondsMax = 2_419_200;

const priorityOf: Readonly<Record<Priority, string>> = { high: 'HIGH', normal: 'NORMAL', low: 'NORMAL' };

/** The body of the request, as JSON. */
export function buildMessage({ content, token, messageId, receiptToken, ttlSeconds }: Push<unknown>): string {
  const { title, body, image, icon, color, sound, click_action, channel_id, notification_count, url } = content;
  const shows = !isBackgroundPush('fcm', content);
  const theirs =
    content.data === undefined
      ? ''
      : membersOf({ ...textsOf(content.data), ...(url === undefined ? ours : oursWithUrl) });
  const data =
    theirs + member('url', url) + member('carillon_message_id', messageId) + member('carillon_token', receiptToken);
  let members = member('token', token) + nested('data', data);
  if (shows) members += nested('notification', member('title', title) + member('body', body));
  let android =
    member('collapse_key', content.collapse_key) +
    member('priority', priorityOf[content.priority]) +
    member('ttl', `${Math.min(ttlSeconds, ttlSecondsMax)}s`) +
    member('direct_boot_ok', content.direct_boot_ok);
  if (shows) {
    const notification =
      member('icon', icon) +
      member('color', color) +
      member('sound', typeof sound === 'string' ? sound : undefined) +
      // A tag and not a collapse key per message, because FCM keeps only four collapse keys per
      // device.
      member('tag', content.tag ?? content.collapse_key ?? messageId) +
      member('click_action', click_action) +
      member('channel_id', channel_id) +
      member('image', image) +
      member('visibility', content.visibility?.toUpperCase()) +
      member('notification_count', notification_count);
    android += nested('notification', notification);
  }
  members += nested('android', android);
  const label = content.analytics_label;
  if (label !== undefined) members += nested('fcm_options', member('analytics_label', label));
  return objectOf(nested('message', members));
}

/** Keys that are ours. A key of the caller's data never replaces them. */
const ours = { carillon_message_id: undefined, carillon_token: undefined };
const oursWithUrl = { ...ours, url: undefined };

function textsOf(data: NonNullable<ChannelContent['data']>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(value)]));
}

/** The parts of a message that count towards FCM's size limit. */
interface Counted {
  readonly data: Readonly<Record<string, string>>;
  readonly notification?: Readonly<Record<string, string>>;
  readonly android: { readonly notification?: Readonly<Record<string, string | number>> };
}

/**
 * The bytes of a request's body that FCM counts towards its limit: keys and values of data and
 * notification, in UTF-8.
 */
export function payloadBytesOf(body: string): number {
  const { message } = JSON.parse(body) as { message: Counted };
  const { data, notification, android } = message;
  let bytes = 0;
  for (const part of [data, notification, android.notification]) {
    for (const [key, value] of Object.entries(part ?? {}))
      bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
  }
  return bytes;
}
