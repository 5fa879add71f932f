// Whether and when a push is tried again (contract 7.5). Pure: the caller gives the time and the
// random number.
import type { ChannelId, RefusedOutcome } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';

/** The most pushes to a device for one message, whatever happens. */
export const pushesMax = 5;
/** The longest time between the first push and the last. */
export const retrySpanMs = 3_600_000;
/** Milliseconds by which the clocks of two processes may differ. */
const clocksApartMs = 500;
const timeoutRetriesMax = 2;
const timeoutWaitMsLeast = 10_000;
const apnsServerErrorRetriesMax = 2;

/** Milliseconds of the first wait, which doubles with each further attempt. */
const rateLimitedWaitMs = 60_000;
const unavailableWaitMs = 10_000;
const apnsServerErrorWaitMs = 900_000;

export interface PastAttempt {
  readonly errorCode: ErrorCode | null;
  readonly httpStatus: number | null;
}

export interface RetryQuestion {
  readonly channel: ChannelId;
  readonly outcome: RefusedOutcome;
  /** The attempts before this one, oldest first. */
  readonly before: readonly PastAttempt[];
  /** Further pushes that may have been made, with unknown outcome. */
  readonly unknownPushes: number;
  readonly firstAttemptAtMs: number;
  readonly nowMs: number;
  /** The end of this channel's own send window. */
  readonly windowEndsAtMs: number;
  readonly ttlSeconds: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/**
 * The instant of the next attempt. Undefined when this attempt was the last; then its code is
 * final.
 */
export function retryAtMs(question: RetryQuestion): number | undefined {
  const { channel, outcome, before, unknownPushes, firstAttemptAtMs, nowMs, windowEndsAtMs, ttlSeconds } = question;
  // With a ttl of 0 the push is tried only once (contract 7.1).
  if (!outcome.retryable || ttlSeconds === 0) return undefined;
  if (before.length + 1 + unknownPushes >= pushesMax) return undefined;
  if (outcome.errorCode === 'timeout' && countCode(before, 'timeout') >= timeoutRetriesMax) return undefined;
  if (isApnsServerError(channel, outcome.provider?.httpStatus ?? null)) {
    const earlier = before.filter((attempt) => isApnsServerError(channel, attempt.httpStatus)).length;
    if (earlier >= apnsServerErrorRetriesMax) return undefined;
  }
  const atMs = nowMs + waitMs(question);
  const isTooLate = atMs >= windowEndsAtMs || atMs - firstAttemptAtMs > retrySpanMs;
  return isTooLate ? undefined : atMs;
}

/**
 * The instant of the retry that a delivery still waits for. Undefined when it may be tried now. An
 * attempt in the future was made before the clock was set back, so its wait is over.
 */
export function waitsUntilMs(
  last: { readonly at: string; readonly retry_at: string | null } | undefined,
  nowMs: number,
): number | undefined {
  if (!last?.retry_at || Date.parse(last.at) > nowMs + clocksApartMs) return undefined;
  const atMs = Date.parse(last.retry_at);
  return atMs > nowMs ? atMs : undefined;
}

/**
 * How long a refusal pauses its whole lane: the time that the provider asks for. A `rate_limited`
 * without a time pauses the lane as long as a first retry waits, unless it concerns one token. 0
 * for no pause.
 */
export function lanePauseMs(outcome: RefusedOutcome, random: number): number {
  if (!outcome.retryable) return 0;
  if (outcome.retryAfterMs !== null) return outcome.retryAfterMs;
  return outcome.errorCode === 'rate_limited' && !outcome.isOfToken ? rateLimitedWaitMs * random : 0;
}

function waitMs({ channel, outcome, before, random }: RetryQuestion): number {
  if (outcome.retryAfterMs !== null) return outcome.retryAfterMs;
  const doubled = (firstMs: number): number => firstMs * 2 ** before.length;
  if (outcome.errorCode === 'rate_limited') return doubled(rateLimitedWaitMs) * random;
  if (isApnsServerError(channel, outcome.provider?.httpStatus ?? null)) return doubled(apnsServerErrorWaitMs) * random;
  const jittered = doubled(unavailableWaitMs) * random;
  return outcome.errorCode === 'timeout' ? Math.max(timeoutWaitMsLeast, jittered) : jittered;
}

function isApnsServerError(channel: ChannelId, httpStatus: number | null): boolean {
  return channel === 'apns' && httpStatus !== null && httpStatus >= 500;
}

function countCode(attempts: readonly PastAttempt[], code: ErrorCode): number {
  return attempts.filter((attempt) => attempt.errorCode === code).length;
}
