// The send worker: claims batches, app after app in a circle, and runs a few at once. Woken by NOTIFY, with a one-second poll
// behind it: losing LISTEN costs latency and nothing else.
import type { Sql } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { startWorkLoop, type WorkLoop } from '../platform/work-loop.ts';
import { ensureDeliveryPartitions } from './partitions.ts';
import { claimNextBatch } from './queries.ts';
import { type RunDeps, runBatch } from './run-batch.ts';

/** The channel that a process with new batches notifies. */
export const batchesChannel = 'carillon_batches';

/** Enough that one batch's commit and load overlap another's pushes; memory is bounded by it. */
const batchesAtOnce = 3;
const pollMs = 1000;
const partitionsEveryMs = 6 * 3_600_000;

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startSendWorker(deps: RunDeps): WorkLoop {
  let lastAppId = firstAppId;
  let isStopping = false;
  const loop = startWorkLoop({
    name: 'send',
    turnsMax: batchesAtOnce,
    pollMs,
    log: deps.log,
    isPaused: deps.isPaused,
    async claim() {
      const claimedAt = performance.now();
      const batch = await claimNextBatch(deps.sql, deps.clock, lastAppId, mintUuid(deps.clock.nowMs()));
      if (!batch) return undefined;
      lastAppId = batch.appId;
      return async () => void (await runBatch(deps, batch, claimedAt, () => isStopping));
    },
  });
  return {
    wake: loop.wake,
    idle: loop.idle,
    get lastLookedAt() {
      return loop.lastLookedAt;
    },
    stop() {
      isStopping = true;
      return loop.stop();
    },
  };
}

/** Makes the partitions of the weeks ahead every six hours; the start made them once. */
export function startPartitionUpkeep({ sql, log }: Pick<RunDeps, 'log'> & { sql: Sql }): { stop(): void } {
  const run = (): void => {
    ensureDeliveryPartitions(sql).catch((error: unknown) => log.error({ err: error }, 'partitions not made'));
  };
  const timer = setInterval(run, partitionsEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
