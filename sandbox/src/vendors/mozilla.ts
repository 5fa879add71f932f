// Firefox's push service, autopush. Its errors are JSON with an `errno`, documented at
// mozilla-services.github.io/autopush-rs/errors.html. A 410 may be cached, and a 503 says when to
// try again.
import { parseUrl } from '../parse-url.ts';
import { type Acceptance, type Answer, type Personality, type Problem, reasons } from './vendor.ts';

const moreInfo = 'http://autopush.readthedocs.io/en/latest/http.html#error-codes';

const errnoOfProblem: Readonly<Record<Problem, readonly [status: number, errno: number]>> = {
  method_not_allowed: [405, 999],
  endpoint_unknown: [404, 102],
  endpoint_gone: [410, 106],
  authorization_missing: [401, 109],
  authorization_malformed: [401, 109],
  vapid_key_invalid: [401, 109],
  vapid_key_mismatch: [401, 109],
  vapid_token_malformed: [401, 109],
  vapid_signature: [401, 109],
  vapid_audience: [401, 109],
  vapid_expired: [401, 109],
  vapid_expiry_far: [401, 109],
  vapid_subject: [401, 109],
  length_missing: [411, 999],
  body_too_large: [413, 104],
  ttl_missing: [400, 111],
  ttl_invalid: [400, 112],
  ttl_negative: [400, 114],
  // autopush ignores the Urgency of desktop senders; RFC 8030 section 5.3 requires 400.
  urgency_invalid: [400, 111],
  topic_invalid: [400, 113],
  encoding_missing: [400, 110],
  encoding_unknown: [400, 110],
  keys_equal: [400, 110],
  cache_policy_conflict: [400, 111],
};

/** The errno that most often goes with a status. */
const errnoOfStatus: Readonly<Record<number, number>> = {
  400: 110,
  401: 109,
  404: 102,
  410: 106,
  413: 104,
  429: 201,
  500: 999,
  502: 902,
  503: 201,
};

function error(status: number, errno: number, message: string): Answer {
  const caching = status === 410 ? { 'cache-control': 'max-age=86400' } : {};
  const comeBack = status === 503 ? { 'retry-after': '120' } : {};
  return {
    status,
    headers: { 'content-type': 'application/json', ...caching, ...comeBack },
    body: JSON.stringify({ code: status, errno, error: reasons[status] ?? 'Error', message, more_info: moreInfo }),
  };
}

function refuse(problem: Problem, detail: string): Answer {
  const [status, errno] = errnoOfProblem[problem];
  const message = problem === 'vapid_key_mismatch' ? 'VAPID public key mismatch' : detail;
  return error(status, errno, message);
}

/** Every errno that Mozilla documents, with its status. */
const documented: readonly (readonly [status: number, errno: number, message: string])[] = [
  ...[101, 108, 110, 111, 112, 113, 114].map((errno) => [400, errno, 'Bad parameters'] as const),
  [401, 109, 'Invalid authentication'],
  [404, 102, 'Invalid URL endpoint'],
  [410, 103, 'Expired URL endpoint'],
  [410, 105, 'Endpoint became unavailable during request'],
  [410, 106, 'Invalid subscription'],
  [413, 104, 'Data payload too large'],
  [429, 201, 'Use exponential back-off for retries'],
  [500, 999, 'Unknown error'],
  ...[900, 901, 902, 903].map((errno) => [502, errno, 'Bad gateway'] as const),
  [503, 202, 'Immediate retry ok'],
];

export const mozilla: Personality = {
  name: 'mozilla',
  host: 'updates.push.services.mozilla.com',
  isHost: (host) => host.endsWith('.push.services.mozilla.com'),
  // Subscriptions with an applicationServerKey have v2 endpoints.
  endpointPath: (token, isRestricted) => `/wpush/${isRestricted ? 'v2' : 'v1'}/${token}`,
  readToken: (path) => /^\/wpush\/v[12]\/([A-Za-z0-9_-]+)$/.exec(path)?.[1],
  bodyBytesMax: 4096,
  ttlSecondsMax: 2_592_000,
  isVapidRequired: false,
  subjectFault: (subject) =>
    subject === undefined || parseUrl(subject) ? null : `sub is not a valid URI: ${JSON.stringify(subject)}`,
  refuse,
  refuseWithStatus: (status) => error(status, errnoOfStatus[status] ?? 999, reasons[status] ?? `Error ${status}`),
  named: {
    ...Object.fromEntries(documented.map(([status, errno, said]) => [`errno_${errno}`, error(status, errno, said)])),
    key_mismatch: refuse('vapid_key_mismatch', ''),
  },
  accept: ({ origin, messageId, ttlSeconds }: Acceptance) => ({
    status: 201,
    headers: { location: `${origin}/m/${messageId}`, ttl: String(ttlSeconds) },
    body: '',
  }),
};
