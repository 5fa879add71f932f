// Works one claimed batch: the devices still without an outcome are loaded, rendered and pushed together; outcomes go to the
// recorder as they come. Ends with the batch done, or handed back with a time, or lost to another process.
import type { Credentials } from '../apps/credentials.ts';
import { channelOfPlatform } from '../channels/channel.ts';
import { failpoint } from '../platform/failpoint.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { type ClaimedBatch, claimsMax } from './batch.ts';
import type { CompiledMessages } from './compiled-messages.ts';
import { type Attempt, statusOfNumber } from './delivery.ts';
import type { Leases } from './leases.ts';
import { type BatchContext, type PushDeps, type PushResult, pushOne, type Target } from './push-one.ts';
import type { PushSlots } from './push-slots.ts';
import { handBackBatch, listRecorded } from './queries.ts';
import { receiptTokensOf } from './receipt-token.ts';
import { createRecorder, type Recorder, type RecorderDeps } from './record-outcomes.ts';
import { listTargets } from './targets.ts';

export interface RunDeps extends RecorderDeps, PushDeps {
  readonly credentials: Credentials;
  readonly leases: Leases;
  readonly slots: PushSlots;
  readonly compiled: CompiledMessages;
  /** The key that receipt tokens are signed with. */
  readonly receiptKey: Buffer;
  readonly publicUrl: string | null;
}

/** `done`: every delivery is final. `waiting`: handed back. `lost`: another process holds it, or will. */
export type BatchEnd = 'done' | 'waiting' | 'lost';

/**
 * `claimedAt`: `performance.now()` before the claim was asked for. `isStopping` is asked before every push: a stop finishes what
 * is on the wire and hands the rest back.
 */
