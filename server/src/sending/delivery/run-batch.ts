// Works one claimed batch: devices without a final outcome are loaded, rendered and pushed to, and
// outcomes go to the recorder as they come. At the end the batch is done, handed back with a time,
// or lost to another process. While the process lives, no batch has to wait for its lease to
// expire.

import { repeatUntilAnswered } from '@carillon/postgres';
import { failpoint } from '../../ground/host/failpoint.ts';
import { channelOfPlatform } from '../channels/channel.ts';
import { type ClaimedBatch, claimsMax } from './batch.ts';
import type { Attempt } from './delivery.ts';
import type { Lease, Leases } from './leases.ts';
import type { MessageWatches } from './message-watch.ts';
import { loadOpenDeliveries, type OpenDeliveries } from './open-deliveries.ts';
import type { OutageWatch } from './outage-watch.ts';
import type { Target } from './plan-push.ts';
import { type BatchWork, type PushAllDeps, pushAll } from './push-all.ts';
import type { PushResult } from './push-under-way.ts';
import { handBackAfterSetback, handBackBatch } from './queries.ts';
import { createRecorder, type RecorderDeps } from './record-outcomes.ts';
import { setbackOf, waitMsAfter } from './setback.ts';
import { listTargets } from './targets.ts';

export interface RunDeps extends RecorderDeps, PushAllDeps {
  readonly leases: Leases;
  readonly watches: MessageWatches;
  readonly outages: OutageWatch;
  /**
   * Asked before every push. A pause lets requests on the wire end and hands the rest back.
   */
  readonly isPaused: () => boolean;
}

/**
 * `done`: every delivery is final. `waiting`: handed back, and due at `dueAtMs`. `lost`: another
 * process holds the batch, or will.
 */
export type BatchEnd = { readonly kind: 'done' | 'lost' } | { readonly kind: 'waiting'; readonly dueAtMs: number };

/**
 * Works one batch. `claimedAtMs` is `clock.steadyMs` before the claim was sent. `isStopping` is
 * asked before every push: a stop finishes requests on the wire and hands the rest back.
 */
export async function runBatch(
  deps: RunDeps,
  batch: ClaimedBatch,
  claimedAtMs: number,
  isStopping: () => boolean,
): Promise<BatchEnd> {
  return runHeld(deps, batch, deps.leases.hold(batch, claimedAtMs), isStopping);
}

/**
 * Works the batches of one claim, one after the other. The leases of the waiting ones are renewed.
 */
export async function runBatches(
  deps: RunDeps,
  batches: readonly ClaimedBatch[],
  claimedAtMs: number,
  isStopping: () => boolean,
): Promise<void> {
  const held = batches.map((batch) => ({ batch, lease: deps.leases.hold(batch, claimedAtMs) }));
  try {
    for (const { batch, lease } of held) await runHeld(deps, batch, lease, isStopping);
  } finally {
    for (const { lease } of held) lease.end();
  }
}

async function runHeld(deps: RunDeps, batch: ClaimedBatch, lease: Lease, isStopping: () => boolean): Promise<BatchEnd> {
  const startedAt = performance.now();
  const { steps } = deps.clock;
  const watch = deps.watches.watch(batch);
  const work: BatchWork = {
    batch,
    recorder: createRecorder(deps, batch, lease),
    watch,
    lease,
    isStopping: () => isStopping() || deps.isPaused() || lease.isOver(),
  };
  let end: BatchEnd | undefined;
  try {
    end = await closeBatch(deps, work, await tryBatch(deps, work), () => deps.clock.steps !== steps);
    return end;
  } finally {
    watch.stop();
    lease.end();
    // The canonical line of a batch: one line with every id.
    deps.log.info(
      {
        app_id: batch.appId,
        message_id: batch.messageId,
        batch_id: batch.id,
        devices: batch.deviceIds.length,
        end: end?.kind ?? 'error',
        ms: Math.round(performance.now() - startedAt),
      },
      'batch worked',
    );
  }
}

/** The state in which one claim leaves a batch. */
type Left =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'open'; readonly nextAtMs: number }
  /** The batch could not be worked to its end. */
  | { readonly kind: 'unworked'; readonly error: unknown; readonly hasUnknownPushes: boolean };

async function tryBatch(deps: RunDeps, work: BatchWork): Promise<Left> {
  let hasPushed = false;
  try {
    await failpoint('batch.after_claim');
    const nextAtMs = await workBatch(deps, work, () => {
      hasPushed = true;
    });
    if (nextAtMs === undefined) return { kind: 'nothing' };
    // A message that was canceled meanwhile ends now, not when its retries are due. A failed look
    // must not count as a setback.
    await work.watch.look().catch((error: unknown) => deps.log.warn({ err: error }, 'message not looked at'));
    return { kind: 'open', nextAtMs: work.watch.isCanceled() ? deps.clock.nowMs() : nextAtMs };
  } catch (error) {
    // A push that failed in our own code may have reached its provider. A fault of the database
    // never costs a push its outcome.
    return { kind: 'unworked', error, hasUnknownPushes: hasPushed && setbackOf(error).kind === 'fault' };
  }
}

