// Whether this process may take over expired leases. After an outage every lease is old, although
// its owner may be alive and hold outcomes that it could not write. The same holds after a step of
// the clock, when the host slept or the clock was set forward. Owners write and renew
// first, so that no push is made twice.
import type { Clock } from '../../ground/database/clock.ts';

export interface OutageWatch {
  /** A claim or a renewal was not answered. */
  noteAway(): void;
  /** A claim or a renewal was answered. */
  noteAnswered(): void;
  /** False while the database does not answer, and for six seconds after an outage or a step. */
  mayTakeOver(): boolean;
}

/**
 * Longer than the five seconds after which a renewal gives up a dead connection and asks on a new
 * one.
 */
const ownersFirstMs = 6000;

/** A new process may have missed an outage. So it waits as if there had been one. */
export function createOutageWatch(clock: Clock): OutageWatch {
  let backAtMs: number | undefined = clock.steadyMs();
  let { steps } = clock;
  return {
    noteAway() {
      backAtMs = undefined;
    },
    noteAnswered() {
      backAtMs ??= clock.steadyMs();
    },
    mayTakeOver() {
      const nowMs = clock.steadyMs();
      if (clock.steps !== steps) {
        steps = clock.steps;
        if (backAtMs !== undefined) backAtMs = nowMs;
      }
      return backAtMs !== undefined && nowMs - backAtMs >= ownersFirstMs;
    },
  };
}