export async function runBatch(
  deps: RunDeps,
  batch: ClaimedBatch,
  claimedAt: number,
  isStopping: () => boolean,
): Promise<BatchEnd> {
  const startedAt = performance.now();
  const lease = deps.leases.hold(batch.claimId, claimedAt);
  const recorder = createRecorder(deps, batch, lease);
  const watch = watchMessage(deps, batch);
  let end: BatchEnd | undefined;
  try {
    await failpoint('batch.after_claim');
    const work: BatchWork = { batch, recorder, watch, isStopping: () => isStopping() || !lease.isHeld() };
    const nextAtMs = await pushAll(deps, work);
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
        end: end ?? 'error',
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
  if (!(await recorder.close())) return 'lost';
  if (nextAtMs === undefined) return 'done';
  return (await handBackBatch(deps.sql, batch, new Date(nextAtMs))) ? 'waiting' : 'lost';
}

/** What the parts of one run share. */
interface BatchWork {
  readonly batch: ClaimedBatch;
  readonly recorder: Recorder;
  readonly watch: MessageWatch;
  readonly isStopping: () => boolean;
}

/** Returns when the batch must be looked at again, or undefined when every delivery is final. */
async function pushAll(deps: RunDeps, work: BatchWork): Promise<number | undefined> {
  const { batch, recorder, watch, isStopping } = work;
  const before = await loadBefore(deps, batch);
  const pending = batch.deviceIds.filter((deviceId) => before.get(deviceId) !== 'final');
  const attemptsOf = (deviceId: Uuid): readonly Attempt[] => {
    const known = before.get(deviceId);
    return known === undefined || known === 'final' ? [] : known;
  };
  await watch.look();
  if (watch.isCanceled()) {
    await endAll(deps, work, pending, attemptsOf, () => ({ kind: 'skipped', reason: 'canceled' }));
    return undefined;
  }
  if (batch.claims > claimsMax) {
    // Claimed again and again without an orderly end: the batch itself must be what ends its workers.
    deps.log.error({ batch_id: batch.id, message_id: batch.messageId, claims: batch.claims }, 'batch given up');
    await endAll(deps, work, pending, attemptsOf, (attempts) => {
      const code = attempts.at(-1)?.error_code ?? 'unknown_error';
      return { kind: 'failed', code, credentialId: null };
    });
    return undefined;
  }

  const message = await deps.compiled.get(batch.appId, batch.messageId);
  const targets = await listTargets(deps.sql, batch.appId, pending, message.columns);
  const context: BatchContext = {
    batch,
    messageId: encodeId('msg', batch.messageId),
    content: message.content,
    defaultUrl: message.defaultUrl,
    credentials: await deps.credentials.open(batch.appId),
    tokenOf: receiptTokensOf(deps.receiptKey, batch.messageId, batch.id),
    publicUrl: deps.publicUrl,
  };

  let nextAtMs: number | undefined;
  const lookAgainAt = (atMs: number): void => {
    nextAtMs = Math.min(nextAtMs ?? Number.POSITIVE_INFINITY, atMs);
  };
  const settle = async (target: Target, attempts: readonly Attempt[], result: PushResult): Promise<void> => {
    if (result.kind === 'deferred') return lookAgainAt(result.untilMs);
    if (result.kind === 'attempted' && result.attempt.retry_at) lookAgainAt(Date.parse(result.attempt.retry_at));
    await recorder.add(target, channelOfPlatform[target.platform], attempts, result);
  };

  const failures: unknown[] = [];
  const underWay: Promise<void>[] = [];
  const left = [...targets];
  for (let target = left.shift(); target; target = left.shift()) {
    if (isStopping()) {
      lookAgainAt(deps.clock.nowMs());
      break;
    }
    const attempts = attemptsOf(target.deviceId);
    if (watch.isCanceled()) {
      await settle(target, attempts, { kind: 'skipped', reason: 'canceled' });
      continue;
    }
    const retryAt = attempts.at(-1)?.retry_at;
    if (retryAt && Date.parse(retryAt) > deps.clock.nowMs()) {
      lookAgainAt(Date.parse(retryAt));
      continue;
    }
    const wait = deps.slots.take();
    if (wait) {
      await wait;
      // Much may have happened while it waited: the loop's questions are asked again, with the slot given back.
      if (isStopping() || watch.isCanceled()) {
        deps.slots.give();
        left.unshift(target);
        continue;
      }
    }
    underWay.push(
      pushOne(deps, context, target, attempts)
        .then((result) => settle(target, attempts, result))
        // A push that fails in our own code ends neither the others nor the process; the batch is claimed again for it.
        .catch((error: unknown) => void failures.push(error))
        .finally(() => deps.slots.give()),
    );
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
  return nextAtMs;
}

/** Ends every pending delivery alike, without a push; the batch is read no further than that needs. */
async function endAll(
  deps: RunDeps,
  { batch, recorder }: BatchWork,
  pending: readonly Uuid[],
  attemptsOf: (deviceId: Uuid) => readonly Attempt[],
  resultOf: (attempts: readonly Attempt[]) => Extract<PushResult, { kind: 'skipped' | 'failed' }>,
): Promise<void> {
  for (const target of await listTargets(deps.sql, batch.appId, pending, [])) {
    const attempts = attemptsOf(target.deviceId);
    await recorder.add(target, channelOfPlatform[target.platform], attempts, resultOf(attempts));
  }
}

type Before = ReadonlyMap<Uuid, 'final' | readonly Attempt[]>;

async function loadBefore(deps: RunDeps, batch: ClaimedBatch): Promise<Before> {
  const before = new Map<Uuid, 'final' | readonly Attempt[]>();
  for (const row of await listRecorded(deps.sql, batch.id)) {
    before.set(row.deviceId, statusOfNumber(row.status) === 'retrying' ? (row.timeline ?? []) : 'final');
  }
  return before;
}

/** Whether a message still wants to be sent, asked at the start of a batch and once a second while it runs. */
interface MessageWatch {
  isCanceled(): boolean;
  look(): Promise<void>;
  stop(): void;
}

const watchEveryMs = 1000;

function watchMessage(deps: RunDeps, { appId, messageId }: ClaimedBatch): MessageWatch {
  let isCanceled = false;
  const look = async (): Promise<void> => {
    isCanceled ||= !(await deps.ledger.isSending(deps.sql, appId, messageId));
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => deps.log.warn({ err: error }, 'message not looked at'));
  }, watchEveryMs);
  return { isCanceled: () => isCanceled, look, stop: () => clearInterval(timer) };
}
