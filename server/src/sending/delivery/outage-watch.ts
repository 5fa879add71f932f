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
  /** True in the first six seconds of a process that has noticed no outage and no step itself. */
  mayAsk(): boolean;
  /** Another process says that the database was there for the last six seconds. */
  noteWasThere(): void;
}

/**
 * Longer than the five seconds after which a renewal gives up a dead connection and asks on a new
 * one.
 */
export const ownersFirstMs = 6000;

/**
 * A new process may have missed an outage. So it waits as if there had been one, until it hears that
 * the database was there.
 */
export function createOutageWatch(clock: Clock): OutageWatch {
  let backAtMs: number | undefined = clock.steadyMs();
  /** Whether an outage may have ended just before this process began. */
  let mayHaveMissed = true;
  let { steps } = clock;
  const noteStep = (nowMs: number): void => {
    if (clock.steps === steps) return;
    steps = clock.steps;
    mayHaveMissed = false;
    if (backAtMs !== undefined) backAtMs = nowMs;
  };
  const mayTakeOver = (): boolean => {
    const nowMs = clock.steadyMs();
    noteStep(nowMs);
    return backAtMs !== undefined && nowMs - backAtMs >= ownersFirstMs;
  };
  const mayAsk = (): boolean => !mayTakeOver() && mayHaveMissed;
  return {
    noteAway() {
      backAtMs = undefined;
      mayHaveMissed = false;
    },
    noteAnswered() {
      backAtMs ??= clock.steadyMs();
    },
    mayTakeOver,
    mayAsk,
    noteWasThere() {
      if (mayAsk()) backAtMs = clock.steadyMs() - ownersFirstMs;
    },
  };
}
