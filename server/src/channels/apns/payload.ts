// What an iPhone is told: the JSON that Apple delivers, and the headers that say how (contract 7.4;
// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification). Pure,
// but for the memory of the message whose id it read last.
import { hash } from 'node:crypto';
import { type ChannelContent, isBackgroundPush, type Priority } from '../../content/content.ts';
import { decodeId, uuidToBytes } from '../../platform/ids.ts';
import { member, membersOf, nested, objectOf } from '../../platform/json-text.ts';
import type { Push } from '../channel.ts';

export function buildPayload({ content, messageId, receiptToken }: Push<unknown>): Buffer {
  const { title, subtitle, body, badge, category, url, image } = content;
  const alert = member('title', title) + member('subtitle', subtitle) + member('body', body);
  const aps =
    (isBackgroundPush('apns', content) ? '' : nested('alert', alert)) +
    member('badge', typeof badge === 'number' ? badge : undefined) +
    soundOf(content.sound) +
    member('thread-id', content.thread_id) +
    member('category', category) +
    member('content-available', content.content_available ? 1 : undefined) +
    // Without it no extension of the app runs that could fetch the image.
    member('mutable-content', content.mutable_content || image !== undefined ? 1 : undefined) +
    member('target-content-id', content.target_content_id) +
    member('interruption-level', content.interruption_level) +
    member('relevance-score', content.relevance_score);
  const members =
    (content.data === undefined ? '' : membersOf({ ...content.data, ...ours })) +
    nested('aps', aps) +
    member('url', url) +
    member('image_url', image) +
    member('carillon_message_id', messageId) +
    member('carillon_token', receiptToken);
  return Buffer.from(objectOf(members));
}

/** What no key of the caller's data stands for. */
const ours = {
  aps: undefined,
  url: undefined,
  image_url: undefined,
  carillon_message_id: undefined,
  carillon_token: undefined,
};

function soundOf(sound: ChannelContent['sound']): string {
  if (typeof sound !== 'object') return member('sound', sound);
  const { name, critical, volume } = sound;
  const isCritical = critical === undefined ? undefined : Number(critical);
  return nested('sound', member('critical', isCritical) + member('name', name) + member('volume', volume));
}

const priorityOf: Readonly<Record<Priority, string>> = { high: '10', normal: '5', low: '1' };

/** Values that no two pushes share: the header table must not keep them. */
export const uniqueHeaders = ['apns-id', 'apns-expiration', 'apns-collapse-id'] as const;

/** `nowMs` is the present, which the expiration counts from. */
export function buildHeaders(
  push: Push<{ readonly bundleId: string }>,
  nowMs: number,
  authorization: string,
): Record<string, string> {
  const { content, credential, messageId, deviceId, ttlSeconds } = push;
  const isBackground = isBackgroundPush('apns', content);
  return {
    authorization,
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
  if (hashed.messageId !== messageId) hashed = hashedOf(messageId);
  hashed.input.write(deviceId, hashed.namespaceBytes, 'latin1');
  const hex = hash('sha1', hashed.input, 'hex');
  for (let i = 0, from = 0; i < apnsId.length; i++) {
    if (i === 8 || i === 13 || i === 18 || i === 23) continue;
    apnsId[i] = hex.charCodeAt(from++);
  }
  apnsId[versionAt] = 0x35;
  apnsId[variantAt] = variants.charCodeAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return apnsId.toString('latin1');
}

// Written over for each, and never used across calls: a text put together from parts would leave all of them behind.
const apnsId = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');
const versionAt = 14;
const variantAt = 19;
const variants = '89ab';

const publicIdLength = 26;

// A batch asks for one message a thousand times.
let hashed = hashedOf('');

function hashedOf(messageId: string) {
  const namespace = uuidToBytes(decodeId('msg', messageId) ?? '');
  const input = Buffer.concat([namespace, Buffer.alloc(publicIdLength)]);
  return { messageId, input, namespaceBytes: namespace.length };
}
