// Every loop of a worker process.

import { followUse } from './audience/follow-use.ts';
import type { RunDeps } from './delivery/run-batch.ts';
import { startSendWorker } from './delivery/worker.ts';
import { type ScheduleDeps, startScheduleWorker } from './messages/worker.ts';
import type { Clock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { Log } from './platform/log.ts';
import { createPropertyCounter } from './properties/worker.ts';
import { startUpkeep, type Upkeep } from './upkeep.ts';
import { createPropertyClearing } from './users/worker.ts';

export interface Workers {
  /** When the slower of the loops that send last looked for work, by `performance.now()`. */
  readonly lastLookedAt: number;
  readonly upkeep: Pick<Upkeep, 'runOnce'>;
  /** There may be batches: look now. */
  wake(): void;
  /** Resolves when no message and no batch is due and none is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorkersDeps extends Omit<ScheduleDeps, 'workSql' | 'isPaused'> {
  readonly run: RunDeps;
  /** The pool for long statements. */
  readonly sql: Sql;
  readonly retentionDays: number;
}

export function startWorkers(deps: WorkersDeps): Workers {
  const { run, sql, clock, log, retentionDays } = deps;
  const send = startSendWorker(run);
  const schedule = startScheduleWorker({ ...deps, isPaused: run.isPaused, workSql: sql });
  const upkeep = startUpkeep({ sql, clock, log, retentionDays, isPaused: run.isPaused });
  // Small tasks that any number of processes may run; one that fails is tried again at its next turn.
  const timers = periodicTasks(sql, clock, log).map(({ what, everyMs, run: runOnce }) => {
    const timer = setInterval(() => {
      runOnce().catch((error: unknown) => log.warn({ err: error, task: what }, 'a periodic task failed'));
    }, everyMs);
    return timer.unref();
  });
  return {
    get lastLookedAt() {
      return Math.min(send.lastLookedAt, schedule.lastLookedAt);
    },
    upkeep,
    wake: () => send.wake(),
    async idle() {
      await schedule.idle();
      await send.idle();
    },
    async stop() {
      upkeep.stop();
      for (const timer of timers) clearInterval(timer);
      await Promise.all([send.stop(), schedule.stop()]);
    },
  };
}

interface PeriodicTask {
  readonly what: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

function periodicTasks(sql: Sql, clock: Clock, log: Log): PeriodicTask[] {
  const counter = createPropertyCounter({ sql, clock });
  const clearing = createPropertyClearing({ sql, clock });
  return [
    { what: 'count the values of properties', everyMs: 60_000, run: () => counter.runOnce() },
    { what: 'clear retired properties', everyMs: 60_000, run: () => clearing.runOnce() },
    { what: 'let indexes follow use', everyMs: 60_000, run: () => followUse({ sql, clock, log }) },
  ];
}