/** Ends the work on a batch. Whatever went wrong, the outcomes of its pushes are written first. */
async function closeBatch(
  deps: RunDeps,
  { batch, recorder }: BatchWork,
  tried: Left,
  hasStepped: () => boolean,
): Promise<BatchEnd> {
  const isWritten = await recorder.close();
  const { refusal } = recorder;
  const left: Left = refusal ? { kind: 'unworked', error: refusal.error, hasUnknownPushes: true } : tried;
  if (!isWritten && !refusal) return { kind: 'lost' };
  if (left.kind === 'nothing') return { kind: 'done' };
  if (left.kind === 'open') {
    // A time from before a step says nothing, so the batch is due at once and decided again.
    const isUnsure = hasStepped() || deps.clock.isInDoubt();
    const nextAtMs = isUnsure ? deps.clock.nowMs() : left.nextAtMs;
    const availableAt = isUnsure ? 'as before' : new Date(nextAtMs);
    const isHandedBack = await untilSaid(deps, batch, () => handBackBatch(deps.sql, deps.clock, batch, availableAt));
    return isHandedBack ? { kind: 'waiting', dueAtMs: nextAtMs } : { kind: 'lost' };
  }
  return putOff(deps, batch, left);
}

async function putOff(
  deps: RunDeps,
  batch: ClaimedBatch,
  { error, hasUnknownPushes }: Extract<Left, { kind: 'unworked' }>,
): Promise<BatchEnd> {
  const setback = setbackOf(error);
  const nowMs = deps.clock.nowMs();
  const waitMs = waitMsAfter(setback, {
    setbacks: batch.setbacks,
    windowLeftMs: batch.expiresAt.getTime() - nowMs,
    random: deps.random(),
  });
  const fields = { err: error, batch_id: batch.id, message_id: batch.messageId, wait_ms: Math.round(waitMs) };
  if (setback.kind === 'fault') deps.log.error({ ...fields, fault: setback.fault }, 'batch not worked');
  else deps.log.warn(fields, 'batch not worked, for the database is slow or away');
  const dueAtMs = nowMs + waitMs;
  const fault = setback.kind === 'fault' ? setback.fault : null;
  const handBack = { availableAt: new Date(dueAtMs), fault, hasUnknownPushes };
  const isHandedBack = await untilSaid(deps, batch, () => handBackAfterSetback(deps.sql, batch, handBack));
  return isHandedBack ? { kind: 'waiting', dueAtMs } : { kind: 'lost' };
}

/** Repeats the hand-back until the database confirms it, or says that the claim is another's. */
function untilSaid(deps: RunDeps, batch: ClaimedBatch, handBack: () => Promise<boolean>): Promise<boolean> {
  return repeatUntilAnswered(handBack, (error, attempt) =>
    deps.log.warn({ err: error, batch_id: batch.id, attempt }, 'batch not handed back, trying again'),
  );
}

/**
 * Resolves with the time at which the batch is due again; undefined when every delivery is final.
 */
async function workBatch(deps: RunDeps, work: BatchWork, onPushing: () => void): Promise<number | undefined> {
  const { batch, watch } = work;
  // The batch may be due only because a clock was set forward.
  if (deps.clock.isInDoubt()) return batch.dueAt.getTime();
  const open = await loadOpenDeliveries(deps.sql, batch);
  await watch.look();
  if (batch.skipReason !== null || watch.isCanceled()) {
    await endAll(deps, work, open, () => ({ kind: 'skipped', reason: batch.skipReason ?? 'canceled' }));
    return undefined;
  }
  if (batch.claims > claimsMax || batch.faults >= claimsMax) {
    // The batch's processes died, or met the same fault, again and again. So the batch itself must
    // be the reason. When its pushes may have been on the wire, its deliveries end as
    // `timeout`, because no answer came.
    const { id, messageId, claims, faults } = batch;
    deps.log.error({ batch_id: id, message_id: messageId, claims, faults }, 'batch given up');
    const unknown = batch.pushed ? 'timeout' : 'unknown_error';
    await endAll(deps, work, open, (_target, attempts) => {
      return { kind: 'failed', code: attempts.at(-1)?.error_code ?? unknown, credentialId: null };
    });
    return undefined;
  }
  if (deps.clock.nowMs() >= batch.expiresAt.getTime()) {
    // The window of every channel has passed, so nothing is compiled or rendered.
    await endAll(deps, work, open, ({ credentialId }) => ({ kind: 'failed', code: 'expired', credentialId }));
    return undefined;
  }
  return pushAll(deps, work, open, onPushing);
}

/** Ends every open delivery in the same way, without a push, and reads only the needed columns. */
async function endAll(
  deps: RunDeps,
  { batch, recorder }: BatchWork,
  open: OpenDeliveries,
  resultOf: (target: Target, attempts: readonly Attempt[]) => Extract<PushResult, { kind: 'skipped' | 'failed' }>,
): Promise<void> {
  for (const target of await listTargets(deps.sql, batch.appId, open.deviceIds, [])) {
    const attempts = open.attemptsOf(target.deviceId);
    await recorder.add(target, channelOfPlatform[target.platform], attempts, resultOf(target, attempts));
  }
}
