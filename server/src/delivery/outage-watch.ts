// Whether this process may take over expired leases. After an outage every lease is old, although its owner is alive and holds
// outcomes that it could not write. Owners renew first, so that nothing is pushed twice.
import type { Clock } from '../platform/clock.ts';

export interface OutageWatch {
  /** A claim or a renewal was not answered. */
  noteAway(): void;
  /** A claim or a renewal was answered. */
  noteAnswered(): void;
  /** False while the database does not answer, and for six seconds after. */
  mayTakeOver(): boolean;
}

/** A renewal that hangs on a dead connection is given up after five seconds, and repeated on a new one. */
const ownersFirstMs = 6000;

/** A process that has just started may have missed an outage, and waits as if there had been one. */
export function createOutageWatch(clock: Clock): OutageWatch {
  let backAtMs: number | undefined = clock.steadyMs();
  return {
    noteAway() {
      backAtMs = undefined;
    },
    noteAnswered() {
      backAtMs ??= clock.steadyMs();
    },
    mayTakeOver: () => backAtMs !== undefined && clock.steadyMs() - backAtMs >= ownersFirstMs,
  };
}
