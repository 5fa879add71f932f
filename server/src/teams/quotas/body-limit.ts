// Limits the bodies of client keys, which strangers hold: their size, and the bytes of each key in a
// second (contract 4). Each process counts for itself, in bounded memory; the plan does not matter.

import type { Clock } from '../../ground/database/clock.ts';
import type { BodyAllowance } from '../../ground/http/request-body.ts';
import type { Caller } from '../apps/caller.ts';

const kibibyte = 1024;
const clientBytesMax = 64 * kibibyte;
const bytesPerSecond = 1024 * kibibyte;
const burstBytes = 2 * bytesPerSecond;
/** Keys that are remembered. Each begins with a full burst. */
const keysMax = 10_000;

/**
 * Returns the limits of a caller's bodies, beside the limit of the route; null: there is no limit.
 */
export function createBodyLimit({
  steadyMs,
}: Pick<Clock, 'steadyMs'>): (caller: Caller, route: { readonly clientBodyBytesMax?: number }) => BodyAllowance | null {
  // The time at which a key has its whole burst again, in milliseconds.
  const fullAtMs = new Map<string, number>();
  const msOf = (bytes: number): number => (bytes / bytesPerSecond) * 1000;
  return ({ scope, keyId }, { clientBodyBytesMax = clientBytesMax }) => {
    if (scope !== 'client') return null;
    return {
      bytesMax: clientBodyBytesMax,
      take(bytes) {
        const nowMs = steadyMs();
        const afterMs = Math.max(nowMs, fullAtMs.get(keyId) ?? nowMs) + msOf(bytes);
        const waitMs = afterMs - nowMs - msOf(burstBytes);
        if (waitMs > 0) return waitMs;
        if (fullAtMs.size >= keysMax) fullAtMs.clear();
        fullAtMs.set(keyId, afterMs);
        return 0;
      },
    };
  };
}
