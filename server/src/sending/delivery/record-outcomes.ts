// Writes the outcomes of deliveries in bulk, at the latest every 500 ms. One transaction, fenced by
// the claim, holds outcomes, batch progress, message counters and early receipts. Verdicts on
// devices and credentials go to the verdict book.

import {
  isDatabaseAway,
  isDatabaseState,
  repeatUntilAnswered,
  type Sql,
  type Tx,
  transaction,
} from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import { type Log, plainLog } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { insertPeopleChange } from '../../people/devices/link-queries.ts';
import type { ChannelId } from '../channels/channel.ts';
import { emit, type Happening } from '../webhooks/emit.ts';
import type { OutboxTeller } from '../webhooks/tell-outbox.ts';
import type { AnswerForms } from './answer-forms.ts';
import type { ClaimedBatch } from './batch.ts';
import { emitClick } from './click-event.ts';
import { type Attempt, type Mark, statusNumber } from './delivery.ts';
import { kindsOf } from './delivery-kinds.ts';
import type { DeliveryRow } from './delivery-row.ts';
import type { FlushPace } from './flush-pace.ts';
import type { Lease } from './leases.ts';
import { finishedTopic, type MessageAdvance, type MessageLedger, type OutcomeCounts } from './message-ledger.ts';
import type { OutcomeBacklog, Unwritten } from './outcome-backlog.ts';
import {
  copyDeliveries,
  type EarlyReceipt,
  listEarlyDevices,
  listRecorded,
  markDelivery,
  takeEarlyReceipts,
  upsertDeliveries,
} from './outcome-queries.ts';
import { type OutcomeItem, toOutcomeItem } from './outcome-row.ts';
import { totalOutcomes } from './outcome-totals.ts';
import type { Target } from './plan-push.ts';
import type { PushResult } from './push-under-way.ts';
import { addBatchMarks, advanceBatch, lockClaimedBatch } from './queries.ts';
import { addDeltas } from './totals-queries.ts';
import type { VerdictBook } from './verdict-book.ts';

export interface RecorderDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly forms: AnswerForms;
  readonly ledger: MessageLedger;
  readonly flushPace: FlushPace;
  /** The unwritten outcomes of this process. No push begins while they are too old or too many. */
  readonly backlog: OutcomeBacklog;
  /** Takes the verdicts of committed outcomes. */
  readonly verdicts: VerdictBook;
  /** Tells webhooks what was committed. */
  readonly outbox: OutboxTeller;
  /** Tells callers that wait for the end of a message. */
  readonly teller: Pick<Teller, 'tell'>;
  /**
   * Called with the committed outcomes. `hasEnded`: the last delivery of the message is among them.
   */
  readonly noteOutcomes: (counts: OutcomeCounts, hasEnded: boolean) => void;
}

export interface Recorder {
  /** Takes a result, nearly always without a promise. A `deferred` result is not recorded. */
  add(
    target: Target,
    channel: ChannelId,
    before: readonly Attempt[],
    result: Exclude<PushResult, { kind: 'deferred' }>,
  ): Promise<void> | undefined;
  /**
   * While no further push may begin, because a kill would repeat it or there is no room for its
   * outcome: resolves when that may have changed. Undefined otherwise.
   */
  behind(): Promise<void> | undefined;
  /**
   * Writes the remaining outcomes, however long the database does not answer. False: the unwritten
   * outcomes are dropped, because the claim is lost or `refusal` is set.
   */
  close(): Promise<boolean>;
  /** The database's final refusal of outcomes, except by the fence. */
  readonly refusal: { readonly error: unknown } | undefined;
}

