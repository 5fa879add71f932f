// The answers of FCM that Google documents. `answer.ts` reads these tables. `INVALID_ARGUMENT` has
// three meanings, which `answer.ts` tells apart by details and message.
import { documentedBy } from '../answer-table.ts';

/** `FcmError.errorCode`. Only these words can say that a token is dead. */
export const fcmErrors = documentedBy('https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode', [
  [404, 'UNREGISTERED', 'unregistered'],
  [400, 'INVALID_ARGUMENT of the token', 'invalid_token'],
  [400, 'INVALID_ARGUMENT of the size', 'payload_too_large'],
  [400, 'INVALID_ARGUMENT', 'invalid_payload'],
  [403, 'SENDER_ID_MISMATCH', 'credential_mismatch'],
  [429, 'QUOTA_EXCEEDED', 'rate_limited'],
  [503, 'UNAVAILABLE', 'provider_unavailable'],
  [500, 'INTERNAL', 'provider_unavailable'],
  [401, 'THIRD_PARTY_AUTH_ERROR', 'auth_failed'],
]);

/**
 * `error.status` where FCM gave no code, and HTTP's status where the body gave none either.
 * `NOT_FOUND` alone is also the answer to a project that does not exist, so it says nothing of the
 * device.
 */
export const googleErrors = documentedBy('https://cloud.google.com/apis/design/errors', [
  [401, 'UNAUTHENTICATED', 'auth_failed'],
  [403, 'PERMISSION_DENIED', 'auth_failed'],
  [404, 'NOT_FOUND', 'auth_failed'],
  [429, 'RESOURCE_EXHAUSTED', 'rate_limited'],
  [503, 'UNAVAILABLE', 'provider_unavailable'],
  [500, 'INTERNAL', 'provider_unavailable'],
  [400, null, 'invalid_payload'],
  [401, null, 'auth_failed'],
  [403, null, 'auth_failed'],
  [404, null, 'auth_failed'],
  [405, null, 'invalid_payload'],
  [413, null, 'payload_too_large'],
  [429, null, 'rate_limited'],
]);
