// The claims this process holds, and the heartbeat that keeps them: one statement renews them all every five seconds.
// A claim that was not renewed in time counts as lost, whatever the database may still say: SIGSTOP and a dead network look
// the same from inside.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { leaseMs, renewEveryMs } from './batch.ts';
import { renewClaims } from './queries.ts';

export interface Lease {
  /** False once the claim may be another's: then nothing more is sent and nothing is written. */
  isHeld(): boolean;
  release(): void;
}

export interface Leases {
  /** `claimedAt`: `performance.now()` before the claim was asked for, which is when the lease may have begun. */
  hold(claimId: Uuid, claimedAt: number): Lease;
  stop(): void;
}

export function createLeases({ sql, clock, log }: { sql: Sql; clock: Clock; log: Log }): Leases {
  // When each claim was last known to be ours, by this process's monotonic clock.
  const heldSince = new Map<Uuid, number>();

  const renew = async (): Promise<void> => {
    const claimIds = [...heldSince.keys()];
    if (claimIds.length === 0) return;
    const askedAt = performance.now();
    try {
      await failpoint('lease.before_renew');
      const kept = await renewClaims(sql, clock, claimIds);
      for (const claimId of claimIds) {
        if (kept.has(claimId)) {
          if (heldSince.has(claimId)) heldSince.set(claimId, askedAt);
        } else heldSince.delete(claimId);
      }
    } catch (error) {
      log.warn({ err: error, claims: claimIds.length }, 'leases not renewed');
    }
  };

  const timer = setInterval(() => void renew(), renewEveryMs);
  timer.unref();
  return {
    hold(claimId, claimedAt) {
      heldSince.set(claimId, claimedAt);
      return {
        isHeld: () => {
          const since = heldSince.get(claimId);
          return since !== undefined && performance.now() - since < leaseMs;
        },
        release: () => void heldSince.delete(claimId),
      };
    },
    stop: () => clearInterval(timer),
  };
}
