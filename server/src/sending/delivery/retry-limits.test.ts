import { describe, expect, it } from 'vitest';
import { pushesMax, type RetryQuestion, retryAtMs, retrySpanMs } from './retry.ts';

const firstMs = Date.UTC(2026, 10, 22, 7);

/**
 * The second attempt, a minute after the first, at a push service that answers with a Retry-After.
 */
function ask(overrides: Partial<RetryQuestion>, retryAfterMs = 30_000, httpStatus = 503): number | undefined {
  const provider = {
    name: 'webpush',
    httpStatus,
    headers: {},
    body: null,
    truncated: false,
    transportError: null,
  } as const;
  return retryAtMs({
    channel: 'webpush',
    outcome: {
      kind: 'refused',
      errorCode: 'provider_unavailable',
      retryable: true,
      retryAfterMs,
      reason: null,
      provider,
      latencyMs: 5,
    },
    before: [{ errorCode: 'provider_unavailable', httpStatus }],
    unknownPushes: 0,
    firstAttemptAtMs: firstMs,
    nowMs: firstMs + 60_000,
    windowEndsAtMs: firstMs + 86_400_000,
    ttlSeconds: 86_400,
    random: 0.5,
    ...overrides,
  });
}

describe('R-02 the last retry', () => {
  it('is within an hour of the first push, to the millisecond, whenever that was', () => {
    expect(ask({})).toBe(firstMs + 90_000);
    const left = retrySpanMs - 60_000;
    expect(ask({}, left)).toBe(firstMs + retrySpanMs);
    expect(ask({}, left + 1)).toBeUndefined();
  });

  it('is before the end of the window, which it may not reach', () => {
    expect(ask({ windowEndsAtMs: firstMs + 90_001 })).toBe(firstMs + 90_000);
    expect(ask({ windowEndsAtMs: firstMs + 90_000 })).toBeUndefined();
  });

  it('is the fifth push, counting those with an unknown outcome', () => {
    const before = { errorCode: 'provider_unavailable', httpStatus: 503 } as const;
    for (let known = 0; known < pushesMax; known++) {
      for (let unknownPushes = 0; unknownPushes < pushesMax; unknownPushes++) {
        const isLast = known + 1 + unknownPushes >= pushesMax;
        const atMs = ask({ before: Array(known).fill(before), unknownPushes });
        expect({ known, unknownPushes, atMs }).toEqual({
          known,
          unknownPushes,
          atMs: isLast ? undefined : firstMs + 90_000,
        });
      }
    }
  });

  it.each([
    [499, firstMs + 90_000],
    [500, undefined],
    [503, undefined],
  ])('is the second after APNs has answered %i twice', (httpStatus, expected) => {
    const before = Array(2).fill({ errorCode: 'provider_unavailable', httpStatus });
    expect(ask({ channel: 'apns', before }, 30_000, httpStatus)).toBe(expected);
  });
});
