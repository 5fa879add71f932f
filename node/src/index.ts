// What `@carillon/node` hands out, and nothing else of it.
export type * from './types.gen.ts';
export { type BoundUser, boundUserHash, userHash } from './user-hash.ts';
export {
  type SignatureHeader,
  signWebhook,
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookRefusal,
  WebhookVerificationError,
} from './verify-webhook.ts';
export type {
  EventData,
  MessageClickedEvent,
  MessageFailedEvent,
  MessageSentEvent,
  WebhookEvent,
  WebhookTestEvent,
} from './webhook-event.ts';
