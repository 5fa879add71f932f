// What every side sends: one notification of usual size, personal in one word. The peers get the very text that Carillon
// sends, so that both encrypt and carry the same bytes.
import { buildPayload } from '../../server/src/channels/webpush/payload.ts';

/** Every person is called so: then all pushes are of one size, on every side. */
export const firstName = 'Alexandra';

/** As a caller gives it to POST /v1/messages. */
export const content = {
  title: "Hello {{ first_name | default: 'there' }}, your order is on its way",
  body: 'It left our warehouse this morning and should be with you tomorrow before noon.',
  url: 'https://shop.example/orders/latest',
} as const;

/** The default of POST /v1/messages. */
export const ttlSeconds = 259_200;
/** Contract 14. */
const receiptTokenLength = 87;

/** The plaintext of one push, as Carillon makes it of `content` for a device. */
export function payloadOfOne(): Buffer {
  return buildPayload(
    {
      credential: undefined,
      token: '',
      messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
      deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
      receiptToken: 'x'.repeat(receiptTokenLength),
      clickUrl: null,
      content: {
        title: `Hello ${firstName}, your order is on its way`,
        body: content.body,
        url: content.url,
        ttl: ttlSeconds,
        priority: 'high',
      },
      ttlSeconds,
    },
    false,
  );
}
