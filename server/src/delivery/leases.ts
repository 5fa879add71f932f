// The claims this process holds, and the heartbeat that keeps them. A lease is lost by the fence's word alone: a renewal or
// a write that no longer finds the claim. Age loses none, because after an outage the claim may still be ours. But no push
// begins in the second half of a lease, so that none is under way when another process may push the same.
import type { Clock } from '../platform/clock.ts';
import { isDatabaseState, type Sql } from '../platform/db.ts';
import { failpoint } from '../platform/failpoint.ts';
import type { Log } from '../platform/log.ts';
import { type ClaimedBatch, pushWithinMs, renewEveryMs } from './batch.ts';
import type { OutageWatch } from './outage-watch.ts';
import { renewClaims } from './queries.ts';

export interface Lease {
  /** For good: no push of the batch begins any more. */
  isOver(): boolean;
  /** Calls back when the lease is over, in the same turn; at once where it is. */
  onOver(hear: () => void): void;
  /** The claim is another's, or this process is done with it: it is renewed no more. */
  end(): void;
  /** Whether a push that begins now is over before the claim may be another's. */
  mayPush(): boolean;
  /** While the lease is held and no push may begin: ends when that may have changed. */
  untilMayPush(): Promise<void> | undefined;
  /** A commit has renewed the lease; it was begun at `askedAtMs` or later; `clock.steadyMs`. */
  noteRenewed(askedAtMs: number): void;
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
  readonly outages: OutageWatch;
}

/** A lease that could not be renewed is tried again so soon. */
const lookEveryMs = 1000;
/** A push that waits for a renewal looks so often. */
const restMs = 100;

/** One claim of one batch; `sinceMs`: when it was last known to be ours, by the clock that nobody sets. */
class Held implements Lease {
  readonly batch: HeldBatch;
  readonly #clock: Clock;
  readonly #onEnd: (lease: Held) => void;
  #sinceMs: number;
  #isOver = false;
  #hearers: (() => void)[] = [];

  constructor(batch: HeldBatch, sinceMs: number, clock: Clock, onEnd: (lease: Held) => void) {
    this.batch = batch;
    this.#sinceMs = sinceMs;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  ageMs(nowMs: number): number {
    return nowMs - this.#sinceMs;
  }

  isOver(): boolean {
    return this.#isOver;
  }

  onOver(hear: () => void): void {
    if (this.#isOver) hear();
    else this.#hearers.push(hear);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd(this);
    for (const hear of this.#hearers) hear();
    this.#hearers = [];
  }

  mayPush(): boolean {
    return !this.#isOver && this.ageMs(this.#clock.steadyMs()) < pushWithinMs;
  }

  untilMayPush(): Promise<void> | undefined {
    return this.#isOver || this.mayPush() ? undefined : rest();
  }

  noteRenewed(askedAtMs: number): void {
    this.#sinceMs = Math.max(this.#sinceMs, askedAtMs);
  }
}

export function createLeases({ sql, clock, log, outages }: LeasesDeps): Leases {
  /** A batch stands here twice where this process took it over from itself. */
  const held = new Set<Held>();
  let isRenewing = false;

  // One at a time. What flushes have renewed is left alone, and with it the rows that they hold.
  const renew = async (): Promise<void> => {
    const askedAtMs = clock.steadyMs();
    const due = [...held].filter((lease) => lease.ageMs(askedAtMs) > renewEveryMs - lookEveryMs);
    if (isRenewing || due.length === 0) return;
    isRenewing = true;
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
    isRenewing = false;
  };

  const timer = setInterval(() => void renew(), lookEveryMs);
  timer.unref();
  return {
    hold(batch, claimedAtMs) {
      const lease = new Held(batch, claimedAtMs, clock, (ended) => void held.delete(ended));
      held.add(lease);
      return lease;
    },
    stop: () => clearInterval(timer),
  };
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, restMs));
}
