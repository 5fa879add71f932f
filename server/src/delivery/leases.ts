// The claims this process holds, and the heartbeat that keeps them. A claim that was not renewed in time counts as lost,
// whatever the database may still say: SIGSTOP and a dead network look the same from inside. And half a lease before that no push
// begins any more, so that a process that is merely slow has none under way when another may push the same.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { type ClaimedBatch, leaseMs, pushWithinMs, renewEveryMs } from './batch.ts';
import { renewClaims } from './queries.ts';

export interface Lease {
  /** False once the claim may be another's: then nothing more is sent and nothing is written. */
  isHeld(): boolean;
  /** Whether a push that begins now is over before the claim may be another's. */
  mayPush(): boolean;
  /** While it is held and no push may begin: ends when that may have changed. */
  untilMayPush(): Promise<void> | undefined;
  /** What was committed has renewed it, and was begun at `askedAtMs` or later; `clock.steadyMs`. */
  noteRenewed(askedAtMs: number): void;
  release(): void;
}

type HeldBatch = Pick<ClaimedBatch, 'id' | 'claimId'>;

export interface Leases {
  /** `claimedAtMs`: `clock.steadyMs` before the claim was asked for, which is when the lease may have begun. */
  hold(batch: HeldBatch, claimedAtMs: number): Lease;
  stop(): void;
}

export interface LeasesDeps {
  /** For renewals alone: they stand behind nothing else that asks the database. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

/** A lease that could not be renewed is tried again so soon. */
const lookEveryMs = 1000;
/** Whoever waits for a renewal looks so often. */
const restMs = 100;

/** When a claim was last known to be ours, by the clock that nobody sets; undefined: it is another's, or was let go. */
interface Held {
  readonly batch: HeldBatch;
  sinceMs: number | undefined;
}

export function createLeases({ sql, clock, log }: LeasesDeps): Leases {
  /** By claim, which works one batch at a time. */
  const claims = new Map<Uuid, Held>();
  let isRenewing = false;

  const noteRenewed = (held: Held, askedAtMs: number): void => {
    if (held.sinceMs !== undefined) held.sinceMs = Math.max(held.sinceMs, askedAtMs);
  };

  // One at a time. What flushes have renewed is left alone, and with it the rows that they hold.
  const renew = async (): Promise<void> => {
    const askedAtMs = clock.steadyMs();
    const isDue = ({ sinceMs = askedAtMs }: Held): boolean => askedAtMs - sinceMs > renewEveryMs - lookEveryMs;
    const due = [...claims.values()].filter(isDue);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
    try {
      await failpoint('lease.before_renew');
      const ours = await renewClaims(
        sql,
        clock,
        due.map(({ batch }) => batch),
      );
      for (const held of due) {
        const isRenewed = ours.get(held.batch.claimId);
        if (isRenewed) noteRenewed(held, askedAtMs);
        else if (isRenewed === undefined) held.sinceMs = undefined;
      }
    } catch (error) {
      log.warn({ err: error, claims: due.length }, 'leases not renewed');
    }
    isRenewing = false;
  };

  const timer = setInterval(() => void renew(), lookEveryMs);
  timer.unref();
  return {
    hold(batch, claimedAtMs) {
      const held: Held = { batch, sinceMs: claimedAtMs };
      claims.set(batch.claimId, held);
      const isYoungerThan = (ms: number): boolean => held.sinceMs !== undefined && clock.steadyMs() - held.sinceMs < ms;
      return {
        isHeld: () => isYoungerThan(leaseMs),
        mayPush: () => isYoungerThan(pushWithinMs),
        untilMayPush: () => (isYoungerThan(pushWithinMs) || !isYoungerThan(leaseMs) ? undefined : rest()),
        noteRenewed: (askedAtMs) => noteRenewed(held, askedAtMs),
        release() {
          held.sinceMs = undefined;
          claims.delete(batch.claimId);
        },
      };
    },
    stop: () => clearInterval(timer),
  };
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, restMs));
}
