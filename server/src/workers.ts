// Every loop of a worker process.

import type { RunDeps } from './delivery/run-batch.ts';
import { batchesChannel, startPartitionUpkeep, startSendWorker } from './delivery/worker.ts';
import type { Clock } from './platform/clock.ts';
import type { Sql } from './platform/db.ts';
import type { Log } from './platform/log.ts';
import { createPropertyCounter } from './properties/worker.ts';

export interface Workers {
  /** When the send loop last looked for work, by `performance.now()`. */
  readonly lastLookedAt: number;
  /** Resolves when no batch is due and none is under way. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const countPropertiesEveryMs = 60_000;

export function startWorkers({ run, sql, clock, log }: { run: RunDeps; sql: Sql; clock: Clock; log: Log }): Workers {
  const send = startSendWorker(run);
  const partitions = startPartitionUpkeep({ sql, log });
  const counter = createPropertyCounter({ sql, clock });
  const counting = setInterval(() => {
    counter.runOnce().catch((error: unknown) => log.warn({ err: error }, 'properties not counted'));
  }, countPropertiesEveryMs);
  counting.unref();
  // LISTEN saves latency; the loop's own poll is behind it, so a failure here is no more than a line in the log.
  const listening = sql.listen(
    batchesChannel,
    () => send.wake(),
    () => send.wake(),
  );
  listening.catch((error: unknown) => log.warn({ err: error }, 'not listening for new batches, polling'));
  return {
    get lastLookedAt() {
      return send.lastLookedAt;
    },
    idle: () => send.idle(),
    async stop() {
      partitions.stop();
      clearInterval(counting);
      await listening.then((one) => one.unlisten()).catch(() => undefined);
      await send.stop();
    },
  };
}
