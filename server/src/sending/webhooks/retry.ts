// The time of an event's next attempt (contract 13.4). Pure.

const jitter = 0.2;

/**
 * The wait after an attempt, in milliseconds; undefined when the event is given up. `attempts` is
 * the number made so far, and `random` lies in [0, 1). A `Retry-After` is kept between once and
 * twice the base wait.
 */
export function retryInMs(
  schedule: readonly number[],
  attempts: number,
  retryAfterMs: number | null,
  random: number,
): number | undefined {
  const baseSeconds = schedule[attempts - 1];
  if (baseSeconds === undefined) return undefined;
  const baseMs = baseSeconds * 1000;
  if (retryAfterMs !== null) return Math.min(2 * baseMs, Math.max(baseMs, retryAfterMs));
  return Math.round(baseMs * (1 + jitter * (2 * random - 1)));
}

/**
 * A `Retry-After` in milliseconds from now (RFC 9110, 10.2.3), from seconds or a date; null for
 * anything else.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
