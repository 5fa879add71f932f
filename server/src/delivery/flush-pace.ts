// How long outcomes may wait before a flush, so that one commit holds many. The commit takes time,
// and on a busy machine so does every step before it. The duration of recent flushes is subtracted,
// so that an outcome is committed within `flushEveryMs` of the provider's answer. Pure: the
// caller measures.
import { flushEveryMs } from './batch.ts';

export interface FlushPace {
  /** How long the first outcome of a flush may still wait. */
  readonly waitMs: number;
  /** Records how long a flush took, from the moment it was due to its commit. */
  note(tookMs: number): void;
}

/**
 * A flush gathers at least this long. Otherwise a slow database would be asked for more commits.
 */
const waitMsLeast = 150;
/**
 * A reserve for a flush that takes longer than the last ones. A disk may take 200 ms at any time.
 */
const marginMs = 200;
/** The assumed duration before the first flush, because a process that has just started is slow. */
const firstMs = 100;
/**
 * The slowest recent flush counts, up to `flushEveryMs`, because an outage exceeds that by far. It
 * is forgotten over some ten flushes.
 */
const forgottenShare = 0.8;

export function createFlushPace(): FlushPace {
  let slowestMs = firstMs;
  return {
    get waitMs() {
      return Math.max(waitMsLeast, flushEveryMs - marginMs - slowestMs);
    },
    note(tookMs) {
      slowestMs = Math.max(Math.min(tookMs, flushEveryMs), slowestMs * forgottenShare);
    },
  };
}
