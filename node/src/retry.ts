// Whether a call is made again, and when: after what cannot have done anything, and after anything where doing it twice is the same as
// once. Pure.
import { ApiError, NetworkError } from './errors.ts';

export interface RetryRules {
  /** Tries beyond the first. */
  readonly maxRetries: number;
  /** A longer wait is the caller's to decide on: the refusal is thrown. */
  readonly maxWaitMs: number;
}

const backoffFirstMs = 500;
const backoffMostMs = 8_000;
/** What may pass. A 500 is among them: with the same Idempotency-Key nothing is done twice. */
const passingStatuses = [500, 502, 503, 504];

/**
 * How long to wait before a call is made again; undefined: it is not. `tried`: made so far. `isRepeatable`: made twice it does the
 * same as made once. `random` lies in [0, 1).
 */
export function retryInMs(
  error: unknown,
  { tried, isRepeatable }: { readonly tried: number; readonly isRepeatable: boolean },
  { maxRetries, maxWaitMs }: RetryRules,
  random: number,
): number | undefined {
  if (tried > maxRetries || !mayPass(error, isRepeatable)) return undefined;
  // Full jitter: those that lost a service together do not come back together.
  const backoffMs = Math.min(backoffMostMs, backoffFirstMs * 2 ** (tried - 1)) * random;
  const toldMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  // What the service says is the least; a little more, so that all who were told the same do not come at once.
  const waitMs = toldMs > 0 ? toldMs + backoffMs * 0.2 : backoffMs;
  return toldMs <= maxWaitMs ? waitMs : undefined;
}

function mayPass(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof NetworkError) return isRepeatable || error.wasNotSent;
  if (!(error instanceof ApiError)) return false;
  // Refused before anything was done. A month that is used up does not pass by waiting.
  if (error.status === 429) return error.error !== 'quota_exceeded';
  return isRepeatable && passingStatuses.includes(error.status);
}
