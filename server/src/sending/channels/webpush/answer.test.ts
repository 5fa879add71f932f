import type { HttpAnswer } from '@carillon/http2';
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../error-code.ts';
import { readAnswer } from './answer.ts';

const nowMs = Date.parse('2026-11-21T10:15:30Z');
const apple = 'web.push.apple.com';
const mozilla = 'updates.push.services.mozilla.com';
const google = 'fcm.googleapis.com';
const wns = 'wns2-test.notify.windows.com';
const other = 'push.example.org';

function answer(status: number, body: string | null, headers: Record<string, string> = {}): HttpAnswer {
  return { status, headers, body, truncated: false, latencyMs: 12.4 };
}

function read(host: string, status: number, body: string | null = null, headers: Record<string, string> = {}) {
  return readAnswer(host, answer(status, body, headers), nowMs);
}

const reason = (word: string) => JSON.stringify({ reason: word });
const errno = (number: number, message = 'Something') =>
  JSON.stringify({ code: 400, errno: number, error: 'Bad', message });

type Row = readonly [
  host: string,
  status: number,
  body: string | null,
  code: ErrorCode,
  headers?: Record<string, string>,
];

const googleMismatch =
  'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n';

const rows: Row[] = [
  // 404 and 410 of any vendor.
  ...[apple, mozilla, google, wns, other].flatMap((host): Row[] => [
    [host, 404, null, 'unregistered'],
    [host, 410, null, 'unregistered'],
  ]),
  [google, 404, 'A valid push subscription endpoint should be specified in the URL as such: https://…', 'unregistered'],
  [google, 404, '<!DOCTYPE html><html>…', 'unregistered'],
  // Mozilla: the subscription is gone.
  [mozilla, 404, errno(102), 'unregistered'],
  [mozilla, 410, errno(103), 'unregistered'],
  [mozilla, 410, errno(105), 'unregistered'],
  [mozilla, 410, errno(106), 'unregistered'],
  // Apple: the subscription is gone, or the path never existed.
  [apple, 410, reason('Unregistered'), 'unregistered'],
  [apple, 410, reason('ExpiredToken'), 'unregistered'],
  [apple, 404, reason('BadPath'), 'invalid_token'],
  // A key other than the one of the subscription.
  [apple, 400, reason('VapidPkHashMismatch'), 'credential_mismatch'],
  [apple, 403, reason('VapidPkHashMismatch'), 'credential_mismatch'],
  [google, 403, googleMismatch, 'credential_mismatch'],
  [google, 400, 'UnauthorizedRegistration', 'credential_mismatch'],
  [mozilla, 401, errno(109, 'VAPID public key mismatch: KeyMismatch'), 'credential_mismatch'],
  // Our proof of identity is rejected.
  [apple, 403, reason('BadJwtToken'), 'auth_failed'],
  [apple, 403, reason('BadVapidPublicKey'), 'auth_failed'],
  [apple, 403, reason('BadAuthorizationHeader'), 'auth_failed'],
  [mozilla, 401, errno(109), 'auth_failed'],
  [mozilla, 401, null, 'auth_failed'],
  [wns, 401, null, 'auth_failed'],
  [wns, 403, null, 'auth_failed'],
  [google, 401, 'invalid push subscription endpoint', 'auth_failed'],
  [google, 403, 'invalid JWT provided', 'auth_failed'],
  [other, 401, null, 'auth_failed'],
  [other, 403, null, 'auth_failed'],
  [apple, 403, reason('SomethingNew'), 'auth_failed'],
  // The payload is too large.
  ...[apple, mozilla, google, wns, other].map((host): Row => [host, 413, null, 'payload_too_large']),
  [apple, 413, reason('PayloadTooLarge'), 'payload_too_large'],
  [mozilla, 413, errno(104), 'payload_too_large'],
  // A field is rejected.
  [apple, 400, reason('BadTtl'), 'invalid_payload'],
  [apple, 400, reason('BadUrgency'), 'invalid_payload'],
  [apple, 400, reason('BadWebPushTopic'), 'invalid_payload'],
  [apple, 400, reason('BadWebPushRequest'), 'invalid_payload'],
  [apple, 405, reason('MethodNotAllowed'), 'invalid_payload'],
  ...[101, 108, 110, 111, 112, 113, 114].map((number): Row => [mozilla, 400, errno(number), 'invalid_payload']),
  [wns, 400, null, 'invalid_payload', { 'x-wns-error-description': 'Ttl value conflicts with X-WNS-Cache-Policy.' }],
  [wns, 405, null, 'invalid_payload'],
  [other, 405, null, 'invalid_payload'],
  [google, 400, 'Bad Request', 'invalid_payload'],
  // Throttled.
  ...[apple, mozilla, google, wns, other].map((host): Row => [host, 429, null, 'rate_limited']),
  [apple, 429, reason('TooManyRequests'), 'rate_limited'],
  ...[201, 202, 902, 999].map((number): Row => [mozilla, 429, errno(number), 'rate_limited']),
  [wns, 406, null, 'rate_limited'],
  [wns, 200, null, 'rate_limited', { 'x-wns-status': 'channelthrottled' }],
  [wns, 400, null, 'rate_limited', { 'x-wns-status': 'channelthrottled' }],
  // Temporarily unavailable.
  [apple, 400, reason('IdleTimeout'), 'provider_unavailable'],
  [apple, 500, reason('InternalServerError'), 'provider_unavailable'],
  [apple, 503, reason('ServiceUnavailable'), 'provider_unavailable'],
  [apple, 503, reason('Shutdown'), 'provider_unavailable'],
  ...[900, 901, 902, 903].map((number): Row => [mozilla, 502, errno(number), 'provider_unavailable']),
  [mozilla, 503, errno(201), 'provider_unavailable'],
  [mozilla, 503, errno(202), 'provider_unavailable'],
  [mozilla, 500, errno(999), 'provider_unavailable'],
  ...[500, 503].map((status): Row => [wns, status, null, 'provider_unavailable']),
  ...[500, 502, 503, 504, 599].map((status): Row => [other, status, null, 'provider_unavailable']),
  // Any other answer.
  [other, 406, null, 'unknown_error'],
  [other, 402, null, 'unknown_error'],
  [other, 418, 'teapot', 'unknown_error'],
  [other, 301, null, 'unknown_error'],
  [mozilla, 400, errno(555), 'invalid_payload'],
];

