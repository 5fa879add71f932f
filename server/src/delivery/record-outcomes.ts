// Writes what deliveries came to: every 500 ms at the latest, in bulk. One transaction, fenced by the claim, holds outcomes,
// batch progress, message counters and early receipts; a second one, which may be repeated, holds what the outcomes say of
// devices and credentials.
import type { ChannelId } from '../channels/channel.ts';
import type { ErrorCode } from '../channels/error-code.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { refundUsage } from '../quotas/queries.ts';
import type { AnswerForms } from './answer-forms.ts';
import { type ClaimedBatch, flushEveryMs } from './batch.ts';
import { type Attempt, channelNumber, errorNumber, type Mark, skipNumber, statusNumber } from './delivery.ts';
import type { Lease } from './leases.ts';
import type { MessageLedger, MessageProgress } from './message-ledger.ts';
import type { PushResult, Target } from './push-one.ts';
import {
  addBatchMarks,
  advanceBatch,
  type DeliveryRow,
  listRecorded,
  markDelivery,
  takeEarlyReceipts,
  upsertDeliveries,
} from './queries.ts';
import { recordVerdicts, type Verdict } from './record-verdicts.ts';

export interface RecorderDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly forms: AnswerForms;
  readonly ledger: MessageLedger;
}

/** One delivery's outcome on its way to the database. */
interface Item {
  readonly row: DeliveryRow;
  readonly channel: ChannelId;
  readonly final: 'sent' | 'failed' | 'skipped' | null;
  readonly code: string | null;
  readonly verdict: Verdict | null;
}

export interface Recorder {
  /** Takes a result; `deferred` ones leave no trace. */
  add(
    target: Target,
    channel: ChannelId,
    before: readonly Attempt[],
    result: Exclude<PushResult, { kind: 'deferred' }>,
  ): Promise<void>;
  /** Writes what is left. False: the claim was lost, and what had not been written is dropped. */
  close(): Promise<boolean>;
}

const retryFlushMs = 250;

export function createRecorder(deps: RecorderDeps, batch: ClaimedBatch, lease: Lease): Recorder {
  let pending: Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let isLost = false;

  // Flushes of one batch follow each other; a failed one is repeated with the same items until the lease is gone.
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(async () => {
      const items = pending;
      pending = [];
      if (items.length === 0 || isLost) return;
      for (let attempt = 1; ; attempt++) {
        try {
          if (!(await commit(deps, batch, items, attempt > 1))) isLost = true;
          break;
        } catch (error) {
          deps.log.warn(
            { err: error, batch_id: batch.id, items: items.length },
            'outcomes not committed, trying again',
          );
          if (!lease.isHeld()) {
            isLost = true;
            break;
          }
          await new Promise((resolve) => setTimeout(resolve, retryFlushMs * Math.min(attempt, 8)));
        }
      }
      if (!isLost) await judge(deps, batch, items);
    });
    return flushing;
  };

  return {
    async add(target, channel, before, result) {
      const item = await toItem(deps, batch, target, channel, before, result);
      if (item.final === 'failed') logFailure(deps.log, batch, item);
      pending.push(item);
      timer ??= setTimeout(() => void flush(), flushEveryMs);
    },
    async close() {
      await flush();
      await flushing;
      return !isLost;
    },
  };
}

async function toItem(
  deps: RecorderDeps,
  batch: ClaimedBatch,
  target: Target,
  channel: ChannelId,
  before: readonly Attempt[],
  result: Exclude<PushResult, { kind: 'deferred' }>,
): Promise<Item> {
  const judged = { deviceId: target.deviceId, registeredAtMs: target.registeredAtMs, goneAtMs: null };
  const row = {
    deviceId: target.deviceId,
    userId: target.userId,
    doneAtMs: deps.clock.nowMs(),
    channel: channelNumber(channel),
    latencyMs: null,
    credentialId: null,
    errorCode: null,
    attempts: before.length,
    providerStatus: null,
    form: null,
    providerRef: null,
    urls: null,
    timeline: before.length > 0 ? JSON.stringify(before) : null,
  };
  if (result.kind === 'skipped') {
    const { reason } = result;
    return {
      row: { ...row, status: statusNumber('skipped'), errorCode: skipNumber(reason) },
      channel,
      final: 'skipped',
      code: reason,
      verdict: null,
    };
  }
  if (result.kind === 'failed') {
    const { code, credentialId } = result;
    return {
      row: { ...row, status: statusNumber('failed'), errorCode: errorNumber(code), credentialId },
      channel,
      final: 'failed',
      code,
      // Keys that cannot be used are as good as a provider's word that the token is none (contract 7.6).
      verdict:
        code === 'invalid_token' && credentialId !== null
          ? { ...judged, credentialId, errorCode: code, reason: null, isLocal: true }
          : null,
    };
  }
  const { outcome, attempt, credentialId, urls } = result;
  const attempted = {
    ...row,
    doneAtMs: Date.parse(attempt.at) + attempt.latency_ms,
    latencyMs: attempt.latency_ms,
    credentialId,
    attempts: attempt.attempt,
    providerStatus: outcome.provider?.httpStatus ?? null,
    urls,
    timeline: JSON.stringify([...before, attempt]),
  };
  if (outcome.kind === 'sent') {
    const stored = await deps.forms.store(batch.appId, credentialId, outcome.provider, outcome.providerMessageId);
    // A first-attempt success of a known form needs no timeline: form and reference say all of it.
    const timeline = stored.form !== null && before.length === 0 ? null : attempted.timeline;
    return {
      row: { ...attempted, status: statusNumber('sent'), form: stored.form, providerRef: stored.ref, timeline },
      channel,
      final: 'sent',
      code: null,
      verdict: { ...judged, credentialId, errorCode: null, reason: null, isLocal: false },
    };
  }
  const isRetry = attempt.outcome === 'retry';
  return {
    row: {
      ...attempted,
      status: statusNumber(isRetry ? 'retrying' : 'failed'),
      errorCode: errorNumber(outcome.errorCode as ErrorCode),
    },
    channel,
    final: isRetry ? null : 'failed',
    code: outcome.errorCode,
    verdict: { ...judged, credentialId, errorCode: outcome.errorCode, reason: outcome.reason, isLocal: false },
  };
}

