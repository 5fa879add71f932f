// Every loop of a worker process.

import type { RunDeps } from './delivery/run-batch.ts';
import { startSendWorker } from './delivery/worker.ts';
import { type ScheduleDeps, startScheduleWorker } from './messages/worker.ts';
import type { Sql } from './platform/db.ts';
import { createPropertyCounter } from './properties/worker.ts';
import { startUpkeep, type Upkeep } from './upkeep.ts';

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

const countPropertiesEveryMs = 60_000;

export interface WorkersDeps extends Omit<ScheduleDeps, 'workSql' | 'isPaused'> {
  readonly run: RunDeps;
  /** The pool for long statements. */
  readonly sql: Sql;
  readonly retentionDays: number;
}

export function startWorkers({ run, sql, txSql, clock, plans, log, retentionDays }: WorkersDeps): Workers {
  const send = startSendWorker(run);
  const schedule = startScheduleWorker({ clock, plans, log, isPaused: run.isPaused, txSql, workSql: sql });
  const upkeep = startUpkeep({ sql, clock, log, retentionDays, isPaused: run.isPaused });
  const counter = createPropertyCounter({ sql, clock });
  const counting = setInterval(() => {
    counter.runOnce().catch((error: unknown) => log.warn({ err: error }, 'properties not counted'));
  }, countPropertiesEveryMs);
  counting.unref();
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
      clearInterval(counting);
      await Promise.all([send.stop(), schedule.stop()]);
    },
  };
}
