// Every loop of a worker process.

import type { RunDeps } from './delivery/run-batch.ts';
import { startSendWorker } from './delivery/worker.ts';
import type { Clock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { Log } from './platform/log.ts';
import { createPropertyCounter } from './properties/worker.ts';
import { startUpkeep, type Upkeep } from './upkeep.ts';

export interface Workers {
  /** When the send loop last looked for work, by `performance.now()`. */
  readonly lastLookedAt: number;
  readonly upkeep: Pick<Upkeep, 'runOnce'>;
  /** There may be work: look now. */
  wake(): void;
  /** Resolves when no batch is due and none is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const countPropertiesEveryMs = 60_000;

export interface WorkersDeps {
  readonly run: RunDeps;
  /** The pool for long statements. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly retentionDays: number;
}

export function startWorkers({ run, sql, clock, log, retentionDays }: WorkersDeps): Workers {
  const send = startSendWorker(run);
  const upkeep = startUpkeep({ sql, clock, log, retentionDays, isPaused: run.isPaused });
  const counter = createPropertyCounter({ sql, clock });
  const counting = setInterval(() => {
    counter.runOnce().catch((error: unknown) => log.warn({ err: error }, 'properties not counted'));
  }, countPropertiesEveryMs);
  counting.unref();
  return {
    get lastLookedAt() {
      return send.lastLookedAt;
    },
    upkeep,
    wake: () => send.wake(),
    idle: () => send.idle(),
    async stop() {
      upkeep.stop();
      clearInterval(counting);
      await send.stop();
    },
  };
}
