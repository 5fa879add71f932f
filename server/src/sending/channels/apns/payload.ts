// The JSON that Apple delivers to an iPhone, and the headers that say how (contract 7.4;
// https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification).
// Pure, but remembers the message whose id it read last.
import { hash } from 'node:crypto';
import { decodeId, uuidToBytes } from '../../../ground/values/ids.ts';
import { JsonWriter } from '../../../ground/values/json-writer.ts';
import { type ChannelContent, type Priority, pushKindOf } from '../../content/content.ts';
import type { Push } from '../channel.ts';

export function buildPayload({ content, messageId, receiptToken }: Push<unknown>): Buffer {
  const { title, subtitle, body, badge, url, image } = content;
  const json = new JsonWriter();
  if (content.data !== undefined) json.members({ ...content.data, ...ours });
  json.open('aps');
  if (pushKindOf('apns', content) === 'shown') {
    json.open('alert');
    json.member('title', title);
    json.member('subtitle', subtitle);
    json.member('body', body);
    json.close();
  }
  json.member('badge', typeof badge === 'number' ? badge : undefined);
  writeSound(json, content.sound);
  json.member('thread-id', content.thread_id);
  json.member('category', content.category);
  json.member('content-available', content.content_available ? 1 : undefined);
  // Without mutable-content iOS runs no extension of the app, which alone could fetch the image.
  json.member('mutable-content', content.mutable_content || image !== undefined ? 1 : undefined);
  json.member('target-content-id', content.target_content_id);
  json.member('interruption-level', content.interruption_level);
  json.member('relevance-score', content.relevance_score);
  json.close();
  json.member('url', url);
  json.member('image_url', image);
  json.member('carillon_message_id', messageId);
  json.member('carillon_token', receiptToken);
  return Buffer.from(json.end());
}

/** Keys that are ours. A key of the caller's data never replaces them. */
const ours = {
  aps: undefined,
  url: undefined,
  image_url: undefined,
  carillon_message_id: undefined,
  carillon_token: undefined,
};

// An empty name is no sound. Apple would refuse a background push that has the key.
function writeSound(json: JsonWriter, sound: ChannelContent['sound']): void {
  if (typeof sound !== 'object') {
    json.member('sound', sound || undefined);
    return;
  }
  const { name, critical, volume } = sound;
  if (name === '') return;
  json.open('sound');
  json.member('critical', critical === undefined ? undefined : Number(critical));
  json.member('name', name);
  json.member('volume', volume);
  json.close();
}

const priorityOf: Readonly<Record<Priority, string>> = { high: '10', normal: '5', low: '1' };

/**
 * Headers whose values no two pushes share. They must not fill the header table of the connection.
 */
export const uniqueHeaders = ['apns-id', 'apns-expiration', 'apns-collapse-id'] as const;

/** `nowMs` is the present, from which the expiration counts. */
export function buildHeaders(
  push: Push<{ readonly bundleId: string }>,
  nowMs: number,
  authorization: string,
): Record<string, string> {
  const { content, credential, messageId, deviceId, ttlSeconds } = push;
  const isBackground = pushKindOf('apns', content) === 'background';
  return {
    authorization,
    'apns-topic': credential.bundleId,
    'apns-push-type': isBackground ? 'background' : 'alert',
    'apns-id': apnsIdOf(messageId, deviceId),
    'apns-expiration': ttlSeconds === 0 ? '0' : String(Math.floor(nowMs / 1_000) + ttlSeconds),
    // Apple rejects a background push of priority 10.
    'apns-priority': isBackground ? '5' : priorityOf[content.priority],
    'apns-collapse-id': content.collapse_key ?? messageId,
  };
}

/**
 * The id of a push at Apple, a UUIDv5 (RFC 9562, 5.5): the namespace is the message id, the name is
 * the device's public id. Every attempt has the same id.
 */
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

// Each call writes over this buffer and answers a string of its own. A text joined from parts would
// leave all of its parts to the garbage collector.
const apnsId = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');
const versionAt = 14;
const variantAt = 19;
const variants = '89ab';

const publicIdLength = 26;

// Remembered, because a batch asks for one message up to a thousand times.
let hashed = hashedOf('');

function hashedOf(messageId: string) {
  const namespace = uuidToBytes(decodeId('msg', messageId) ?? '');
  const input = Buffer.concat([namespace, Buffer.alloc(publicIdLength)]);
  return { messageId, input, namespaceBytes: namespace.length };
}
