// A loop that claims work, runs it, and claims again: several turns at once, woken when there is
// work, and drained on stop. It claims nothing while paused. A turn that throws is logged and the
// loop continues.
import type { Log } from '../host/log.ts';

export interface WorkLoop {
  /** Looks for work now, because there may be some. */
  wake(): void;
  /** Stops claiming and resolves when the work under way has ended. */
  stop(): Promise<void>;
  /** Resolves when there is nothing to claim and nothing under way; tests wait for it. */
  idle(): Promise<void>;
  /**
   * When the loop last looked for work, or was ready to, by `performance.now()`. It gets old when a
   * claim never ends.
   */
  readonly lastLookedAt: number;
}

export interface WorkLoopOptions {
  readonly name: string;
  readonly turnsMax: number;
  readonly log: Log;
  /** While it returns true the loop claims nothing. */
  isPaused(): boolean;
  /** Claims one piece of work and returns how to do it; undefined when there is none. */
  claim(): Promise<(() => Promise<void>) | undefined>;
  /** Called when a stop begins, before it waits for the work under way. */
  onStop?(): void;
}

/** Milliseconds between two updates of `lastLookedAt` at rest. */
const readyEveryMs = 1000;

export function startWorkLoop({ name, turnsMax, log, isPaused, claim, onStop }: WorkLoopOptions): WorkLoop {
  const underWay = new Set<Promise<void>>();
  let isStopped = false;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let lastLookedAt = performance.now();
  let idleWaiters: (() => void)[] = [];

  const settleIdle = (): void => {
    if (looking || lookAgain || underWay.size > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  };

  const look = (): void => {
    if (looking) {
      lookAgain = !isStopped;
      return;
    }
    looking = claimAll().finally(() => {
      looking = undefined;
      // A wake may have come after the last claim and before this point.
      if (lookAgain && !isStopped) look();
      else settleIdle();
    });
  };

  const claimAll = async (): Promise<void> => {
    try {
      do {
        lookAgain = false;
        lastLookedAt = performance.now();
        while (!isStopped && !isPaused() && underWay.size < turnsMax) {
          // Updated here too, because this loop continues as long as there is more to claim.
          lastLookedAt = performance.now();
          const work = await claim();
          if (!work) break;
          const turn: Promise<void> = work()
            .catch((error: unknown) => log.error({ err: error, loop: name }, 'a turn failed'))
            .finally(() => {
              underWay.delete(turn);
              look();
            });
          underWay.add(turn);
        }
      } while (lookAgain && !isStopped);
    } catch (error) {
      log.warn({ err: error, loop: name }, 'no work could be claimed');
    }
  };

  const timer = setInterval(() => {
    if (!looking) lastLookedAt = performance.now();
  }, readyEveryMs);
  timer.unref();
  look();
  return {
    wake: look,
    async stop() {
      onStop?.();
      isStopped = true;
      lookAgain = false;
      clearInterval(timer);
      // A claim that answers after this point is worked like any other: its work sees the stop and
      // returns the claim.
      await looking;
      await Promise.all(underWay);
      settleIdle();
    },
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.push(resolve);
        look();
      }),
    get lastLookedAt() {
      return lastLookedAt;
    },
  };
}

/**
 * Several loops as one. It is idle when they were idle one after the other, in this order, because a
 * loop may leave work to a later one.
 */
export function joinLoops(loops: readonly WorkLoop[]): WorkLoop {
  return {
    wake() {
      for (const loop of loops) loop.wake();
    },
    async idle() {
      for (const loop of loops) await loop.idle();
    },
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    get lastLookedAt() {
      return Math.min(...loops.map((loop) => loop.lastLookedAt));
    },
  };
}
