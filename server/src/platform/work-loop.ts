// A loop that claims work, works, and claims again: several turns at once, woken by a notification or by its own poll, and
// drained on stop. A turn that throws is logged and the loop goes on: it survives any job.
import type { Log } from './log.ts';

export interface WorkLoop {
  /** There may be work: look now. */
  wake(): void;
  /** Stops claiming and resolves when what is under way has ended. */
  stop(): Promise<void>;
  /** Resolves when there is nothing to do and nothing under way: what tests wait for. */
  idle(): Promise<void>;
  /** When the loop last looked for work, by `performance.now()`. */
  readonly lastLookedAt: number;
}

export interface WorkLoopOptions {
  readonly name: string;
  readonly turnsMax: number;
  readonly pollMs: number;
  readonly log: Log;
  /** Claims one piece of work and returns how to do it; undefined: there is none. */
  claim(): Promise<(() => Promise<void>) | undefined>;
}

export function startWorkLoop({ name, turnsMax, pollMs, log, claim }: WorkLoopOptions): WorkLoop {
  const underWay = new Set<Promise<void>>();
  let isStopped = false;
  let isLooking = false;
  let lookAgain = false;
  let lastLookedAt = performance.now();
  let idleWaiters: (() => void)[] = [];

  const settleIdle = (): void => {
    if (isLooking || lookAgain || underWay.size > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  };

  const look = async (): Promise<void> => {
    if (isLooking) {
      lookAgain = true;
      return;
    }
    isLooking = true;
    try {
      do {
        lookAgain = false;
        lastLookedAt = performance.now();
        while (!isStopped && underWay.size < turnsMax) {
          const work = await claim();
          if (!work) break;
          const turn: Promise<void> = work()
            .catch((error: unknown) => log.error({ err: error, loop: name }, 'a turn failed'))
            .finally(() => {
              underWay.delete(turn);
              void look();
            });
          underWay.add(turn);
        }
      } while (lookAgain && !isStopped);
    } catch (error) {
      log.warn({ err: error, loop: name }, 'no work could be claimed');
    } finally {
      isLooking = false;
      settleIdle();
    }
  };

  const timer = setInterval(() => void look(), pollMs);
  timer.unref();
  void look();
  return {
    wake: () => void look(),
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await Promise.all(underWay);
      settleIdle();
    },
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.push(resolve);
        void look();
      }),
    get lastLookedAt() {
      return lastLookedAt;
    },
  };
}
