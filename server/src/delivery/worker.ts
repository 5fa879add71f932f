// The send worker: claims batches and runs a few at once; those of paced messages apart, so that neither kind waits for a turn of
// the other. Woken by NOTIFY, with a one-second poll behind it: losing LISTEN costs latency and nothing else.
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { startWorkLoop, type WorkLoop } from '../platform/work-loop.ts';
import type { ClaimedBatch } from './batch.ts';
import { aheadMs } from './message-pace.ts';
import { claimNextPacedBatch } from './pace-queries.ts';
import { claimNextBatch } from './queries.ts';
import { type RunDeps, runBatch } from './run-batch.ts';

/** Enough that a batch's commit and load overlap others' pushes, and that those of 50 ms each fill their slots. */
const batchesOfAppMax = 4;
/** Of all apps: one whose pushes are slow to be answered leaves turns for others. */
const batchesMax = 16;
/** One batch's commit and load overlap another's pushes here, too; more would only wait for places. */
const batchesOfPacedMessageMax = 2;
/** Nearly all of a paced batch's time is waiting, which costs no more than its lease and a look at its message a second. */
const pacedBatchesMax = 64;
/** Under way in one loop: memory is bounded by it, and many batches have a turn at once where they are small. */
const devicesMax = 16_000;
const pollMs = 1000;

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startSendWorker(deps: RunDeps): WorkLoop {
  let lastAppId = firstAppId;
  const unpaced = startBatchLoop(deps, {
    name: 'send',
    turnsMax: batchesMax,
    shareMax: batchesOfAppMax,
    shareOf: (batch) => batch.appId,
    async claim(fullAppIds) {
      const claimId = mintUuid(deps.clock.nowMs());
      const batch = await claimNextBatch(deps.sql, deps.clock, lastAppId, claimId, fullAppIds);
      if (batch) lastAppId = batch.appId;
      return batch;
    },
  });
  const paced = startBatchLoop(deps, {
    name: 'paced send',
    turnsMax: pacedBatchesMax,
    shareMax: batchesOfPacedMessageMax,
    shareOf: (batch) => batch.messageId,
    // A second batch of a message waits for the first of every other one: a turn that is late costs a message its places.
    claim: (fullMessageIds, heldMessageIds) =>
      claimNextPacedBatch(deps.sql, deps.clock, mintUuid(deps.clock.nowMs()), aheadMs, fullMessageIds, heldMessageIds),
  });
  return {
    wake() {
      unpaced.wake();
      paced.wake();
    },
    async idle() {
      await Promise.all([unpaced.idle(), paced.idle()]);
    },
    get lastLookedAt() {
      return Math.min(unpaced.lastLookedAt, paced.lastLookedAt);
    },
    async stop() {
      await Promise.all([unpaced.stop(), paced.stop()]);
    },
  };
}

interface BatchLoop {
  readonly name: string;
  readonly turnsMax: number;
  /** Of the turns, how many may be one's share: one app's, or one message's. */
  readonly shareMax: number;
  readonly shareOf: (batch: ClaimedBatch) => Uuid;
  /** The first have all the turns they may have, the second have some. */
  readonly claim: (full: readonly Uuid[], held: readonly Uuid[]) => Promise<ClaimedBatch | undefined>;
}

function startBatchLoop(deps: RunDeps, { name, turnsMax, shareMax, shareOf, claim }: BatchLoop): WorkLoop {
  const shares = new Map<Uuid, number>();
  let devices = 0;
  let isStopping = false;

  const turn = async (batch: ClaimedBatch, claimedAt: number): Promise<void> => {
    const share = shareOf(batch);
    shares.set(share, (shares.get(share) ?? 0) + 1);
    devices += batch.deviceIds.length;
    try {
      const end = await runBatch(deps, batch, claimedAt, () => isStopping);
      if (end.kind === 'waiting') wakeAt(end.dueAtMs);
    } finally {
      devices -= batch.deviceIds.length;
      const left = (shares.get(share) ?? 1) - 1;
      if (left > 0) shares.set(share, left);
      else shares.delete(share);
    }
  };
  // What is due before the next poll is not left to it.
  const wakeAt = (dueAtMs: number): void => {
    const waitMs = dueAtMs - deps.clock.nowMs();
    if (waitMs < pollMs) setTimeout(() => loop.wake(), Math.max(0, Math.ceil(waitMs))).unref();
  };
  const loop = startWorkLoop({
    name,
    turnsMax,
    pollMs,
    log: deps.log,
    isPaused: () => devices >= devicesMax || deps.isPaused(),
    async claim() {
      const claimedAt = performance.now();
      const full = [...shares].filter(([, count]) => count >= shareMax).map(([share]) => share);
      const batch = await claim(full, [...shares.keys()]);
      return batch && (() => turn(batch, claimedAt));
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
