// How long a delivery may be tried: from when its batch is due (contract 7.5, R-91). Pure.

const windowMsLeast = 60_000;
const windowMsMost = 24 * 3_600_000;

/** The length of the send window of a ttl: max(60 s, min(ttl, 24 h)). */
export function sendWindowMs(ttlSeconds: number): number {
  return Math.max(windowMsLeast, Math.min(ttlSeconds * 1000, windowMsMost));
}

/** What is left of a ttl, in whole seconds since the batch was due: at least 1, and 0 stays 0 (contract 7.4). */
export function ttlLeftSeconds(ttlSeconds: number, dueAtMs: number, nowMs: number): number {
  if (ttlSeconds === 0) return 0;
  return Math.max(1, ttlSeconds - Math.max(0, Math.floor((nowMs - dueAtMs) / 1000)));
}
