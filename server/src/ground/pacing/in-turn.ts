// Runs the periodic tasks of one process one after another and never concurrently, so that together
// they need no more connections than one of them. Their first turns are spread, so that neither the
// tasks of a process nor the processes of a service begin at the same time.
import type { Log } from '../host/log.ts';

export interface PeriodicTask {
  readonly what: string;
  readonly everyMs: number;
  /**
   * Milliseconds after the start of the first turn, plus up to as much again at random. Default:
   * half of `everyMs`.
   */
  readonly firstAfterMs?: number;
  run(): Promise<unknown>;
}

export interface InTurnDeps {
  readonly log: Pick<Log, 'warn'>;
  /** At least 0 and below 1. */
  readonly random: () => number;
}

/** The longest wait before the next look at the clock. */
const lookEveryMs = 1_000;

/**
 * Runs each task at its interval. A failure is logged, and the task has its next turn. Turns that a
 * long task delays past their time are skipped.
 */
export function runInTurn(tasks: readonly PeriodicTask[], { log, random }: InTurnDeps): { stop(): void } {
  const startedAt = performance.now();
  const planned = tasks.map((task) => {
    const { everyMs, firstAfterMs = everyMs / 2 } = task;
    return { task, dueAtMs: startedAt + firstAfterMs * (1 + random()) };
  });
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const next = () => planned.reduce((one, other) => (other.dueAtMs < one.dueAtMs ? other : one));

  const runNext = async (): Promise<void> => {
    const due = next();
    try {
      await due.task.run();
    } catch (error) {
      log.warn({ err: error, task: due.task.what }, 'a periodic task failed');
    }
    // The next turn keeps the task's own rhythm, which spreads the tasks; missed turns are not made
    // up.
    const missed = Math.floor((performance.now() - due.dueAtMs) / due.task.everyMs);
    due.dueAtMs += (missed + 1) * due.task.everyMs;
    plan();
  };
  const plan = (): void => {
    if (isStopped || planned.length === 0) return;
    const leftMs = next().dueAtMs - performance.now();
    const look = (): void => {
      if (next().dueAtMs > performance.now()) plan();
      else void runNext();
    };
    timer = setTimeout(look, Math.min(Math.max(0, leftMs), lookEveryMs)).unref();
  };

  plan();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