// The one transaction. False: the claim is another's, and nothing was written.
async function commit(
  deps: RecorderDeps,
  batch: ClaimedBatch,
  given: readonly Item[],
  isRepeat: boolean,
): Promise<boolean> {
  const { sql, clock, ledger } = deps;
  return transaction<boolean>(sql, async (tx, rollback) => {
    const items = isRepeat ? await leaveOutCommitted(tx, batch, given) : given;
    const counts = { sent: 0, failed: 0, skipped: 0 };
    for (const item of items) if (item.final) counts[item.final]++;
    if (!(await advanceBatch(tx, clock, batch, counts))) return rollback(false);
    if (items.length === 0) return true;
    await upsertDeliveries(
      tx,
      batch.id,
      items.map((item) => item.row),
    );
    await applyEarlyReceipts(tx, batch.id, items);
    if (counts.sent + counts.failed + counts.skipped === 0) return true;
    // The message's row last: it is the one that batches of one message share, and its lock ends with the commit.
    const progress = await ledger.advance(tx, batch.appId, batch.messageId, countOutcomes(items));
    const refund = refundOf(progress, counts.skipped);
    if (refund > 0 && progress.chargedMonth) await refundUsage(tx, batch.appId, progress.chargedMonth, refund);
    return true;
  });
}

// A commit whose answer was lost may have happened: what it wrote must not be counted again.
async function leaveOutCommitted(tx: Tx, batch: ClaimedBatch, items: readonly Item[]): Promise<readonly Item[]> {
  const recorded = new Map((await listRecorded(tx as Sql, batch.id)).map((row) => [row.deviceId, row]));
  return items.filter((item) => {
    const row = recorded.get(item.row.deviceId);
    return row === undefined || (row.status === statusNumber('retrying') && row.attempts < item.row.attempts);
  });
}

function countOutcomes(items: readonly Item[]) {
  const byChannel = new Map<ChannelId, { sent: number; failed: number; skipped: number }>();
  const byCode: Record<string, number> = {};
  for (const { channel, final, code } of items) {
    if (!final) continue;
    const counts = byChannel.get(channel) ?? { sent: 0, failed: 0, skipped: 0 };
    counts[final]++;
    byChannel.set(channel, counts);
    if (code !== null) byCode[code] = (byCode[code] ?? 0) + 1;
  }
  return { byChannel, byCode };
}

// Skipped deliveries are given back as they are recorded; a plan that counts messages gives its one unit back only when
// nothing of the message was tried (contract 4).
function refundOf(progress: MessageProgress, skipped: number): number {
  if (progress.chargedUnits === progress.accepted) return skipped;
  return progress.isFinished && progress.attempted === 0 ? progress.chargedUnits : 0;
}

async function applyEarlyReceipts(tx: Tx, batchId: Uuid, items: readonly Item[]): Promise<void> {
  const receipts = await takeEarlyReceipts(
    tx,
    batchId,
    items.map((item) => item.row.deviceId),
  );
  if (receipts.length === 0) return;
  const marks: Record<Mark, number> = { displayed: 0, clicked: 0, dismissed: 0 };
  for (const receipt of receipts) if (await markDelivery(tx, batchId, receipt)) marks[receipt.mark]++;
  await addBatchMarks(tx, batchId, marks);
}

async function judge(deps: RecorderDeps, batch: ClaimedBatch, items: readonly Item[]): Promise<void> {
  const verdicts = items.flatMap((item) => (item.verdict ? [item.verdict] : []));
  try {
    await repeatOnDeadlock(() => recordVerdicts(deps, batch.appId, verdicts));
  } catch (error) {
    // Not lost for good: a dead device is found dead again by the next message.
    deps.log.error({ err: error, batch_id: batch.id }, 'devices and credentials not judged');
  }
}

function logFailure(log: Log, batch: ClaimedBatch, item: Item): void {
  const { deviceId, attempts, providerStatus, latencyMs } = item.row;
  log.info(
    {
      app_id: batch.appId,
      message_id: batch.messageId,
      batch_id: batch.id,
      device_id: deviceId,
      channel: item.channel,
      error_code: item.code,
      attempts,
      provider_status: providerStatus,
      latency_ms: latencyMs,
    },
    'delivery failed',
  );
}