export function createRecorder(deps: RecorderDeps, batch: ClaimedBatch, lease: Lease): Recorder {
  const { backlog } = deps;
  let pending: OutcomeItem[] = [];
  /** The backlog's entries for the pending outcomes and for those of the running flush. */
  let gathering: Unwritten | undefined;
  let writing: Unwritten | undefined;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();
  let isRefused = false;
  let refusal: { readonly error: unknown } | undefined;
  let failureLog: Log | undefined;

  // The only place where outcomes are dropped. The batch's pushes end too, because their outcomes
  // could not be written.
  const refuse = (error?: unknown): void => {
    isRefused = true;
    if (error !== undefined) refusal = { error };
    lease.end();
  };

  const write = async (items: readonly OutcomeItem[], dueAt: number): Promise<void> => {
    try {
      if (await commitUntilKnown(deps, batch, lease, items)) noteVerdicts(deps, batch, items);
      else refuse();
    } catch (error) {
      deps.log.error({ err: error, batch_id: batch.id, items: items.length }, 'outcomes given up');
      refuse(error);
    }
    deps.flushPace.note(performance.now() - dueAt);
  };

  // Flushes of one batch follow each other. `dueAt` is the time when the oldest outcome has waited
  // long enough, by `performance.now()`.
  const flush = (dueAt: number): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(async () => {
      const items = pending;
      pending = [];
      if (items.length === 0) return;
      [writing, gathering] = [gathering, undefined];
      if (!isRefused) await write(items, dueAt);
      writing?.end();
      writing = undefined;
    });
    return flushing;
  };

  const take = (item: OutcomeItem, cameAt?: number): void => {
    if (item.final === 'failed') {
      failureLog ??= plainLog(deps.log, { app_id: batch.appId, message_id: batch.messageId, batch_id: batch.id });
      logFailure(failureLog, item);
    }
    const now = performance.now();
    pending.push(item);
    gathering ??= backlog.begin(cameAt ?? now);
    gathering.add();
    if (timer !== undefined) return;
    const dueAt = (cameAt ?? now) + deps.flushPace.waitMs;
    timer = setTimeout(() => void flush(dueAt), Math.max(0, dueAt - now));
  };

  return {
    add(target, channel, before, result) {
      const item = toOutcomeItem(deps, batch, target, channel, before, result);
      if (item instanceof Promise) {
        const cameAt = performance.now();
        const unready = backlog.begin(cameAt);
        return item.then((later) => take(later, cameAt)).finally(() => unready.end());
      }
      take(item);
      return undefined;
    },
    behind: () => backlog.untilRoom(deps.flushPace.unwrittenMsMax, (writing ?? gathering)?.sinceMs),
    async close() {
      await flush(performance.now());
      await deps.verdicts.untilRoom();
      return !isRefused;
    },
    get refusal() {
      return refusal;
    },
  };
}

/**
 * Commits, and repeats the commit while the database is away or slow. The fence makes a late commit
 * safe, so age is no reason to drop an outcome. False: the fence refuses. Any other refusal
 * is final and rejects.
 */
function commitUntilKnown(
  deps: RecorderDeps,
  batch: ClaimedBatch,
  lease: Lease,
  items: readonly OutcomeItem[],
): Promise<boolean> {
  return repeatUntilAnswered(
    async (attempt) => {
      const isCommitted = await commitOrRenew(deps, batch, lease, items, attempt > 1);
      if (isCommitted) await failpoint('outcomes.after_commit');
      return isCommitted;
    },
    (error, attempt) =>
      deps.log.warn(
        { err: error, batch_id: batch.id, items: items.length, attempt },
        'outcomes not committed, trying again',
      ),
  );
}

// The failed try locked the batch's row for as long as a statement may take, and the heartbeat
// skips locked rows. So the lease is renewed before the next try locks the row again.
async function commitOrRenew(
  deps: RecorderDeps,
  batch: ClaimedBatch,
  lease: Lease,
  items: readonly OutcomeItem[],
  isRepeat: boolean,
): Promise<boolean> {
  try {
    return await commit(deps, batch, lease, items, isRepeat);
  } catch (error) {
    if (isDatabaseState(error) && !isDatabaseAway(error)) await lease.renew();
    throw error;
  }
}

