// The outcomes of this process that wait to be written. While the oldest has waited for too long,
// the process begins no push: a kill would repeat the pushes of more than the window, and a
// starved database gets time for the commits. Outcomes are kept through an outage, up to a limit of
// memory. Above the limit no push begins either.
import { pushWithinMs } from './batch.ts';

/**
 * An outcome with the provider's answer takes at most 1 kB (a guess). So the limit is 25 MB of the
 * 300 MB that a process may have.
 */
const outcomesMax = 25_000;
/** A wait for a commit looks again after this time. */
const lookEveryMs = 1000;

/** The outcomes of one flush. */
export interface Unwritten {
  /** When the first one came, by `performance.now()`. */
  readonly sinceMs: number;
  add(): void;
  /** Call this when they were written, or dropped because another process owns the batch. */
  end(): void;
}

export interface OutcomeBacklog {
  begin(sinceMs: number): Unwritten;
  /**
   * While outcomes of this process have waited longer than `ageMs`, or the limit is reached:
   * resolves when that may have changed. If a flush fails for longer than its lease allows pushes,
   * it says nothing about the database's pace and delays only its own batch. `ownSinceMs`: the time
   * since which the caller's batch has waiting outcomes.
   */
  untilRoom(ageMs: number, ownSinceMs: number | undefined): Promise<void> | undefined;
}

export function createOutcomeBacklog(max = outcomesMax): OutcomeBacklog {
  const waiting = new Set<Unwritten>();
  let count = 0;
  let oldestMs = Number.POSITIVE_INFINITY;
  let change: { readonly promise: Promise<void>; readonly tell: () => void } | undefined;

  const noteChange = (): void => {
    oldestMs = Number.POSITIVE_INFINITY;
    for (const { sinceMs } of waiting) oldestMs = Math.min(oldestMs, sinceMs);
    change?.tell();
    change = undefined;
  };
  const isBehind = (ageMs: number, ownSinceMs: number | undefined): boolean => {
    if (count >= max) return true;
    const nowMs = performance.now();
    if (nowMs - oldestMs <= ageMs) return false;
    if (ownSinceMs !== undefined && nowMs - ownSinceMs > ageMs) return true;
    for (const { sinceMs } of waiting) if (nowMs - sinceMs > ageMs && nowMs - sinceMs < pushWithinMs) return true;
    return false;
  };

  return {
    begin(sinceMs) {
      let added = 0;
      const unwritten: Unwritten = {
        sinceMs,
        add() {
          added++;
          count++;
        },
        end() {
          count -= added;
          waiting.delete(unwritten);
          noteChange();
        },
      };
      waiting.add(unwritten);
      oldestMs = Math.min(oldestMs, sinceMs);
      return unwritten;
    },
    untilRoom(ageMs, ownSinceMs) {
      if (!isBehind(ageMs, ownSinceMs)) return undefined;
      change ??= createChange(noteChange);
      return change.promise;
    },
  };
}

/** Waits until a change is announced, or a second at most. */
function createChange(look: () => void): { promise: Promise<void>; tell: () => void } {
  let tell: () => void = () => undefined;
  const timer = setTimeout(look, lookEveryMs);
  const promise = new Promise<void>((resolve) => {
    tell = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  return { promise, tell };
}
