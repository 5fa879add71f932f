import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../error-code.ts';
import { isTokenRefused, readAnswer } from './answer.ts';

const nowMs = Date.parse('2026-11-21T10:15:30Z');

function read(status: number, body: string | null, headers: Record<string, string> = {}) {
  return readAnswer({ status, headers, body, truncated: false, latencyMs: 12.4 }, nowMs);
}

interface Said {
  readonly status?: string;
  readonly fcm?: string;
  readonly message?: string;
  readonly field?: string;
}

function said({ status, fcm, message = 'Something.', field }: Said): string {
  const details: object[] = [];
  if (field) {
    const fieldViolations = [{ field, description: message }];
    details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
  }
  if (fcm) details.push({ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: fcm });
  return JSON.stringify({ error: { code: 400, message, status, details } });
}

const badToken = 'The registration token is not a valid FCM registration token';
const disabled = 'Firebase Cloud Messaging API has not been used in project 4711 before or it is disabled.';

/** Every error that Google documents, in Google's words. */
const documented: readonly (readonly [http: number, said: Said, code: ErrorCode, retryable: boolean])[] = [
  [400, { status: 'INVALID_ARGUMENT', fcm: 'INVALID_ARGUMENT', message: badToken }, 'invalid_token', false],
  [400, { status: 'INVALID_ARGUMENT', field: 'message.token', message: 'Invalid value' }, 'invalid_token', false],
  [
    400,
    { status: 'INVALID_ARGUMENT', fcm: 'INVALID_ARGUMENT', message: 'Android message is too big' },
    'payload_too_large',
    false,
  ],
  [400, { status: 'INVALID_ARGUMENT', message: 'Message size exceeds the limit' }, 'payload_too_large', false],
  [
    400,
    { status: 'INVALID_ARGUMENT', field: 'message.android.ttl', message: 'Illegal duration format' },
    'invalid_payload',
    false,
  ],
  [400, { status: 'INVALID_ARGUMENT', fcm: 'INVALID_ARGUMENT', message: 'Invalid color' }, 'invalid_payload', false],
  // Without FCM's own code the error is not about the token, whatever its text mentions.
  [400, { status: 'INVALID_ARGUMENT', message: 'data of the registration token' }, 'invalid_payload', false],
  [401, { status: 'UNAUTHENTICATED', fcm: 'THIRD_PARTY_AUTH_ERROR' }, 'auth_failed', false],
  [401, { status: 'UNAUTHENTICATED' }, 'auth_failed', false],
  [403, { status: 'PERMISSION_DENIED', fcm: 'SENDER_ID_MISMATCH' }, 'credential_mismatch', false],
  [403, { status: 'PERMISSION_DENIED', message: disabled }, 'auth_failed', false],
  [404, { status: 'NOT_FOUND', fcm: 'UNREGISTERED' }, 'unregistered', false],
  // A wrong project gets the same answer.
  [404, { status: 'NOT_FOUND', message: 'Requested entity was not found.' }, 'auth_failed', false],
  [429, { status: 'RESOURCE_EXHAUSTED', fcm: 'QUOTA_EXCEEDED' }, 'rate_limited', true],
  [429, { status: 'RESOURCE_EXHAUSTED' }, 'rate_limited', true],
  [500, { status: 'INTERNAL', fcm: 'INTERNAL' }, 'provider_unavailable', true],
  [503, { status: 'UNAVAILABLE', fcm: 'UNAVAILABLE' }, 'provider_unavailable', true],
  [500, { status: 'UNKNOWN', fcm: 'UNSPECIFIED_ERROR' }, 'provider_unavailable', true],
];

describe('every documented error of FCM has its code and its action', () => {
  test.each(documented)('%i %j: %s, retryable %j', (http, error, errorCode, retryable) => {
    expect(read(http, said(error))).toMatchObject({ kind: 'refused', errorCode, retryable });
  });
});

test.each<[number, string | null, ErrorCode, boolean]>([
  [400, '<html>', 'invalid_payload', false],
  [401, null, 'auth_failed', false],
  [403, 'Forbidden', 'auth_failed', false],
  // A wrong project or address says nothing of the device.
  [404, '<!DOCTYPE html><title>Error 404 (Not Found)</title>', 'auth_failed', false],
  [404, null, 'auth_failed', false],
  [405, null, 'invalid_payload', false],
  [413, null, 'payload_too_large', false],
  [429, null, 'rate_limited', true],
  [502, null, 'provider_unavailable', true],
  [504, '{"error":"x"}', 'provider_unavailable', true],
  [418, '{"error":{"details":[null,"x",{}],"status":7}}', 'unknown_error', false],
  [302, null, 'unknown_error', true],
])('an answer without an error code is read by its status: %i %j is %s', (status, body, errorCode, retryable) => {
  expect(read(status, body)).toMatchObject({ errorCode, retryable });
});

test("the reason is FCM's code with Google's text, short enough to be kept", () => {
  expect(read(400, said({ status: 'INVALID_ARGUMENT', fcm: 'INVALID_ARGUMENT', message: badToken }))).toMatchObject({
    reason: `INVALID_ARGUMENT: ${badToken}`,
  });
  expect(read(403, said({ status: 'PERMISSION_DENIED', message: 'x'.repeat(500) }))).toMatchObject({
    reason: `PERMISSION_DENIED: ${'x'.repeat(181)}`,
  });
});

test('Retry-After is heeded where trying again makes sense', () => {
  const headers = { 'retry-after': '120' };
  expect(read(429, said({ fcm: 'QUOTA_EXCEEDED' }), headers)).toMatchObject({ retryAfterMs: 120_000 });
  expect(read(404, said({ fcm: 'UNREGISTERED' }), headers)).toMatchObject({ retryAfterMs: null });
});

test('an accepted push is known by its name', () => {
  const name = 'projects/shop-4711/messages/0:1795256141';
  expect(read(200, JSON.stringify({ name }))).toMatchObject({ kind: 'sent', providerMessageId: name, latencyMs: 12 });
  expect(read(200, '[]')).toMatchObject({ kind: 'sent', providerMessageId: null });
});

test.each([
  [401, { status: 'UNAUTHENTICATED' }, true],
  [401, { status: 'UNAUTHENTICATED', fcm: 'THIRD_PARTY_AUTH_ERROR' }, false],
  [403, { status: 'PERMISSION_DENIED' }, false],
])('another access token would help after %i %j: %j', (status, error, expected) => {
  expect(isTokenRefused(read(status, said(error)))).toBe(expected);
});
