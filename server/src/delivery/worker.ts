// The send worker: claims batches and runs a few at once; those of paced messages apart, so that neither kind waits for a turn of
// the other. Woken by NOTIFY, and by whoever looks for what is due: losing LISTEN costs latency and nothing else.
import type { Uuid } from '../platform/ids.ts';
import { startWorkLoop, type WorkLoop } from '../platform/work-loop.ts';
import type { ClaimedBatch } from './batch.ts';
import { createClaims } from './claims.ts';
import { aheadMs } from './message-pace.ts';
import { claimNextPacedBatch } from './pace-queries.ts';
import { claimNextBatch, type TakeOver } from './queries.ts';
import { type RunDeps, runBatch } from './run-batch.ts';

/** Of all apps. */
export const batchesMax = 16;
/** One batch's commit and load overlap another's pushes here, too; more would only wait for places. */
const batchesOfPacedMessageMax = 2;
/** Nearly all of a paced batch's time is waiting, which costs no more than its lease and a look at its message a second. */
const pacedBatchesMax = 64;
/** Under way in one loop: memory is bounded by it, and many batches have a turn at once where they are small. */
const devicesMax = 16_000;
/** What is due later is looked for in time by the elected process. */
const lookEveryMs = 1000;

/**
 * Whether an app with so many batches under way may have another: as slots are shared, by what is left, so that whoever comes finds a
 * turn, whatever keeps the others from ending. Alone it has six, which it takes to fill its slots: a batch whose pushes are
 * answered in 50 ms is under way for 100, and claim, load and commit hold no slots.
 */
export function mayHaveAnother(held: number, free: number): boolean {
  return held < free / 2;
}

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startSendWorker(deps: RunDeps): WorkLoop {
  let lastAppId = firstAppId;
  const { sql, clock } = deps;
  const unpaced = startBatchLoop(deps, {
    name: 'send',
    turnsMax: batchesMax,
    mayHave: mayHaveAnother,
    shareOf: (batch) => batch.appId,
    async ask(claimId, takeOver, fullAppIds) {
      const batch = await claimNextBatch(sql, clock, lastAppId, claimId, fullAppIds, takeOver);
      if (batch) lastAppId = batch.appId;
      return batch;
    },
  });
  const paced = startBatchLoop(deps, {
    name: 'paced send',
    turnsMax: pacedBatchesMax,
    mayHave: (held) => held < batchesOfPacedMessageMax,
    shareOf: (batch) => batch.messageId,
    // A second batch of a message waits for the first of every other one: a turn that is late costs a message its places.
    ask: (claimId, takeOver, fullMessageIds, heldMessageIds) =>
      claimNextPacedBatch(sql, clock, claimId, aheadMs, fullMessageIds, heldMessageIds, takeOver),
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
  /** Whether one, be it an app or a message, that holds so many turns may have another while so many are free. */
  readonly mayHave: (held: number, free: number) => boolean;
  readonly shareOf: (batch: ClaimedBatch) => Uuid;
  /** `full` have all the turns they may have, `held` have some. */
  readonly ask: (
    claimId: Uuid,
    takeOver: TakeOver,
    full: readonly Uuid[],
    held: readonly Uuid[],
  ) => Promise<ClaimedBatch | undefined>;
}

function startBatchLoop(deps: RunDeps, { name, turnsMax, mayHave, shareOf, ask }: BatchLoop): WorkLoop {
  const shares = new Map<Uuid, number>();
  const claims = createClaims(deps);
  let turns = 0;
  let devices = 0;
  let isStopping = false;

  const turn = async (batch: ClaimedBatch, claimedAtMs: number): Promise<void> => {
    const share = shareOf(batch);
    shares.set(share, (shares.get(share) ?? 0) + 1);
    turns++;
    devices += batch.deviceIds.length;
    try {
      const end = await runBatch(deps, batch, claimedAtMs, () => isStopping);
      if (end.kind === 'waiting') wakeAt(end.dueAtMs);
    } finally {
      turns--;
      devices -= batch.deviceIds.length;
      const left = (shares.get(share) ?? 1) - 1;
      if (left > 0) shares.set(share, left);
      else shares.delete(share);
    }
  };
  // What is due before the next look is not left to it.
  const wakeAt = (dueAtMs: number): void => {
    const waitMs = dueAtMs - deps.clock.nowMs();
    if (waitMs < lookEveryMs) setTimeout(() => loop.wake(), Math.max(0, Math.ceil(waitMs))).unref();
  };
  const loop = startWorkLoop({
    name,
    turnsMax,
    log: deps.log,
    isPaused: () => devices >= devicesMax || deps.isPaused(),
    async claim() {
      const claimedAtMs = deps.clock.steadyMs();
      const free = turnsMax - turns;
      const full = [...shares].filter(([, held]) => !mayHave(held, free)).map(([share]) => share);
      const batch = await claims.claim((claimId, takeOver) => ask(claimId, takeOver, full, [...shares.keys()]));
      return batch && (() => turn(batch, claimedAtMs));
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
