import { describe, expect, it } from 'vitest';
import { ApiError, NetworkError } from '../src/errors.ts';
import { retryInMs } from '../src/retry.ts';

const rules = { maxRetries: 3, maxWaitMs: 30_000 };
const answered = (status: number, error: string, retryAfterMs: number | null = null): ApiError =>
  new ApiError({ status, error, message: error, retryAfterMs });
const lost = new NetworkError('lost', { cause: null, wasNotSent: false });
const notSent = new NetworkError('nobody there', { cause: null, wasNotSent: true });

describe('whether a call is made again', () => {
  it.each([
    ['a rate limit', answered(429, 'rate_limited', 100), true, true],
    ['a month that is used up', answered(429, 'quota_exceeded'), false, false],
    ['a 503', answered(503, 'unavailable'), true, false],
    ['a 500', answered(500, 'internal_error'), true, false],
    ['a proxy without its server', answered(502, 'invalid_answer'), true, false],
    ['a lost connection', lost, true, false],
    ['a request that never left', notSent, true, true],
    ['a 400', answered(400, 'validation_failed'), false, false],
    ['a 401', answered(401, 'invalid_key'), false, false],
    ['a 403', answered(403, 'wrong_key_scope'), false, false],
    ['a 404', answered(404, 'not_found'), false, false],
    ['a redirect', answered(301, 'invalid_answer'), false, false],
    ['anything else', new TypeError('wrong'), false, false],
  ])('after %s', (_what, error, ifSame, otherwise) => {
    const isTried = (isRepeatable: boolean): boolean =>
      retryInMs(error, { tried: 1, isRepeatable }, rules, 0) !== undefined;
    expect([isTried(true), isTried(false)]).toEqual([ifSame, otherwise]);
  });

  it('waits half a second, doubling up to eight, with full jitter, and gives up after the last try', () => {
    const waits = [1, 2, 3, 4].map((tried) => retryInMs(lost, { tried, isRepeatable: true }, rules, 1));
    expect(waits).toEqual([500, 1000, 2000, undefined]);
    expect(retryInMs(lost, { tried: 9, isRepeatable: true }, { ...rules, maxRetries: 9 }, 1)).toBe(8000);
    expect(retryInMs(lost, { tried: 1, isRepeatable: true }, rules, 0)).toBe(0);
    expect(retryInMs(lost, { tried: 1, isRepeatable: true }, { ...rules, maxRetries: 0 }, 0)).toBeUndefined();
  });

  it('waits at least as long as the service asks, and not at all when that is too long', () => {
    const told = (ms: number, random: number) =>
      retryInMs(answered(429, 'rate_limited', ms), { tried: 1, isRepeatable: true }, rules, random);
    expect(told(1000, 0)).toBe(1000);
    expect(told(1000, 1)).toBe(1100);
    expect(told(30_000, 0)).toBe(30_000);
    expect(told(30_001, 0)).toBeUndefined();
  });
});
