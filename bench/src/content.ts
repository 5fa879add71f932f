// The notification that all sides send: of usual size, with one personal word. The bodies are the
// ones that Carillon builds, so that all sides carry the same text.
import { buildPayload as buildApnsPayload } from '../../server/src/sending/channels/apns/payload.ts';
import type { ChannelId, Push } from '../../server/src/sending/channels/channel.ts';
import { buildMessage } from '../../server/src/sending/channels/fcm/payload.ts';
import { buildPayload as buildWebPayload } from '../../server/src/sending/channels/webpush/payload.ts';

/** Every person has this name, so that all pushes have the same size on every side. */
export const firstName = 'Alexandra';

/** The content as a caller gives it to POST /v1/messages. */
export const content = {
  title: "Hello {{ first_name | default: 'there' }}, your order is on its way",
  body: 'It left our warehouse this morning and should be with you tomorrow before noon.',
  url: 'https://shop.example/orders/latest',
} as const;

/** The same content as a person reads it. */
export const rendered = { ...content, title: `Hello ${firstName}, your order is on its way` } as const;

/** The default of POST /v1/messages. */
export const ttlSeconds = 259_200;
export const messageId = 'msg_02y9GVDsTuJUi2BOoCH5G3';
/** A receipt token has 87 characters (contract 14). */
export const receiptToken = 'x'.repeat(87);

const pushOf = (token: string): Push<undefined> => ({
  credential: undefined,
  token,
  messageId,
  deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
  receiptToken,
  clickUrl: null,
  content: { ...rendered, ttl: ttlSeconds, priority: 'high' },
  ttlSeconds,
});

/** The plaintext of one push, as Carillon builds it from `content` for a device with this token. */
export const bodyOf: Readonly<Record<ChannelId, (token: string) => Buffer>> = {
  webpush: (token) => buildWebPayload(pushOf(token), false),
  apns: (token) => buildApnsPayload(pushOf(token)),
  fcm: (token) => Buffer.from(buildMessage(pushOf(token))),
};
