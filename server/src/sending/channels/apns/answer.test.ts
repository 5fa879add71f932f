import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../error-code.ts';
import { readAnswer } from './answer.ts';

const nowMs = Date.parse('2026-11-21T10:15:30Z');

function read(status: number, body: string | null, headers: Record<string, string> = {}) {
  return readAnswer({ status, headers, body, truncated: false, latencyMs: 12.4 }, nowMs);
}

const said = (reason: string, more: object = {}) => JSON.stringify({ reason, ...more });

/** Every reason that Apple documents, and one undocumented reason that it sends. */
const documented: readonly (readonly [status: number, reason: string, code: ErrorCode, retryable: boolean])[] = [
  [400, 'BadCollapseId', 'invalid_payload', false],
  [400, 'BadDeviceToken', 'invalid_token', false],
  [400, 'BadExpirationDate', 'invalid_payload', false],
  [400, 'BadMessageId', 'invalid_payload', false],
  [400, 'BadPriority', 'invalid_payload', false],
  [400, 'BadTopic', 'auth_failed', false],
  [400, 'DeviceTokenNotForTopic', 'credential_mismatch', false],
  [400, 'DuplicateHeaders', 'invalid_payload', false],
  [400, 'IdleTimeout', 'provider_unavailable', true],
  [400, 'InvalidPushType', 'invalid_payload', false],
  [400, 'MissingDeviceToken', 'invalid_token', false],
  [400, 'MissingTopic', 'auth_failed', false],
  [400, 'PayloadEmpty', 'invalid_payload', false],
  [400, 'TopicDisallowed', 'auth_failed', false],
  [403, 'BadCertificate', 'auth_failed', false],
  [403, 'BadCertificateEnvironment', 'credential_mismatch', false],
  [403, 'ExpiredProviderToken', 'auth_failed', false],
  [403, 'Forbidden', 'auth_failed', false],
  [403, 'InvalidProviderToken', 'auth_failed', false],
  [403, 'MissingProviderToken', 'auth_failed', false],
  [403, 'UnrelatedKeyIdInToken', 'auth_failed', false],
  [403, 'BadEnvironmentKeyIdInToken', 'credential_mismatch', false],
  [403, 'BadEnvironmentKeyInToken', 'credential_mismatch', false],
  [404, 'BadPath', 'invalid_payload', false],
  [405, 'MethodNotAllowed', 'invalid_payload', false],
  [410, 'ExpiredToken', 'unregistered', false],
  [410, 'Unregistered', 'unregistered', false],
  [413, 'PayloadTooLarge', 'payload_too_large', false],
  [429, 'TooManyProviderTokenUpdates', 'rate_limited', true],
  [429, 'TooManyRequests', 'rate_limited', true],
  [500, 'InternalServerError', 'provider_unavailable', true],
  [503, 'ServiceUnavailable', 'provider_unavailable', true],
  [503, 'Shutdown', 'provider_unavailable', true],
];

describe('every documented reason of APNs has its code and its action', () => {
  test.each(documented)('%i %s: %s, retryable %j', (status, reason, errorCode, retryable) => {
    expect(read(status, said(reason))).toMatchObject({ kind: 'refused', errorCode, retryable, reason });
  });

  test.each(documented)('%i %s is known by its reason, whatever the status', (_status, reason, errorCode) => {
    expect(read(418, said(reason))).toMatchObject({ errorCode });
  });
});

test.each<[number, string | null, ErrorCode, boolean]>([
  [400, said('SomethingNew'), 'invalid_payload', false],
  [403, said('SomethingNew'), 'auth_failed', false],
  [404, null, 'invalid_payload', false],
  // Only a reason says that the token ended.
  [410, null, 'unknown_error', false],
  [413, '<html>', 'payload_too_large', false],
  [429, '', 'rate_limited', true],
  [502, 'null', 'provider_unavailable', true],
  [402, '{"reason":{}}', 'unknown_error', false],
  [301, null, 'unknown_error', true],
  [400, said('__proto__'), 'invalid_payload', false],
])('an answer without a known reason is read by its status: %i %j is %s', (status, body, errorCode, retryable) => {
  expect(read(status, body)).toMatchObject({ errorCode, retryable });
});

test('TooManyRequests is about one token, and no other refusal for the rate is', () => {
  expect(read(429, said('TooManyRequests'))).toMatchObject({ isOfToken: true });
  expect(read(429, said('TooManyProviderTokenUpdates'))).not.toHaveProperty('isOfToken');
  expect(read(429, '')).not.toHaveProperty('isOfToken');
});

describe('when a token ended', () => {
  test.each([
    ['Unregistered', 1_795_256_130_123],
    ['ExpiredToken', 1_795_256_130_123],
  ])('%s carries the instant', (reason, timestamp) => {
    expect(read(410, said(reason, { timestamp }))).toMatchObject({ goneAtMs: timestamp });
  });

  test.each([undefined, null, '1795256130123', 1_795_256_130, -1, 1e300])('%j is no instant', (timestamp) => {
    expect(read(410, said('Unregistered', { timestamp }))).not.toHaveProperty('goneAtMs');
  });

  test('no other refusal has one', () => {
    expect(read(400, said('BadDeviceToken', { timestamp: 1_795_256_130_123 }))).not.toHaveProperty('goneAtMs');
  });
});

test('an accepted push is known by its apns-id', () => {
  const headers = { 'apns-id': 'E63CC8FD', 'apns-unique-id': '7A', server: 'x' };
  expect(read(200, null, headers)).toEqual({
    kind: 'sent',
    providerMessageId: 'E63CC8FD',
    latencyMs: 12,
    provider: {
      name: 'apns',
      httpStatus: 200,
      headers: { 'apns-id': 'E63CC8FD', 'apns-unique-id': '7A' },
      body: null,
      truncated: false,
      transportError: null,
    },
  });
});
