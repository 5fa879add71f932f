// The send worker: claims batches and runs several at once. Paced batches have a loop of their own,
// so that neither kind waits for a turn of the other. NOTIFY and the lookout wake it, so losing
// LISTEN costs only latency.

import { joinLoops, startWorkLoop, type WorkLoop } from '../../ground/pacing/work-loop.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import { createClaims } from './claims.ts';
import { claimNextPacedBatch } from './pace-queries.ts';
import { claimExpiredBatch, claimNextBatch, type TakeOver } from './queries.ts';
import { type RunDeps, runBatch } from './run-batch.ts';

/** The most batches under way in the process, of all apps. */
export const batchesMax = 24;
/**
 * With two batches, the commit and load of one overlap the pushes of the other. More would only
 * wait for tokens.
 */
const batchesOfPacedMessageMax = 2;
/**
 * The number is high, because a paced batch mostly waits, at the cost of its lease and one look at
 * its message a second.
 */
const pacedBatchesMax = 64;
/**
 * The most devices of paced batches under way. It bounds memory while large batches have a turn.
 */
const pacedDevicesMax = 16_000;
/** The lookout wakes this worker in time for what is due later. */
const lookEveryMs = 1000;

/**
 * Whether an app that holds `held` turns may have another while `free` are free. An app's share
 * depends on the free turns, so that a new app finds a turn even while no batch ends. An app
 * alone gets eight turns. With pushes of 50 ms and 50,000 of them a second, it needs five for
 * batches that are claimed, loaded and committed, or that wait for their last answers.
 */
export function mayHaveAnother(held: number, free: number): boolean {
  return held < free / 2;
}

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startSendWorker(deps: RunDeps): WorkLoop {
  let lastAppId = firstAppId;
  /** When there was last no expired lease to take over. */
  let tookOverAtMs = Number.NEGATIVE_INFINITY;
  const { sql, clock } = deps;
  const unpaced = startBatchLoop(deps, {
    name: 'send',
    turnsMax: batchesMax,
    mayHave: mayHaveAnother,
    shareOf: (batch) => batch.appId,
    async ask(claimId, takeOver, fullAppIds) {
      if (takeOver !== 'none' && clock.steadyMs() - tookOverAtMs >= lookEveryMs) {
        const expired = await claimExpiredBatch(sql, clock, claimId, fullAppIds, takeOver);
        if (expired) return expired;
        tookOverAtMs = clock.steadyMs();
      }
      const batch = await claimNextBatch(sql, clock, lastAppId, claimId, fullAppIds, takeOver);
      if (batch) lastAppId = batch.appId;
      return batch;
    },
  });
  const paced = startBatchLoop(deps, {
    name: 'paced send',
    turnsMax: pacedBatchesMax,
    devicesMax: pacedDevicesMax,
    mayHave: (held) => held < batchesOfPacedMessageMax,
    shareOf: (batch) => batch.messageId,
    // The second batch of a message comes after the first batches of all others, because a message
    // whose turn is late loses tokens.
    ask: (claimId, takeOver, fullMessageIds, heldMessageIds) =>
      claimNextPacedBatch(sql, clock, claimId, fullMessageIds, heldMessageIds, takeOver),
  });
  return joinLoops([unpaced, paced]);
}

interface BatchLoop {
  readonly name: string;
  readonly turnsMax: number;
  /** No batch begins while this many devices are under way. Default: only `turnsMax` limits. */
  readonly devicesMax?: number;
  /** Whether an app or a message with `held` turns may have another while `free` are free. */
  readonly mayHave: (held: number, free: number) => boolean;
  readonly shareOf: (batch: ClaimedBatch) => Uuid;
  /**
   * `full`: apps or messages that have all the turns they may have. `held`: those that have any
   * turn.
   */
  readonly ask: (
    claimId: Uuid,
    takeOver: TakeOver,
    full: readonly Uuid[],
    held: readonly Uuid[],
  ) => Promise<ClaimedBatch | undefined>;
}

function startBatchLoop(deps: RunDeps, options: BatchLoop): WorkLoop {
  const { name, turnsMax, devicesMax = Number.POSITIVE_INFINITY, mayHave, shareOf, ask } = options;
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
  // Wakes the loop for a batch that is due before the next look.
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
    onStop() {
      isStopping = true;
    },
  });
  return loop;
}
