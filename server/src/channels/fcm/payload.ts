// What an Android phone is told: the message of FCM's HTTP v1 API (contract 7.4;
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages). Pure.
import { type ChannelContent, isBackgroundPush, type Priority } from '../../content/content.ts';
import type { Push } from '../channel.ts';

/** The parts of a message that count for its size are text alone: FCM takes no other values there. */
export interface FcmMessage {
  readonly token: string;
  readonly data: Readonly<Record<string, string>>;
  readonly notification: Readonly<Record<string, string | undefined>> | undefined;
  readonly android: {
    readonly notification: Readonly<Record<string, string | number | undefined>> | undefined;
    readonly [field: string]: unknown;
  };
  readonly fcm_options: { readonly analytics_label: string } | undefined;
}

/** Four weeks: FCM keeps nothing longer. */
const ttlSecondsMax = 2_419_200;

const priorityOf: Readonly<Record<Priority, string>> = { high: 'HIGH', normal: 'NORMAL', low: 'NORMAL' };

/** What is undefined is not there: JSON.stringify leaves it out. */
export function buildMessage({ content, token, messageId, receiptToken, ttlSeconds }: Push<unknown>): FcmMessage {
  const { title, body, image, icon, color, sound, click_action, channel_id, notification_count, url } = content;
  const ours = { carillon_message_id: messageId, carillon_token: receiptToken };
  const data = url === undefined ? ours : { url, ...ours };
  const analytics = content.analytics_label;
  const shows = !isBackgroundPush('fcm', content);
  return {
    token,
    data: content.data === undefined ? data : { ...textsOf(content.data), ...data },
    notification: shows ? { title, body } : undefined,
    android: {
      collapse_key: content.collapse_key,
      priority: priorityOf[content.priority],
      ttl: `${Math.min(ttlSeconds, ttlSecondsMax)}s`,
      direct_boot_ok: content.direct_boot_ok,
      notification: shows
        ? {
            icon,
            color,
            sound: typeof sound === 'string' ? sound : undefined,
            // Not a collapse key per message: FCM keeps only four of those per device.
            tag: content.tag ?? content.collapse_key ?? messageId,
            click_action,
            channel_id,
            image,
            visibility: content.visibility?.toUpperCase(),
            notification_count,
          }
        : undefined,
    },
    fcm_options: analytics === undefined ? undefined : { analytics_label: analytics },
  };
}

function textsOf(data: NonNullable<ChannelContent['data']>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, String(value)]));
}

/** What FCM counts towards its limit: keys and values of data and notification, in UTF-8 bytes. */
export function payloadBytesOf({ data, notification, android }: FcmMessage): number {
  let bytes = 0;
  for (const part of [data, notification, android.notification]) {
    for (const [key, value] of Object.entries(part ?? {})) {
      if (value !== undefined) bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value));
    }
  }
  return bytes;
}
