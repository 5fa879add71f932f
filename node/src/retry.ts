// Decides whether and when a call is repeated: after failures that had no effect, and after any
// failure when the call is safe to repeat. Pure.
import { ApiError, NetworkError } from './errors.ts';

export interface RetryRules {
  /** Tries beyond the first. */
  readonly maxRetries: number;
  /** When the service asks for a longer wait, the refusal is thrown, so that the caller decides. */
  readonly maxWaitMs: number;
}

const backoffFirstMs = 500;
const backoffMostMs = 8_000;
/**
 * Statuses that may pass. 500 is among them because a repeated request with the same
 * Idempotency-Key has no second effect.
 */
const passingStatuses = [500, 502, 503, 504];

/**
 * How long to wait before the call is repeated; undefined when it is not repeated. `tried`: tries
 * so far. `isRepeatable`: two calls have the same effect as one. `random` lies in [0, 1).
 */
export function retryInMs(
  error: unknown,
  { tried, isRepeatable }: { readonly tried: number; readonly isRepeatable: boolean },
  { maxRetries, maxWaitMs }: RetryRules,
  random: number,
): number | undefined {
  if (tried > maxRetries || !mayPass(error, isRepeatable)) return undefined;
  // Full jitter, so that clients that lost the service together do not come back together.
  const backoffMs = Math.min(backoffMostMs, backoffFirstMs * 2 ** (tried - 1)) * random;
  const toldMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  // The service's wait is the minimum. A little is added, so that clients with the same answer do
  // not come back together.
  const waitMs = toldMs > 0 ? toldMs + backoffMs * 0.2 : backoffMs;
  return toldMs <= maxWaitMs ? waitMs : undefined;
}

function mayPass(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof NetworkError) return isRepeatable || error.wasNotSent;
  if (!(error instanceof ApiError)) return false;
  // A 429 is refused before anything was done. A quota that is used up does not come back by
  // waiting.
  if (error.status === 429) return error.error !== 'quota_exceeded';
  return isRepeatable && passingStatuses.includes(error.status);
}
