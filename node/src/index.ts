// The public interface of `@carillon/node`.
export type { OperationName } from './call.ts';
export {
  Carillon,
  type CarillonOptions,
  type Devices,
  type Events,
  type Properties,
  type Segments,
  type Users,
} from './client.ts';
export type { RequestOptions, SendOptions } from './endpoint.ts';
export { ApiError, CarillonError, NetworkError, type QuotaState } from './errors.ts';
export type { Messages, Send } from './messages.ts';
export type { Reports } from './reports.ts';
export type * from './types.gen.ts';
export { type ProvenUser, userHash, userToken } from './user-proof.ts';
export {
  type RawBody,
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
