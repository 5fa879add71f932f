// Works one claimed batch: the devices still without an outcome are loaded, rendered and pushed together; outcomes go to the
// recorder as they come. Ends with the batch done, or handed back with a time, or lost to another process.
import { channelOfPlatform } from '../channels/channel.ts';
import { failpoint } from '../platform/failpoint.ts';
import { type ClaimedBatch, claimsMax } from './batch.ts';
import type { Attempt } from './delivery.ts';
import type { Leases } from './leases.ts';
import type { MessageWatches } from './message-watch.ts';
import { loadOpenDeliveries, type OpenDeliveries } from './open-deliveries.ts';
import type { Target } from './plan-push.ts';
import { type BatchWork, type PushAllDeps, pushAll } from './push-all.ts';
import type { PushResult } from './push-one.ts';
import { handBackBatch } from './queries.ts';
import { createRecorder, type Recorder, type RecorderDeps } from './record-outcomes.ts';
import { listTargets } from './targets.ts';

export interface RunDeps extends RecorderDeps, PushAllDeps {
  readonly leases: Leases;
  readonly watches: MessageWatches;
  /** Asked before every push, as a stop is: a pause lets what is on the wire end and hands the rest back. */
  readonly isPaused: () => boolean;
}

/** `done`: every delivery is final. `waiting`: handed back, and due then. `lost`: another process holds it, or will. */
export type BatchEnd = { readonly kind: 'done' | 'lost' } | { readonly kind: 'waiting'; readonly dueAtMs: number };

/**
 * `claimedAtMs`: `clock.steadyMs` before the claim was asked for. `isStopping` is asked before every push: a stop finishes what
 * is on the wire and hands the rest back.
 */
export async function runBatch(
  deps: RunDeps,
  batch: ClaimedBatch,
  claimedAtMs: number,
  isStopping: () => boolean,
): Promise<BatchEnd> {
  const startedAt = performance.now();
  const lease = deps.leases.hold(batch, claimedAtMs);
  const recorder = createRecorder(deps, batch, lease);
  const watch = deps.watches.watch(batch);
  let end: BatchEnd | undefined;
  try {
    await failpoint('batch.after_claim');
    const work: BatchWork = {
      batch,
      recorder,
      watch,
      lease,
      isStopping: () => isStopping() || deps.isPaused() || !lease.isHeld(),
    };
    const nextAtMs = await workBatch(deps, work);
    // What was canceled meanwhile ends now, not when its retries would be due.
    if (nextAtMs !== undefined) await watch.look();
    const dueAtMs = watch.isCanceled() ? deps.clock.nowMs() : nextAtMs;
    end = await closeBatch(deps, batch, recorder, nextAtMs === undefined ? undefined : dueAtMs);
    return end;
  } finally {
    watch.stop();
    // Whatever went wrong, what providers have answered is written.
    if (end === undefined) await recorder.close();
    lease.release();
    // The canonical line of a batch: one, with every id on it.
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

async function closeBatch(
  deps: RunDeps,
  batch: ClaimedBatch,
  recorder: Recorder,
  nextAtMs: number | undefined,
): Promise<BatchEnd> {
  if (!(await recorder.close())) return { kind: 'lost' };
  if (nextAtMs === undefined) return { kind: 'done' };
  const isHandedBack = await handBackBatch(deps.sql, batch, new Date(nextAtMs));
  return isHandedBack ? { kind: 'waiting', dueAtMs: nextAtMs } : { kind: 'lost' };
}

/** Returns when the batch must be looked at again, or undefined when every delivery is final. */
async function workBatch(deps: RunDeps, work: BatchWork): Promise<number | undefined> {
  const { batch, watch } = work;
  const open = await loadOpenDeliveries(deps.sql, batch);
  await watch.look();
  if (batch.skipReason !== null || watch.isCanceled()) {
    await endAll(deps, work, open, () => ({ kind: 'skipped', reason: batch.skipReason ?? 'canceled' }));
    return undefined;
  }
  if (batch.claims > claimsMax) {
    // Claimed again and again without an orderly end: the batch itself must be what ends its workers. Where its pushes may
    // have been on the wire, what nobody knows of them is that no answer came.
    deps.log.error({ batch_id: batch.id, message_id: batch.messageId, claims: batch.claims }, 'batch given up');
    const unknown = batch.pushed ? 'timeout' : 'unknown_error';
    await endAll(deps, work, open, (_target, attempts) => {
      return { kind: 'failed', code: attempts.at(-1)?.error_code ?? unknown, credentialId: null };
    });
    return undefined;
  }
  if (deps.clock.nowMs() >= batch.expiresAt.getTime()) {
    // The window of every channel has passed: nothing is compiled or rendered for what is not sent.
    await endAll(deps, work, open, ({ credentialId }) => ({ kind: 'failed', code: 'expired', credentialId }));
    return undefined;
  }
  return pushAll(deps, work, open);
}

/** Ends every open delivery alike, without a push; the batch is read no further than that needs. */
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