describe('every row of the error tables of web push', () => {
  const cases = rows.map(([host, status, body, code, headers]) => ({ host, status, body, code, headers }));
  test.each(cases)('$host $status $body is $code', ({ host, status, body, code, headers }) => {
    expect(read(host, status, body, headers)).toMatchObject({ kind: 'refused', errorCode: code });
  });
});

test('the answer of another host is read by its words, and a status of WNS has its meaning only at WNS', () => {
  expect(read(other, 403, reason('VapidPkHashMismatch'))).toMatchObject({ errorCode: 'credential_mismatch' });
  expect(read(other, 403, googleMismatch)).toMatchObject({ errorCode: 'credential_mismatch' });
  expect(read(other, 403, null)).toMatchObject({ errorCode: 'auth_failed' });
  expect(read(other, 200, null, { 'x-wns-status': 'channelthrottled' })).toMatchObject({ kind: 'sent' });
});

describe('which refusals may be tried again', () => {
  test.each([
    [429, true],
    [503, true],
    [301, true],
    [410, false],
    [403, false],
    [400, false],
    [413, false],
    [418, false],
  ])('%i: %j', (status, retryable) => {
    expect(read(other, status)).toMatchObject({ retryable });
  });

  test.each(['timeout', 'dns_error', 'connect_error', 'tls_error', 'reset', 'blocked_address'] as const)(
    '%s',
    (error) => {
      expect(readAnswer(other, { transportError: error, written: false, latencyMs: 3 }, nowMs)).toEqual({
        kind: 'refused',
        errorCode: error === 'timeout' ? 'timeout' : 'provider_unavailable',
        retryable: true,
        retryAfterMs: null,
        reason: null,
        provider: {
          name: 'webpush',
          httpStatus: null,
          headers: {},
          body: null,
          truncated: false,
          transportError: error,
        },
        latencyMs: 3,
      });
    },
  );
});

describe('how long to wait', () => {
  test.each([
    [mozilla, 503, { 'retry-after': '120' }, 120_000],
    [google, 429, { 'retry-after': 'Sat, 21 Nov 2026 10:16:00 GMT' }, 30_000],
    [wns, 406, { 'x-wns-continue-after': '90' }, 90_000],
    [other, 429, { 'x-wns-continue-after': '90' }, null],
    [apple, 429, {}, null],
    [mozilla, 410, { 'retry-after': '120' }, null],
  ])('%s %i %j: %j ms', (host, status, headers, expected) => {
    expect(read(host, status, null, headers as Record<string, string>)).toMatchObject({ retryAfterMs: expected });
  });
});

describe('accepted', () => {
  test.each([
    [google, 201, { location: 'https://fcm.googleapis.com/0:1795256141' }, 'https://fcm.googleapis.com/0:1795256141'],
    [apple, 201, { 'apns-id': 'E63CC8FD', location: 'x' }, 'E63CC8FD'],
    [wns, 200, { 'x-wns-status': 'received', 'x-wns-msg-id': '7A' }, '7A'],
    [wns, 200, { 'x-wns-status': 'dropped' }, null],
    [other, 202, {}, null],
    [other, 204, {}, null],
  ])('%s %i', (host, status, headers, providerMessageId) => {
    expect(read(host, status, null, headers as Record<string, string>)).toMatchObject({
      kind: 'sent',
      providerMessageId,
      latencyMs: 12,
      provider: { name: 'webpush', httpStatus: status },
    });
  });
});

describe("the provider's reason word", () => {
  test.each([
    [apple, 403, reason('BadJwtToken'), {}, 'BadJwtToken'],
    [mozilla, 410, errno(106, 'No such subscription'), {}, '106 No such subscription'],
    [mozilla, 410, '{"code":410,"errno":106}', {}, '106'],
    // Mozilla gives no number to faults of its own, and other push services know none.
    [mozilla, 500, '{"code":500,"errno":null,"error":"Internal Server Error","message":"Lost."}', {}, 'Lost.'],
    [other, 403, '{"code":40301,"http":403,"error":"forbidden"}', {}, 'forbidden'],
    [other, 403, '{"error":{"message":"x"},"message":7}', {}, null],
    [wns, 400, null, { 'x-wns-error-description': 'Ttl value conflicts.' }, 'Ttl value conflicts.'],
    [google, 403, googleMismatch, {}, googleMismatch.trim()],
    [google, 404, '<html>', {}, null],
    [other, 400, '{"reason":', {}, null],
    [other, 400, '{"errno":"106"}', {}, null],
    [other, 400, 'null', {}, 'null'],
    [other, 400, null, {}, null],
    [other, 400, 'x'.repeat(4_096), {}, 'x'.repeat(200)],
  ])('%s %i %j', (host, status, body, headers, expected) => {
    expect(read(host, status, body, headers as Record<string, string>)).toMatchObject({ reason: expected });
  });
});
