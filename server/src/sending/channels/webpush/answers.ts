// The answers of browsers' push services, one table for each vendor. `answer.ts` reads these
// tables; an answer that is not here has the meaning of its status (RFC 8030).

import type { PushVendor } from '../../../ground/outbound/push-hosts.ts';
import { documentedBy, type VendorAnswer } from '../answer-table.ts';

/** Statuses of any push service. Only 404 and 410 retire a device without a reason. */
export const statusAnswers = documentedBy('https://www.rfc-editor.org/rfc/rfc8030#section-7.3', [
  [404, null, 'unregistered'],
  [410, null, 'unregistered'],
  [413, null, 'payload_too_large'],
  [429, null, 'rate_limited'],
  [400, null, 'invalid_payload'],
  [405, null, 'invalid_payload'],
  [401, null, 'auth_failed'],
  [403, null, 'auth_failed'],
]);

/** Apple lists statuses and reasons without pairing them, so the reason decides. */
const apple = documentedBy(
  'https://developer.apple.com/documentation/usernotifications/sending-web-push-notifications-in-web-apps-and-browsers',
  [
    [404, 'BadPath', 'invalid_token'],
    [410, 'Unregistered', 'unregistered'],
    [410, 'ExpiredToken', 'unregistered'],
    [400, 'VapidPkHashMismatch', 'credential_mismatch'],
    [403, 'BadJwtToken', 'auth_failed'],
    [403, 'BadVapidPublicKey', 'auth_failed'],
    [403, 'BadAuthorizationHeader', 'auth_failed'],
    [413, 'PayloadTooLarge', 'payload_too_large'],
    [400, 'BadTtl', 'invalid_payload'],
    [400, 'BadUrgency', 'invalid_payload'],
    [400, 'BadWebPushTopic', 'invalid_payload'],
    [400, 'BadWebPushRequest', 'invalid_payload'],
    [405, 'MethodNotAllowed', 'invalid_payload'],
    [429, 'TooManyRequests', 'rate_limited'],
    [400, 'IdleTimeout', 'provider_unavailable'],
    [500, 'InternalServerError', 'provider_unavailable'],
    [503, 'ServiceUnavailable', 'provider_unavailable'],
    [503, 'Shutdown', 'provider_unavailable'],
  ],
);

const autopush = 'https://mozilla-services.github.io/autopush-rs/errors.html';

/** The words are values of `errno`. */
const mozilla: readonly VendorAnswer[] = [
  // Mozilla answers errno 109 for a key other than the subscription's, as for every fault of the
  // VAPID token. Only the message tells (autopush-rs, `VapidError::KeyMismatch`).
  {
    status: 401,
    word: '109',
    text: /key ?mismatch/i,
    example: '{"code":401,"errno":109,"error":"Unauthorized","message":"VAPID public key mismatch"}',
    code: 'credential_mismatch',
    source: 'https://github.com/mozilla-services/autopush-rs/blob/master/autoendpoint/src/headers/vapid.rs',
  },
  // The same numbers mean a fault of the service with any other status.
  ...['201', '202', '900', '901', '902', '903', '999'].map(
    (word) => ({ status: 429, word, isOfStatus: true, code: 'rate_limited', source: autopush }) as const,
  ),
  ...documentedBy(autopush, [
    [404, '102', 'unregistered'],
    [410, '103', 'unregistered'],
    [410, '105', 'unregistered'],
    [410, '106', 'unregistered'],
    [401, '109', 'auth_failed'],
    [413, '104', 'payload_too_large'],
    [400, '101', 'invalid_payload'],
    [400, '108', 'invalid_payload'],
    [400, '110', 'invalid_payload'],
    [400, '111', 'invalid_payload'],
    [400, '112', 'invalid_payload'],
    [400, '113', 'invalid_payload'],
    [400, '114', 'invalid_payload'],
    [503, '201', 'provider_unavailable'],
    [503, '202', 'provider_unavailable'],
    [502, '900', 'provider_unavailable'],
    [502, '901', 'provider_unavailable'],
    [502, '902', 'provider_unavailable'],
    [502, '903', 'provider_unavailable'],
    [500, '999', 'provider_unavailable'],
  ]),
];

/**
 * Google documents no bodies. These were observed when key and subscription belong to different
 * senders.
 */
const google: readonly VendorAnswer[] = [
  {
    status: 403,
    text: /sender[ _-]?id/i,
    example: 'the key in the authorization header does not correspond to the sender ID used to subscribe this user.',
    code: 'credential_mismatch',
    source: 'https://github.com/web-push-libs/web-push/issues/600',
  },
  {
    status: 403,
    text: /do(?:es)? not correspond to the credentials/i,
    example:
      'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.',
    code: 'credential_mismatch',
    source: 'https://github.com/web-push-libs/web-push/issues/941',
  },
  {
    status: 400,
    text: /Unauthorized ?Registration/i,
    example: '<HTML><HEAD><TITLE>UnauthorizedRegistration</TITLE></HEAD><BODY><H2>Error 400</H2></BODY></HTML>',
    code: 'credential_mismatch',
    source: 'https://github.com/web-push-libs/web-push/issues/237',
  },
];

/** The words are values of `X-WNS-Status` and `X-WNS-NotificationStatus`. */
const microsoft = documentedBy(
  'https://learn.microsoft.com/windows/apps/develop/notifications/push-notifications/push-request-response-headers',
  [
    [406, 'channelthrottled', 'rate_limited'],
    [400, null, 'invalid_payload'],
    [401, null, 'auth_failed'],
    // "Not authorized to send a notification to this URI even though they are authenticated": the
    // page blames the sender's credentials. A bare status says nothing about the one subscription,
    // which would be retired after three such answers (contract 7.6).
    [403, null, 'auth_failed'],
    [404, null, 'unregistered'],
    [405, null, 'invalid_payload'],
    [406, null, 'rate_limited'],
    [410, null, 'unregistered'],
    [413, null, 'payload_too_large'],
  ],
);

export const vendorAnswers: Readonly<Record<Exclude<PushVendor, 'other'>, readonly VendorAnswer[]>> = {
  google,
  mozilla,
  apple,
  microsoft,
};
