// How long outcomes may wait for company before they are committed. The commit itself takes time, and on a busy machine so does
// everything before it: what the last ones took is taken off, so that an outcome is safe within `flushEveryMs` of the
// provider's answer. Pure: elapsed times are handed in.
import { flushEveryMs } from './batch.ts';

export interface FlushPace {
  /** How long the first outcome of a flush may still wait. */
  readonly waitMs: number;
  /** A flush was committed so long after its outcomes had waited. */
  note(tookMs: number): void;
}

/** However slow commits are, this much is gathered: else a slow database would be asked for more of them. */
const waitMsLeast = 150;
/** What is kept in hand for a flush that takes longer than the last ones: a disk may take 200 ms at any time. */
const marginMs = 200;
/** A process that has just begun is slow, and does not know it yet. */
const firstMs = 100;
/** The slowest of late counts, up to the limit, which an outage exceeds by far; it is forgotten over some ten flushes. */
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
