// What an iPhone is told: the JSON that Apple delivers, and the headers that say how (contract 7.4;
// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification). Pure.
import { createHash } from 'node:crypto';
import { type ChannelContent, isBackgroundPush, type Priority } from '../../content/content.ts';
import { decodeId, uuidFromBytes, uuidToBytes } from '../../platform/ids.ts';
import type { Push } from '../channel.ts';

export function buildPayload({ content, messageId, receiptToken }: Push<unknown>): Buffer {
  const { title, subtitle, body, badge, category, url, image } = content;
  // JSON.stringify leaves out what is undefined. Data comes first: no key of the caller's stands in front of ours.
  return Buffer.from(
    JSON.stringify({
      ...content.data,
      aps: {
        alert: isBackgroundPush('apns', content) ? undefined : { title, subtitle, body },
        badge: typeof badge === 'number' ? badge : undefined,
        sound: buildSound(content.sound),
        'thread-id': content.thread_id,
        category,
        'content-available': content.content_available ? 1 : undefined,
        // Without it no extension of the app runs that could fetch the image.
        'mutable-content': content.mutable_content || image !== undefined ? 1 : undefined,
        'target-content-id': content.target_content_id,
        'interruption-level': content.interruption_level,
        'relevance-score': content.relevance_score,
      },
      url,
      image_url: image,
      carillon_message_id: messageId,
      carillon_token: receiptToken,
    }),
  );
}

function buildSound(sound: ChannelContent['sound']): unknown {
  if (typeof sound !== 'object') return sound;
  const { name, critical, volume } = sound;
  return { critical: critical === undefined ? undefined : Number(critical), name, volume };
}

const priorityOf: Readonly<Record<Priority, string>> = { high: '10', normal: '5', low: '1' };

/** Values that no two pushes share: the header table must not keep them. */
export const uniqueHeaders = ['apns-id', 'apns-expiration', 'apns-collapse-id'] as const;

/** The headers but for `authorization`. `nowMs` is the present, which the expiration counts from. */
export function buildHeaders(push: Push<{ readonly bundleId: string }>, nowMs: number): Record<string, string> {
  const { content, credential, messageId, deviceId, ttlSeconds } = push;
  const isBackground = isBackgroundPush('apns', content);
  return {
    'apns-topic': credential.bundleId,
    'apns-push-type': isBackground ? 'background' : 'alert',
    'apns-id': apnsIdOf(messageId, deviceId),
    'apns-expiration': ttlSeconds === 0 ? '0' : String(Math.floor(nowMs / 1_000) + ttlSeconds),
    // Apple refuses a background push that claims to be urgent.
    'apns-priority': isBackground ? '5' : priorityOf[content.priority],
    'apns-collapse-id': content.collapse_key ?? messageId,
  };
}

/** UUIDv5 (RFC 9562, 5.5): the message id is the namespace, the device's public id the name. The same on every attempt. */
export function apnsIdOf(messageId: string, deviceId: string): string {
  const namespace = uuidToBytes(decodeId('msg', messageId) ?? '');
  const bytes = createHash('sha1').update(namespace).update(deviceId).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidFromBytes(bytes);
}
