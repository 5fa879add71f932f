// The claims of this process, and the heartbeat that renews them. A lease ends when a
// renewal or a write finds the claim gone. Age does not end it, because after an outage the claim
// may still be ours. But no push begins in the second half of a lease, so that no push is
// under way when another process may repeat it.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseState, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import type { Log } from '../../ground/host/log.ts';
import { type ClaimedBatch, pushWithinMs, renewEveryMs } from './batch.ts';
import type { OutageWatch } from './outage-watch.ts';
import { renewClaims } from './queries.ts';

export interface Lease {
  /** True when the lease has ended: no further push of the batch begins. */
  isOver(): boolean;
  /**
   * Calls back when the lease ends, in the same turn of the event loop; at once if it has ended.
   */
  onOver(hear: () => void): void;
  /** Ends the lease and its renewals, because the claim is lost or this process is done with it. */
  end(): void;
  /** Whether a push that begins now ends before another process may hold the claim. */
  mayPush(): boolean;
  /** While the lease is held but no push may begin: resolves when that may have changed. */
  untilMayPush(): Promise<void> | undefined;
  /** Records that a commit has renewed the lease, at `askedAtMs` or later by `clock.steadyMs`. */
  noteRenewed(askedAtMs: number): void;
  /** Tries once to renew the lease now. Never rejects. */
  renew(): Promise<void>;
}

type HeldBatch = Pick<ClaimedBatch, 'id' | 'claimId'>;

export interface Leases {
  /**
   * `claimedAtMs` is `clock.steadyMs` before the claim was sent, which is the earliest time at
   * which the lease may have begun.
   */
  hold(batch: HeldBatch, claimedAtMs: number): Lease;
  stop(): void;
}

export interface LeasesDeps {
  /** A pool for renewals alone, so that they wait for no other statement. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly outages: OutageWatch;
}

/** Leases are checked this often, and a failed renewal is repeated after this time. */
const lookEveryMs = 1000;
/** A push that waits for a renewal checks this often. */
const restMs = 100;

interface Held extends Lease {
  readonly batch: HeldBatch;
  /** The time since the claim was last known to be ours, by the monotonic clock. */
  ageMs(nowMs: number): number;
}

export function createLeases({ sql, clock, log, outages }: LeasesDeps): Leases {
  /** A batch is listed twice if this process took it over from itself. */
  const held = new Set<Held>();
  let isRenewing = false;

  const renew = async (due: readonly Held[]): Promise<void> => {
    const askedAtMs = clock.steadyMs();
    try {
      await failpoint('lease.before_renew');
      const ours = await renewClaims(
        sql,
        clock,
        due.map(({ batch }) => batch),
      );
      outages.noteAnswered();
      for (const lease of due) {
        const found = ours.find(({ id, claimId }) => id === lease.batch.id && claimId === lease.batch.claimId);
        if (!found) lease.end();
        else if (found.isRenewed) lease.noteRenewed(askedAtMs);
      }
    } catch (error) {
      if (isDatabaseState(error)) outages.noteAway();
      log.warn({ err: error, claims: due.length }, 'leases not renewed');
    }
  };

  // The heartbeat: one runs at a time. It skips leases that a flush has renewed, and so does not
  // wait for their rows.
  const beat = async (): Promise<void> => {
    const nowMs = clock.steadyMs();
    const due = [...held].filter((lease) => lease.ageMs(nowMs) > renewEveryMs - lookEveryMs);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
    await renew(due);
    isRenewing = false;
  };

  const timer = setInterval(() => void beat(), lookEveryMs);
  timer.unref();
  return {
    hold(batch, claimedAtMs) {
      let sinceMs = claimedAtMs;
      let isOver = false;
      let hearers: (() => void)[] = [];
      const lease: Held = {
        batch,
        ageMs: (nowMs) => nowMs - sinceMs,
        isOver: () => isOver,
        onOver(hear) {
          if (isOver) hear();
          else hearers.push(hear);
        },
        end() {
          if (isOver) return;
          isOver = true;
          held.delete(lease);
          for (const hear of hearers) hear();
          hearers = [];
        },
        mayPush: () => !isOver && lease.ageMs(clock.steadyMs()) < pushWithinMs,
        untilMayPush: () => (isOver || lease.mayPush() ? undefined : sleep(restMs)),
        noteRenewed(askedAtMs) {
          sinceMs = Math.max(sinceMs, askedAtMs);
        },
        renew: () => renew([lease]),
      };
      held.add(lease);
      return lease;
    },
    stop: () => clearInterval(timer),
  };
}
