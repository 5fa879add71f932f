// A loop that claims work, works, and claims again: several turns at once, woken by whoever knows that there is some, and
// drained on stop. It claims nothing while paused. A turn that throws is logged and the loop goes on: it survives any job.
import type { Log } from './log.ts';

export interface WorkLoop {
  /** There may be work: look now. */
  wake(): void;
  /** Stops claiming and resolves when what is under way has ended. */
  stop(): Promise<void>;
  /** Resolves when there is nothing to do and nothing under way: what tests wait for. */
  idle(): Promise<void>;
  /** When the loop last looked for work, or was ready to, by `performance.now()`: old where a claim never ends. */
  readonly lastLookedAt: number;
}

export interface WorkLoopOptions {
  readonly name: string;
  readonly turnsMax: number;
  readonly log: Log;
  /** While it says so the loop claims nothing. */
  isPaused(): boolean;
  /** Claims one piece of work and returns how to do it; undefined: there is none. */
  claim(): Promise<(() => Promise<void>) | undefined>;
}

/** At rest the loop says so often that it is ready. */
const readyEveryMs = 1000;

export function startWorkLoop({ name, turnsMax, log, isPaused, claim }: WorkLoopOptions): WorkLoop {
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
      // Somebody may have asked after the last question was put and before this.
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
          // Here too: where there is always more to claim, this goes on for as long.
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
      isStopped = true;
      lookAgain = false;
      clearInterval(timer);
      // A claim that answers after this is worked like any other: its work sees the stop and hands back.
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
