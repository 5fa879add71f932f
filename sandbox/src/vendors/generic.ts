// A push service exactly as the RFCs describe one; no vendor runs it. Every refusal has the status
// that the RFC names and a problem document (RFC 9457). The best vendor to begin development with.
import { type Acceptance, type Answer, type Personality, type Problem, reasons } from './vendor.ts';

const statusOfProblem: Readonly<Record<Problem, number>> = {
  method_not_allowed: 405,
  endpoint_unknown: 404,
  endpoint_gone: 410,
  // RFC 8292 section 4.2: 401 without a token, 403 with an invalid one.
  authorization_missing: 401,
  authorization_malformed: 401,
  vapid_key_invalid: 403,
  vapid_key_mismatch: 403,
  vapid_token_malformed: 403,
  vapid_signature: 403,
  vapid_audience: 403,
  vapid_expired: 403,
  vapid_expiry_far: 403,
  vapid_subject: 403,
  length_missing: 411,
  body_too_large: 413,
  ttl_missing: 400,
  ttl_invalid: 400,
  ttl_negative: 400,
  urgency_invalid: 400,
  topic_invalid: 400,
  encoding_missing: 400,
  encoding_unknown: 400,
  // RFC 8292 section 3.2.
  keys_equal: 400,
  cache_policy_conflict: 400,
};

function problemDocument(status: number, detail: string): Answer {
  const title = reasons[status] ?? 'Error';
  const challenge = status === 401 ? { 'www-authenticate': 'vapid' } : {};
  const allowed = status === 405 ? { allow: 'POST' } : {};
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...challenge, ...allowed },
    body: JSON.stringify({ type: 'about:blank', title, status, detail }),
  };
}

export const generic: Personality = {
  name: 'generic',
  host: 'push.sandbox.example',
  isHost: (host) => host === 'push.sandbox.example',
  endpointPath: (token) => `/push/${token}`,
  readToken: (path) => /^\/push\/([A-Za-z0-9_-]+)$/.exec(path)?.[1],
  bodyBytesMax: 4096,
  ttlSecondsMax: 2_419_200,
  isVapidRequired: false,
  refuse: (problem, detail) => problemDocument(statusOfProblem[problem], detail),
  refuseWithStatus: (status) => problemDocument(status, reasons[status] ?? `Answered ${status} by a script`),
  named: {},
  accept: ({ origin, messageId, ttlSeconds }: Acceptance) => ({
    status: 201,
    headers: { location: `${origin}/message/${messageId}`, ttl: String(ttlSeconds) },
    body: '',
  }),
};
