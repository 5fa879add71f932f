// Safari's push service. The reasons are those of Apple's page on web push. Apple does not say
// which status goes with which reason, so a client must decide by the reason. Apple is stricter
// than the RFCs about Topic and `sub`.

import { randomUUID } from 'node:crypto';
import { parseUrl } from '../parse-url.ts';
import { type Acceptance, type Answer, type Personality, type Problem, reasons } from './vendor.ts';

const reasonOfProblem: Readonly<Record<Problem, readonly [status: number, reason: string]>> = {
  method_not_allowed: [405, 'MethodNotAllowed'],
  endpoint_unknown: [404, 'BadPath'],
  endpoint_gone: [410, 'Unregistered'],
  authorization_missing: [403, 'BadAuthorizationHeader'],
  authorization_malformed: [403, 'BadAuthorizationHeader'],
  vapid_key_invalid: [403, 'BadVapidPublicKey'],
  vapid_key_mismatch: [400, 'VapidPkHashMismatch'],
  vapid_token_malformed: [403, 'BadJwtToken'],
  vapid_signature: [403, 'BadJwtToken'],
  vapid_audience: [403, 'BadJwtToken'],
  vapid_expired: [403, 'BadJwtToken'],
  vapid_expiry_far: [403, 'BadJwtToken'],
  vapid_subject: [403, 'BadJwtToken'],
  length_missing: [400, 'BadWebPushRequest'],
  body_too_large: [413, 'PayloadTooLarge'],
  ttl_missing: [400, 'BadTtl'],
  ttl_invalid: [400, 'BadTtl'],
  ttl_negative: [400, 'BadTtl'],
  urgency_invalid: [400, 'BadUrgency'],
  topic_invalid: [400, 'BadWebPushTopic'],
  encoding_missing: [400, 'BadWebPushRequest'],
  encoding_unknown: [400, 'BadWebPushRequest'],
  keys_equal: [400, 'BadWebPushRequest'],
  cache_policy_conflict: [400, 'BadWebPushRequest'],
};

const reasonOfStatus: Readonly<Record<number, string>> = {
  400: 'BadWebPushRequest',
  403: 'BadJwtToken',
  404: 'BadPath',
  405: 'MethodNotAllowed',
  410: 'Unregistered',
  413: 'PayloadTooLarge',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

function reasoned(status: number, reason: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'apns-id': randomUUID().toUpperCase() },
    body: JSON.stringify({ reason }),
  };
}

function nameAndAnswer([reason, status]: [string, number]): [string, Answer] {
  return [reason, reasoned(status, reason)];
}

/**
 * Apple base64-decodes the Topic, and no base64 has a length of 1 modulo 4 (13 fails; 11, 12 and 14
 * pass).
 */
export function appleTopicFault(topic: string): string | null {
  return topic.length % 4 === 1 ? `a Topic of ${topic.length} characters cannot be base64-decoded` : null;
}

/**
 * Apple requires a plausible contact: no `localhost`, no space, no angle bracket, and not empty.
 */
export function appleSubjectFault(subject: string | undefined): string | null {
  if (subject === undefined) return 'sub is missing';
  if (/[\s<>]/.test(subject)) return `sub must have no space and no angle bracket: ${JSON.stringify(subject)}`;
  if (/^mailto:/i.test(subject)) {
    const domain = subject.slice(subject.lastIndexOf('@') + 1).toLowerCase();
    return isPublicName(domain) ? null : `sub must name a public domain, it names ${JSON.stringify(domain)}`;
  }
  const host = parseUrl(subject)?.hostname ?? '';
  return isPublicName(host) ? null : `sub must name a public host, it names ${JSON.stringify(host)}`;
}

function isPublicName(name: string): boolean {
  return name.includes('.') && !/(^|\.)localhost$/.test(name);
}

export const apple: Personality = {
  name: 'apple',
  host: 'web.push.apple.com',
  isHost: (host) => host.endsWith('.push.apple.com'),
  endpointPath: (token) => `/${token}`,
  readToken: (path) => /^\/([A-Za-z0-9_-]+)$/.exec(path)?.[1],
  bodyBytesMax: 4096,
  ttlSecondsMax: 2_592_000,
  isVapidRequired: true,
  topicFault: appleTopicFault,
  subjectFault: appleSubjectFault,
  refuse: (problem) => reasoned(...reasonOfProblem[problem]),
  refuseWithStatus: (status) =>
    reasoned(status, reasonOfStatus[status] ?? (reasons[status] ?? 'Unknown').replaceAll(' ', '')),
  named: Object.fromEntries([
    ...Object.values(reasonOfProblem).map(([status, reason]) => [reason, reasoned(status, reason)]),
    ...Object.entries({ ExpiredToken: 410, IdleTimeout: 400, TooManyRequests: 429 }).map(nameAndAnswer),
    ...Object.entries({ InternalServerError: 500, ServiceUnavailable: 503, Shutdown: 503 }).map(nameAndAnswer),
  ]),
  accept: ({ origin, messageId, ttlSeconds }: Acceptance) => ({
    status: 201,
    headers: {
      location: `${origin}/message/${messageId}`,
      ttl: String(ttlSeconds),
      'apns-id': messageId.toUpperCase(),
    },
    body: '',
  }),
};
