// The answers of APNs that Apple documents. `answer.ts` reads this table, and gives a reason that is
// not in it no meaning.
import { documentedBy, type VendorAnswer } from '../answer-table.ts';

const page = 'https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns';

export const apnsAnswers: readonly VendorAnswer[] = [
  ...documentedBy(page, [
    [400, 'BadCollapseId', 'invalid_payload'],
    [400, 'BadDeviceToken', 'invalid_token'],
    [400, 'BadExpirationDate', 'invalid_payload'],
    [400, 'BadMessageId', 'invalid_payload'],
    [400, 'BadPriority', 'invalid_payload'],
    [400, 'BadTopic', 'auth_failed'],
    [400, 'DeviceTokenNotForTopic', 'credential_mismatch'],
    [400, 'DuplicateHeaders', 'invalid_payload'],
    [400, 'IdleTimeout', 'provider_unavailable'],
    [400, 'InvalidPushType', 'invalid_payload'],
    [400, 'MissingDeviceToken', 'invalid_token'],
    [400, 'MissingTopic', 'auth_failed'],
    [400, 'PayloadEmpty', 'invalid_payload'],
    [400, 'TopicDisallowed', 'auth_failed'],
    [403, 'BadCertificate', 'auth_failed'],
    [403, 'BadCertificateEnvironment', 'credential_mismatch'],
    [403, 'BadEnvironmentKeyIdInToken', 'credential_mismatch'],
    [403, 'ExpiredProviderToken', 'auth_failed'],
    [403, 'Forbidden', 'auth_failed'],
    [403, 'InvalidProviderToken', 'auth_failed'],
    [403, 'MissingProviderToken', 'auth_failed'],
    [403, 'UnrelatedKeyIdInToken', 'auth_failed'],
    // A wrong path is a fault of the request, because this service never sends a token that is not
    // hexadecimal.
    [404, 'BadPath', 'invalid_payload'],
    [405, 'MethodNotAllowed', 'invalid_payload'],
    [410, 'ExpiredToken', 'unregistered'],
    [410, 'Unregistered', 'unregistered'],
    [413, 'PayloadTooLarge', 'payload_too_large'],
    [429, 'TooManyProviderTokenUpdates', 'rate_limited'],
    [429, 'TooManyRequests', 'rate_limited'],
    [500, 'InternalServerError', 'provider_unavailable'],
    [503, 'ServiceUnavailable', 'provider_unavailable'],
    [503, 'Shutdown', 'provider_unavailable'],
    // A bare 410 is missing: only a reason says that the token ended.
    [400, null, 'invalid_payload'],
    [403, null, 'auth_failed'],
    [404, null, 'invalid_payload'],
    [405, null, 'invalid_payload'],
    [413, null, 'payload_too_large'],
    [429, null, 'rate_limited'],
  ]),
  // Apple documents `BadEnvironmentKeyIdInToken`, but has been seen to send this one.
  ...documentedBy('https://developer.apple.com/forums/thread/725473', [
    [403, 'BadEnvironmentKeyInToken', 'credential_mismatch'],
  ]),
];
