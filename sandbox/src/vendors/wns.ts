// Windows push notification services, which have Edge's endpoints. Its answers have X-WNS-* headers
// and no bodies. It accepts 5,000 bytes, throttles with 406, and requires X-WNS-Cache-Policy to
// agree with TTL.
import { randomBytes } from 'node:crypto';
import { type Acceptance, type Answer, type Personality, type Problem, problemOfStatus, reasons } from './vendor.ts';

const statusOfProblem: Readonly<Record<Problem, readonly [status: number, description: string]>> = {
  method_not_allowed: [405, 'Method not allowed'],
  endpoint_unknown: [404, 'Invalid channel URL'],
  endpoint_gone: [410, 'Revoked channel URL'],
  authorization_missing: [401, 'Missing authorization header'],
  authorization_malformed: [401, 'Invalid authorization header'],
  vapid_key_invalid: [401, 'Invalid VAPID public key'],
  vapid_key_mismatch: [403, 'VAPID public key does not match the channel'],
  vapid_token_malformed: [401, 'Invalid VAPID token'],
  vapid_signature: [401, 'Invalid VAPID token'],
  vapid_audience: [401, 'Invalid VAPID audience'],
  vapid_expired: [401, 'Invalid VAPID expiry'],
  vapid_expiry_far: [401, 'Invalid VAPID expiry'],
  vapid_subject: [401, 'Invalid VAPID subject'],
  length_missing: [411, 'Content-Length is required'],
  body_too_large: [413, 'Payload too large'],
  ttl_missing: [400, 'Missing TTL'],
  ttl_invalid: [400, 'Invalid TTL'],
  ttl_negative: [400, 'Invalid TTL'],
  urgency_invalid: [400, 'Invalid Urgency'],
  topic_invalid: [400, 'Invalid Topic'],
  encoding_missing: [400, 'Missing Content-Encoding'],
  encoding_unknown: [400, 'Invalid Content-Encoding'],
  keys_equal: [400, 'Invalid encryption key'],
  cache_policy_conflict: [400, 'Ttl value conflicts with X-WNS-Cache-Policy.'],
};

const hex = (bytes: number): string => randomBytes(bytes).toString('hex').toUpperCase();

function trace(): Record<string, string> {
  return { 'x-wns-msg-id': hex(8), 'x-wns-debug-trace': `SANDBOX${hex(4)}`, 'ms-cv': `${hex(8)}.0` };
}

function dropped(status: number, description: string): Answer {
  return {
    status,
    headers: {
      'x-wns-status': status === 406 || status === 429 ? 'channelthrottled' : 'dropped',
      'x-wns-notificationstatus': status === 406 || status === 429 ? 'channelthrottled' : 'dropped',
      'x-wns-error-description': description,
      ...trace(),
    },
    body: '',
  };
}

function refuseWithStatus(status: number): Answer {
  const problem = problemOfStatus(status);
  return problem === undefined
    ? dropped(status, reasons[status] ?? `Error ${status}`)
    : dropped(...statusOfProblem[problem]);
}

export const wns: Personality = {
  name: 'wns',
  host: 'wns2-sandbox.notify.windows.com',
  isHost: (host) => host.endsWith('.notify.windows.com'),
  endpointPath: (token) => `/w/?token=${token}`,
  readToken: (path) => /^\/w\/\?token=([A-Za-z0-9_%.-]+)$/.exec(path)?.[1],
  bodyBytesMax: 5000,
  ttlSecondsMax: 2_592_000,
  isVapidRequired: true,
  refuse: (problem) => dropped(...statusOfProblem[problem]),
  refuseWithStatus,
  named: {
    channelthrottled: dropped(406, 'Channel throttled'),
    expired: dropped(410, 'Channel expired'),
    forbidden: dropped(403, 'VAPID public key does not match the channel'),
  },
  accept: ({ origin, messageId, ttlSeconds }: Acceptance) => ({
    status: 201,
    headers: {
      location: `${origin}/message/${messageId}`,
      ttl: String(ttlSeconds),
      'x-wns-status': 'received',
      'x-wns-notificationstatus': 'received',
      ...trace(),
    },
    body: '',
  }),
};
