import { describe, expect, test } from 'vitest';
import { presentProviderAnswer, presentReason, retryAfterMs } from './provider-answer.ts';

const nowMs = Date.parse('2026-11-21T10:15:30Z');

describe('Retry-After', () => {
  test.each([
    ['120', 120_000],
    [' 10 ', 10_000],
    ['0', 1_000],
    ['1', 1_000],
    ['3600', 3_600_000],
    ['3601', 3_600_000],
    ['999999999999999', 3_600_000],
    ['9'.repeat(400), 3_600_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 1_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    ['Sat, 21 Nov 2026 10:16:00 GMT', 30_000],
    ['Sat, 21 Nov 2026 10:00:00 GMT', 1_000],
    ['Sun, 22 Nov 2026 10:00:00 GMT', 3_600_000],
    ['Saturday, 21-Nov-26 10:16:00 GMT', 30_000],
    ['Sat Nov 21 10:16:00 2026', 30_000],
    ['Sat Nov 21 10:16:00 2026 GMT', 30_000],
    ['Sat, 21 Nov 2026 10:16:00 +0000', 30_000],
    ['', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['1e3', null],
    ['0x10', null],
    ['+5', null],
    ['\u0663', null],
    ['Xyz, nonsense', null],
    ['2026-11-21T10:16:00Z', null],
  ])('%j is %j ms', (text, expected) => {
    expect(retryAfterMs(text, nowMs)).toBe(expected);
  });

  test('without the header there is none', () => {
    expect(retryAfterMs(undefined, nowMs)).toBeNull();
  });
});

test('only headers of the allow-list are kept, and no more than a line of each', () => {
  const headers = {
    'set-cookie': ['a=b'],
    location: 'x'.repeat(5_000),
    'retry-after': '5',
    server: 'nginx',
    'x-wns-status': 'dropped',
    'ms-cv': '0A1B.0',
    'x-wns-tag': 'not listed',
    ':status': '503',
  };
  const answer = { status: 503, headers, body: 'busy', truncated: false, latencyMs: 12 };
  expect(presentProviderAnswer('fcm', answer)).toEqual({
    name: 'fcm',
    httpStatus: 503,
    headers: { 'retry-after': '5', location: 'x'.repeat(1_024), 'x-wns-status': 'dropped', 'ms-cv': '0A1B.0' },
    body: 'busy',
    truncated: false,
    transportError: null,
  });
});

test('a request without an answer has a transport error and nothing else', () => {
  const failure = { transportError: 'blocked_address', written: false, latencyMs: 1 } as const;
  expect(presentProviderAnswer('webpush', failure)).toEqual({
    name: 'webpush',
    httpStatus: null,
    headers: {},
    body: null,
    truncated: false,
    transportError: 'blocked_address',
  });
});

test.each([
  [undefined, null],
  ['  ', null],
  [' Unregistered ', 'Unregistered'],
  ['x'.repeat(300), 'x'.repeat(200)],
  [`${'x'.repeat(199)}😀`, `${'x'.repeat(199)}\uFFFD`],
  ['Bad\0Word', 'Bad\uFFFDWord'],
  ['\0', '\uFFFD'],
])('the reason %j is kept as %j', (text, expected) => {
  expect(presentReason(text)).toBe(expected);
});
