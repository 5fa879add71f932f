// The web push endpoint of Chrome and its relatives. Google documents the statuses but not the
// bodies. The bodies here are quoted from public issue threads, so a client must match them
// loosely.
import { type Acceptance, type Answer, type Personality, type Problem, reasons } from './vendor.ts';

function text(status: number, body: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: `${body}\n`,
  };
}

/** A page of GCM, the answer to requests that FCM does not understand. */
function page(status: number, title: string): Answer {
  return {
    status,
    headers: { 'content-type': 'text/html; charset=UTF-8', 'x-content-type-options': 'nosniff' },
    body: `<HTML>\n<HEAD>\n<TITLE>${title}</TITLE>\n</HEAD>\n<BODY BGCOLOR="#FFFFFF" TEXT="#000000">\n<H1>${title}</H1>\n<H2>Error ${status}</H2>\n</BODY>\n</HTML>\n`,
  };
}

/** The answer to a request without usable VAPID. */
const unauthorizedRegistration = page(400, 'UnauthorizedRegistration');

function refuse(problem: Problem, detail: string): Answer {
  switch (problem) {
    case 'method_not_allowed':
      return text(405, 'Method Not Allowed');
    case 'endpoint_unknown':
      return text(
        404,
        'A valid push subscription endpoint should be specified in the URL as such: https://fcm.googleapis.com/wp/dHIoDxE7Hdg:APA91bH1Zj0kNa...',
      );
    case 'endpoint_gone':
      return text(410, 'push subscription has unsubscribed or expired.');
    case 'authorization_missing':
      return text(401, 'authorization header must be specified.');
    case 'authorization_malformed':
      return unauthorizedRegistration;
    case 'vapid_key_mismatch':
      return text(
        403,
        'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.',
      );
    case 'vapid_audience':
      return text(403, 'aud claim in the token MUST include the origin of the push resource URL');
    case 'vapid_expiry_far':
      return text(403, 'exp claim MUST NOT be more than 24 hours from the time of the request');
    case 'vapid_key_invalid':
    case 'vapid_token_malformed':
    case 'vapid_signature':
    case 'vapid_expired':
    case 'vapid_subject':
      return text(403, 'invalid JWT provided');
    case 'body_too_large':
      return text(413, 'Payload Too Large');
    case 'length_missing':
    case 'ttl_missing':
    case 'ttl_invalid':
    case 'ttl_negative':
    case 'urgency_invalid':
    case 'topic_invalid':
    case 'encoding_missing':
    case 'encoding_unknown':
    case 'keys_equal':
    case 'cache_policy_conflict':
      return text(400, detail);
  }
}

function refuseWithStatus(status: number): Answer {
  if (status === 400) return unauthorizedRegistration;
  if (status === 401) return text(401, 'invalid push subscription endpoint');
  if (status === 403) return refuse('vapid_key_mismatch', '');
  if (status === 404) return refuse('endpoint_unknown', '');
  if (status === 410) return refuse('endpoint_gone', '');
  return text(status, reasons[status] ?? `Error ${status}`);
}

export const fcm: Personality = {
  name: 'fcm',
  host: 'fcm.googleapis.com',
  isHost: (host) => host === 'fcm.googleapis.com' || host === 'jmt17.google.com' || host === 'android.googleapis.com',
  endpointPath: (token) => `/fcm/send/${token}`,
  readToken: (path) => /^\/(?:fcm\/send|wp|preprod\/wp|gcm\/send)\/([A-Za-z0-9:_-]+)$/.exec(path)?.[1],
  bodyBytesMax: 4096,
  ttlSecondsMax: 2_419_200,
  isVapidRequired: true,
  refuse,
  refuseWithStatus,
  named: {
    UnauthorizedRegistration: unauthorizedRegistration,
    MismatchSenderId: page(403, 'MismatchSenderId'),
    sender_id: text(
      403,
      'the key in the authorization header does not correspond to the sender ID used to subscribe this user. Please ensure you are using the correct sender ID and server Key from the Firebase console.',
    ),
    vapid_credentials: refuse('vapid_key_mismatch', ''),
    endpoint_invalid: text(401, 'invalid push subscription endpoint'),
  },
  accept: ({ origin, messageId, ttlSeconds }: Acceptance) => ({
    status: 201,
    headers: {
      location: `${origin}/0:${messageId}`,
      ttl: String(ttlSeconds),
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
    body: '',
  }),
};