// The transaction. False: another process holds the claim, and nothing was written.
async function commit(
  deps: RecorderDeps,
  batch: ClaimedBatch,
  lease: Lease,
  given: readonly OutcomeItem[],
  isRepeat: boolean,
): Promise<boolean> {
  const { sql, clock, ledger, noteOutcomes } = deps;
  const begunAtMs = clock.steadyMs();
  let isRenewed = false;
  let advance: MessageAdvance | undefined;
  const toTell = new Set<Uuid>();
  const isCommitted = await transaction<boolean>(sql, async (tx, rollback, atEnd) => {
    // On a repeat the fence comes first. It waits for the earlier commit, whose answer was lost, so
    // that its rows are visible afterwards.
    if (isRepeat && !(await lockClaimedBatch(tx, batch))) return rollback(false);
    const items = isRepeat ? await leaveOutCommitted(tx, batch, given) : given;
    const counts = { sent: 0, failed: 0, skipped: 0 };
    for (const item of items) if (item.final) counts[item.final]++;
    const progress = await advanceBatch(tx, clock, batch, counts, kindsOf(items));
    if (!progress) return rollback(false);
    isRenewed = progress.isRenewed;
    if (items.length === 0) return true;
    await writeDeliveries(tx, batch.id, items);
    const marked = await applyEarlyReceipts(deps, tx, batch, items, toTell);
    const late = findLate(items, marked, clock.nowMs() - onTimeMs);
    if (late.length > 0) await insertPeopleChange(tx, clock, batch.appId, late);
    if (counts.sent + counts.failed + counts.skipped === 0) return true;
    if (counts.sent + counts.failed > 0) {
      const told = await emit(tx, clock, batch.appId, () => happeningsOf(batch, items));
      for (const id of told) toTell.add(id);
    }
    await failpoint('outcomes.before_commit');
    // Other processes write these rows too, so they are written together with the COMMIT. If this
    // process stops here, no other flush waits.
    advance = ledger.advance(tx, batch.appId, batch.messageId, countOutcomes(items), progress.isDone);
    // Appended rows lock nothing that another flush waits for, so they cost no round trip of their
    // own.
    const totals = totalOutcomes(items);
    atEnd([...(totals.length > 0 ? [addDeltas(tx, batch.appId, totals)] : []), ...advance.statements]);
    return true;
  });
  if (isCommitted && isRenewed) lease.noteRenewed(begunAtMs);
  if (isCommitted && toTell.size > 0) deps.outbox.note(batch.appId, [...toTell]);
  if (!isCommitted) return false;
  const hasEnded = (await advance?.hasEnded()) ?? false;
  if (hasEnded) deps.teller.tell(finishedTopic, batch.messageId);
  // On a repeat the counts include what the earlier commit had written, because its answer was
  // lost.
  noteOutcomes(countOutcomes(given), hasEnded);
  return true;
}

/** From this number of rows on, COPY with its extra round trip costs less than an INSERT. */
const copyFrom = 32;

// Writes the rows. A device is pushed to once per claim, and rows of earlier claims were read at
// the start. So a row exists exactly when there were earlier attempts.
async function writeDeliveries(tx: Tx, batchId: Uuid, items: readonly OutcomeItem[]): Promise<void> {
  const rowsOf = (some: readonly OutcomeItem[]): DeliveryRow[] => some.map((item) => item.row);
  if (items.length < copyFrom) return upsertDeliveries(tx, batchId, rowsOf(items));
  // Sorted by the key, so that pages of the index are filled one after the other and not split.
  await copyDeliveries(tx, batchId, rowsOf(items.filter((item) => item.isNew)).sort(byDevice));
  const known = items.filter((item) => !item.isNew);
  if (known.length > 0) await upsertDeliveries(tx, batchId, rowsOf(known));
}

function byDevice(one: DeliveryRow, other: DeliveryRow): number {
  return one.deviceId < other.deviceId ? -1 : 1;
}

const reasonLengthMax = 200;

/** Attribution waits this long for outcomes; later ones are recorded in `people_changes`. */
const onTimeMs = 60_000;

// The devices and users whose send or click is older than `beforeMs`. A delivery with earlier
// attempts may have been clicked before it was sent, and that click counts only now.
function findLate(items: readonly OutcomeItem[], marked: readonly EarlyReceipt[], beforeMs: number): Uuid[] {
  const ids: Uuid[] = [];
  for (const { final, isNew, row } of items) {
    if (final !== 'sent') continue;
    const { deviceId, userId, doneAtMs } = row;
    const isLate = !isNew || doneAtMs < beforeMs || marked.some((one) => isLateClick(one, deviceId, beforeMs));
    if (isLate) ids.push(deviceId);
    if (isLate && userId !== null) ids.push(userId);
  }
  return ids;
}

