// The send worker: claims batches, app after app in a circle, and runs a few at once. Woken by NOTIFY, with a one-second poll
// behind it: losing LISTEN costs latency and nothing else.
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { startWorkLoop, type WorkLoop } from '../platform/work-loop.ts';
import type { ClaimedBatch } from './batch.ts';
import { claimNextBatch } from './queries.ts';
import { type RunDeps, runBatch } from './run-batch.ts';

/** Enough that one batch's commit and load overlap another's pushes. */
const batchesOfAppMax = 3;
/** Of all apps: one whose pushes are slow to be answered leaves turns for others. Memory is bounded by it. */
const batchesMax = 12;
const pollMs = 1000;

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startSendWorker(deps: RunDeps): WorkLoop {
  let lastAppId = firstAppId;
  let isStopping = false;
  /** Batches under way by app. */
  const turns = new Map<Uuid, number>();
  const turn = async (batch: ClaimedBatch, claimedAt: number): Promise<void> => {
    turns.set(batch.appId, (turns.get(batch.appId) ?? 0) + 1);
    try {
      await runBatch(deps, batch, claimedAt, () => isStopping);
    } finally {
      const left = (turns.get(batch.appId) ?? 1) - 1;
      if (left > 0) turns.set(batch.appId, left);
      else turns.delete(batch.appId);
    }
  };
  const loop = startWorkLoop({
    name: 'send',
    turnsMax: batchesMax,
    pollMs,
    log: deps.log,
    isPaused: deps.isPaused,
    async claim() {
      const claimedAt = performance.now();
      const full = [...turns].filter(([, count]) => count >= batchesOfAppMax).map(([appId]) => appId);
      const batch = await claimNextBatch(deps.sql, deps.clock, lastAppId, mintUuid(deps.clock.nowMs()), full);
      if (!batch) return undefined;
      lastAppId = batch.appId;
      return () => turn(batch, claimedAt);
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
