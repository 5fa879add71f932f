// FCM's rules for a message whose shape is right: exactly one target, no reserved keys in the data,
// the size, and values within bounds. Pure: a message in canonical spelling in, the first fault
// out.
import type { MessageFault } from './fcm-message.ts';

type Fields = Readonly<Record<string, unknown>>;

export const messageBytesMax = 4096;
export const topicMessageBytesMax = 2048;
const ttlSecondsMax = 2_419_200;
const targets = ['token', 'topic', 'condition', 'fid'] as const;

/** The single target, or a fault when there is not exactly one. */
export function targetOf(message: Fields): { kind: (typeof targets)[number]; value: string } | MessageFault {
  const given = targets.filter((name) => typeof message[name] === 'string' && message[name] !== '');
  const [kind, second] = given;
  if (kind === undefined) return { message: 'Recipient of the message is not set.', field: 'message' };
  if (second !== undefined) {
    return {
      message: `Invalid value at 'message' (oneof), oneof field 'target' is already set. Cannot set '${second}'`,
      field: 'message',
    };
  }
  return { kind, value: String(message[kind]) };
}

/** The first fault of reserved keys in `data` and `android.data`. */
export function dataFault(message: Fields): MessageFault | null {
  for (const [path, data] of [
    ['message.data', fieldsOf(message['data'])],
    ['message.android.data', fieldsOf(fieldsOf(message['android'])['data'])],
  ] as const) {
    const reserved = Object.keys(data).find((key) => /^(from$|message_type$|google\.|gcm\.notification\.)/.test(key));
    if (reserved !== undefined) return { message: `Invalid data payload key: ${reserved}`, field: path };
  }
  return null;
}

/** Octets of all keys and values that travel to an Android phone: the data and the notification. */
export function messageBytes(message: Fields): number {
  const android = fieldsOf(message['android']);
  const data = { ...fieldsOf(message['data']), ...fieldsOf(android['data']) };
  const notification = { ...fieldsOf(message['notification']), ...fieldsOf(android['notification']) };
  return [...Object.entries(data), ...Object.entries(notification)].reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(textOf(value)),
    0,
  );
}

/** The first value that has the right type and is not valid. */
export function valueFault(message: Fields): MessageFault | null {
  const android = fieldsOf(message['android']);
  const notification = fieldsOf(android['notification']);
  const ttl = Number.parseFloat(String(android['ttl'] ?? '0'));
  if (ttl < 0 || ttl > ttlSecondsMax) {
    return { message: `Invalid ttl: it must be from 0s to ${ttlSecondsMax}s`, field: 'message.android.ttl' };
  }
  const color = notification['color'];
  if (typeof color === 'string' && !/^#[0-9a-fA-F]{6}$/.test(color)) {
    return { message: 'Invalid color: it must be #rrggbb', field: 'message.android.notification.color' };
  }
  for (const [path, options] of [
    ['message.fcm_options', fieldsOf(message['fcm_options'])],
    ['message.android.fcm_options', fieldsOf(android['fcm_options'])],
  ] as const) {
    const label = options['analytics_label'];
    if (typeof label === 'string' && !/^[a-zA-Z0-9\-_.~%]{1,50}$/.test(label)) {
      return { message: 'Invalid analytics label', field: `${path}.analytics_label` };
    }
  }
  return null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
