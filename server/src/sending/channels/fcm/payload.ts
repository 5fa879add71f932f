// The message of FCM's HTTP v1 API for an Android phone (contract 7.4;
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages). Pure.

import { JsonWriter } from '../../../ground/values/json-writer.ts';
import { type ChannelContent, type Priority, pushKindOf } from '../../content/content.ts';
import type { Push } from '../channel.ts';

/** Four weeks: FCM keeps no message longer. */
const ttlSecondsMax = 2_419_200;

const priorityOf: Readonly<Record<Priority, string>> = { high: 'HIGH', normal: 'NORMAL', low: 'NORMAL' };

/** The body of the request, as JSON. */
export function buildMessage({ content, token, messageId, receiptToken, ttlSeconds }: Push<unknown>): string {
  const { title, body, url, analytics_label } = content;
  const shows = pushKindOf('fcm', content) !== 'background';
  const json = new JsonWriter();
  json.open('message');
  json.member('token', token);
  json.open('data');
  if (content.data !== undefined)
    json.members({ ...textsOf(content.data), ...(url === undefined ? ours : oursWithUrl) });
  json.member('url', url);
  json.member('carillon_message_id', messageId);
  json.member('carillon_token', receiptToken);
  json.close();
  if (shows) {
    json.open('notification');
    json.member('title', title);
    json.member('body', body);
    json.close();
  }
  json.open('android');
  json.member('collapse_key', content.collapse_key);
  json.member('priority', priorityOf[content.priority]);
  json.member('ttl', `${Math.min(ttlSeconds, ttlSecondsMax)}s`);
  json.member('direct_boot_ok', content.direct_boot_ok);
  if (shows) writeNotification(json, content, messageId);
  json.close();
  if (analytics_label !== undefined) {
    json.open('fcm_options');
    json.member('analytics_label', analytics_label);
    json.close();
  }
  json.close();
  return json.end();
}

/** The fields of a notification that only Android has. */
function writeNotification(json: JsonWriter, content: ChannelContent, messageId: string): void {
  const { sound } = content;
  json.open('notification');
  json.member('icon', content.icon);
  json.member('color', content.color);
  json.member('sound', typeof sound === 'string' ? sound : undefined);
  // A tag and not a collapse key per message, because FCM keeps only four collapse keys per device.
  json.member('tag', content.tag ?? content.collapse_key ?? messageId);
  json.member('click_action', content.click_action);
  json.member('channel_id', content.channel_id);
  json.member('image', content.image);
  json.member('visibility', content.visibility?.toUpperCase());
  json.member('notification_count', content.notification_count);
  json.close();
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
