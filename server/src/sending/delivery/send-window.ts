// The send window: how long a delivery may be tried after its batch is due (contract 7.5, R-91),
// and what rate sends a message within it. Pure.

const windowMsLeast = 60_000;
const windowMsMost = 24 * 3_600_000;

/** The send window of a ttl: max(60 s, min(ttl, 24 h)). */
export function sendWindowMs(ttlSeconds: number): number {
  return Math.max(windowMsLeast, Math.min(ttlSeconds * 1000, windowMsMost));
}

/**
 * The rest of a ttl, in whole seconds since the batch was due: at least 1, and 0 stays 0 (contract
 * 7.4).
 */
export function ttlLeftSeconds(ttlSeconds: number, dueAtMs: number, nowMs: number): number {
  if (ttlSeconds === 0) return 0;
  return Math.max(1, ttlSeconds - Math.max(0, Math.floor((nowMs - dueAtMs) / 1000)));
}

/** Deliveries that are due together. */
export interface DueDeliveries {
  readonly dueAtMs: number;
  readonly deliveries: number;
}

/**
 * The least requests a second with which every delivery is tried within its window (contract 5.20).
 * All windows are `windowMs` long. Deliveries with overlapping windows share the rate. So a group
 * of consecutive due times has the time from the start of its first window to the end of its last
 * one.
 */
export function leastPerSecond(due: readonly DueDeliveries[], windowMs: number): number {
  const inOrder = due.toSorted((a, b) => a.dueAtMs - b.dueAtMs);
  let least = 1;
  inOrder.forEach((first, from) => {
    let deliveries = 0;
    for (const last of inOrder.slice(from)) {
      deliveries += last.deliveries;
      least = Math.max(least, Math.ceil((deliveries * 1000) / (last.dueAtMs - first.dueAtMs + windowMs)));
    }
  });
  return least;
}