function isLateClick({ mark, at, ...receipt }: EarlyReceipt, deviceId: Uuid, beforeMs: number): boolean {
  return mark === 'clicked' && receipt.deviceId === deviceId && at.getTime() < beforeMs;
}

// The events of deliveries that were sent or failed, once each and at their end. A skip is no event
// (contract 7.6).
function happeningsOf(batch: ClaimedBatch, items: readonly OutcomeItem[]): Happening[] {
  return items.flatMap(({ row, final, code, externalId, providerReason }): Happening[] => {
    if (final !== 'sent' && final !== 'failed') return [];
    const { deviceId, channel, doneAtMs, providerStatus, attempts } = row;
    const happened = { messageId: batch.messageId, deviceId, channel, atMs: doneAtMs };
    if (final === 'sent') return [{ ...happened, kind: 'message.sent', errorCode: null, details: null }];
    const details = {
      external_id: externalId,
      provider_status: providerStatus,
      provider_reason: providerReason?.slice(0, reasonLengthMax) ?? null,
      attempts,
    };
    return [{ ...happened, kind: 'message.failed', errorCode: code, details }];
  });
}

// Removes outcomes that an earlier commit may have written without an answer, so that none is
// counted twice.
async function leaveOutCommitted(
  tx: Tx,
  batch: ClaimedBatch,
  items: readonly OutcomeItem[],
): Promise<readonly OutcomeItem[]> {
  const recorded = new Map((await listRecorded(tx as Sql, batch.id)).map((row) => [row.deviceId, row]));
  return items.filter((item) => {
    const row = recorded.get(item.row.deviceId);
    if (row === undefined) return true;
    if (row.status !== statusNumber('retrying')) return false;
    return item.final !== null || row.attempts < item.row.attempts;
  });
}

function countOutcomes(items: readonly OutcomeItem[]): OutcomeCounts {
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

async function applyEarlyReceipts(
  { clock, ledger }: RecorderDeps,
  tx: Tx,
  batch: ClaimedBatch,
  items: readonly OutcomeItem[],
  toTell: Set<Uuid>,
): Promise<readonly EarlyReceipt[]> {
  const early = new Set(await listEarlyDevices(tx, batch.id));
  if (early.size === 0) return [];
  const deviceIds = items.map((item) => item.row.deviceId).filter((deviceId) => early.has(deviceId));
  const receipts = await takeEarlyReceipts(tx, batch.id, deviceIds);
  if (receipts.length === 0) return [];
  const marks: Record<Mark, number> = { displayed: 0, clicked: 0, dismissed: 0 };
  const { appId, messageId, id: batchId } = batch;
  for (const receipt of receipts) {
    if (!(await markDelivery(tx, batchId, receipt))?.isNew) continue;
    marks[receipt.mark]++;
    if (receipt.mark !== 'clicked') continue;
    const told = await emitClick({ tx, clock, ledger }, { appId, messageId, batchId, ...receipt });
    for (const id of told) toTell.add(id);
  }
  await addBatchMarks(tx, batchId, marks);
  return receipts;
}

function noteVerdicts({ verdicts }: RecorderDeps, batch: ClaimedBatch, items: readonly OutcomeItem[]): void {
  const succeeded = new Set<number>();
  for (const { final, row } of items)
    if (final === 'sent' && row.credentialId !== null) succeeded.add(row.credentialId);
  const said = items.flatMap((item) => (item.verdict ? [item.verdict] : []));
  verdicts.note(batch.appId, said, succeeded);
}

// Logs the canonical line of a failed delivery. The batch's log adds the batch's ids.
function logFailure(log: Log, { row, channel, code }: OutcomeItem): void {
  log.info(
    {
      device_id: row.deviceId,
      channel,
      error_code: code,
      attempts: row.attempts,
      provider_status: row.providerStatus,
      latency_ms: row.latencyMs,
    },
    'delivery failed',
  );
}
