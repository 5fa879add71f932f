import { describe, expect, it } from 'vitest';
import type { ChannelId, RefusedOutcome } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import { lanePauseMs, type PastAttempt, type RetryQuestion, retryAtMs } from './retry.ts';

function refusal(
  errorCode: ErrorCode,
  retryAfterMs: number | null = null,
  httpStatus: number | null = 503,
): RefusedOutcome {
  return {
    kind: 'refused',
    errorCode,
    retryable: true,
    retryAfterMs,
    reason: null,
    provider: { name: 'webpush', httpStatus, headers: {}, body: null, truncated: false, transportError: null },
    latencyMs: 5,
  };
}

const past = (count: number, errorCode: ErrorCode = 'provider_unavailable', httpStatus = 503): PastAttempt[] =>
  Array.from({ length: count }, () => ({ errorCode, httpStatus }));

function wait(overrides: Partial<RetryQuestion>): number | undefined {
  const atMs = retryAtMs({
    channel: 'webpush',
    outcome: refusal('provider_unavailable'),
    before: [],
    unknownPushes: 0,
    firstAttemptAtMs: 0,
    nowMs: 0,
    windowEndsAtMs: 86_400_000,
    ttlSeconds: 86_400,
    random: 0.5,
    ...overrides,
  });
  return atMs === undefined ? undefined : atMs - (overrides.nowMs ?? 0);
}

describe('a retry waits', () => {
  it.each<[string, Partial<RetryQuestion>, number | undefined]>([
    ['half of 10 s after the first failure, by the die', {}, 5000],
    ['up to 10 s', { random: 0.999 }, 9990],
    ['up to 20 s after the second', { before: past(1), random: 0.999 }, 19_980],
    ['up to 80 s after the fourth', { before: past(3), random: 0.5 }, 40_000],
    ['up to 60 s when rate limited', { outcome: refusal('rate_limited', null, 429), random: 0.999 }, 59_940],
    [
      'up to 120 s when rate limited again',
      { outcome: refusal('rate_limited', null, 429), before: past(1), random: 0.5 },
      60_000,
    ],
    ['exactly what Retry-After says', { outcome: refusal('rate_limited', 7000, 429) }, 7000],
    ['at least 10 s after a timeout', { outcome: refusal('timeout', null, null), random: 0 }, 10_000],
    ['up to 15 min after an APNs 5xx', { channel: 'apns' as ChannelId, random: 0.5 }, 450_000],
    [
      '10 s after an APNs connection loss',
      { channel: 'apns' as ChannelId, outcome: refusal('provider_unavailable', null, null), random: 0.5 },
      5000,
    ],
  ])('%s', (_what, question, expected) => {
    expect(wait(question)).toBe(expected);
  });
});

describe('there is no retry', () => {
  it.each<[string, Partial<RetryQuestion>]>([
    ['of what can never succeed', { outcome: { ...refusal('unregistered'), retryable: false } }],
    ['after the fifth request', { before: past(4) }],
    ['of a third timeout', { outcome: refusal('timeout', null, null), before: past(2, 'timeout') }],
    ['of a third APNs 5xx', { channel: 'apns', before: past(2) }],
    ['with a ttl of 0', { ttlSeconds: 0 }],
    ['that would fall after the send window', { windowEndsAtMs: 5000 }],
    [
      'more than 60 minutes after the first attempt',
      { nowMs: 3_590_000, outcome: refusal('rate_limited', 20_000, 429) },
    ],
  ])('%s', (_what, question) => {
    expect(wait(question)).toBeUndefined();
  });
});

describe('a lane stands still', () => {
  it.each([
    ['as long as the provider asks', refusal('provider_unavailable', 30_000), 30_000],
    [
      'as long as a first retry waits, where it refuses the rate and names no time',
      refusal('rate_limited', null, 429),
      30_000,
    ],
    ['for the named time also where the rate is refused', refusal('rate_limited', 5_000, 429), 5_000],
    [
      'not where one token is asked for too often',
      { ...refusal('rate_limited', null, 429), isOfToken: true as const },
      0,
    ],
    ['not for a refusal that says nothing of the lane', refusal('provider_unavailable'), 0],
    ['not for what is not tried again', { ...refusal('rate_limited', 5_000, 429), retryable: false }, 0],
  ])('%s', (_name, outcome, expectedMs) => {
    expect(lanePauseMs(outcome, 0.5)).toBe(expectedMs);
  });
});
