// How long outcomes may wait before a flush, so that one commit holds many, and how old unwritten
// outcomes may be while pushes begin. Both leave enough time for a flush as slow as the slowest
// recent one. So an outcome is committed within `flushEveryMs` of the provider's answer, and
// a slow database slows a send instead. Pure: the caller measures.
import { flushEveryMs } from './batch.ts';

export interface FlushPace {
  /** How long the first outcome of a flush may still wait. */
  readonly waitMs: number;
  /** No push begins while an outcome has been unwritten for longer. */
  readonly unwrittenMsMax: number;
  /** Records how long a flush took, from the moment it was due to its commit. */
  note(tookMs: number): void;
}

/**
 * The next flush gathers while one runs. If an outcome waits for half of the window, two flushes in
 * a row fit into the window.
 */
const halfMs = flushEveryMs / 2;
/** Milliseconds by which a flush usually ends before pushes would have to wait for it. */
const marginMs = 50;
/**
 * Milliseconds for which a flush gathers and pushes go on at least, however slow the database is.
 */
const msLeast = 50;
/**
 * The assumed duration of a flush before the first one. A process that has just started is slow: its
 * code is not compiled yet, and its neighbours often start with it.
 */
const firstMs = 400;
/**
 * The slowest recent flush counts, up to `flushEveryMs`, because an outage exceeds that by far. It
 * is forgotten over some ten flushes.
 */
const forgottenShare = 0.8;

export function createFlushPace(): FlushPace {
  let slowestMs = firstMs;
  return {
    get waitMs() {
      return Math.max(msLeast, halfMs - marginMs - slowestMs);
    },
    get unwrittenMsMax() {
      return Math.max(msLeast, Math.min(halfMs, flushEveryMs - slowestMs));
    },
    note(tookMs) {
      slowestMs = Math.max(Math.min(tookMs, flushEveryMs), slowestMs * forgottenShare);
    },
  };
}
