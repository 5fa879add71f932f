// One page of a message's deliveries. Its batches are read in order, and each row becomes a
// timeline with the provider's answers as they came.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { InvalidReason } from '../../people/devices/device.ts';
import type { AnswerForms } from './answer-forms.ts';
import {
  type Attempt,
  channelOfNumber,
  codeOfNumber,
  platformOfChannel,
  presentAnswer,
  skipReasons,
  statusOfNumber,
  type TimelineEntry,
} from './delivery.ts';
import { unpackRef } from './packed-ref.ts';
import {
  type BatchOfMessage,
  type DeliveryFilters,
  listBatches,
  listDeliveries,
  listExternalIds,
  listInvalidations,
  type StoredDelivery,
} from './timeline-queries.ts';

export interface TimelineDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly forms: AnswerForms;
}

/** A row and its batch. */
export interface PlacedDelivery {
  readonly row: StoredDelivery;
  readonly batch: BatchOfMessage;
}

export interface TimelinePart {
  readonly placed: readonly PlacedDelivery[];
  /**
   * Set when the read ended because of `rowsMax`: every earlier batch was read, and the next read
   * begins with this batch.
   */
  readonly stoppedBefore: Uuid | null;
}

/** Every delivery of a message, whatever its status. */
export const allDeliveries: DeliveryFilters = { kind: { status: null, channel: null, code: null }, deviceId: null };

/**
 * The rows that are read for one page of the API. After them the page is answered with a cursor,
 * even if it is not full. Measured: 300,000 rows of a filter that matched nothing took 340 ms, so
 * 10,000 take some 12 ms. A page of 500 rows needs at most 2,000.
 */
export const rowsReadMax = 10_000;

/**
 * Batches of one statement. A page of 500 rows needs one or two batches. For a single device each
 * batch costs one look-up.
 */
const batchesAtOnce = 50;
const batchesAtOnceOfDevice = 1_000;

/**
 * Up to `limit` deliveries after a position, in the order batch, device. About `rowsMax` rows are
 * read for them. So a filter with few matches is read in several parts, and none keeps other
 * readers waiting.
 */
export async function listMessageDeliveries(
  { sql }: Pick<TimelineDeps, 'sql'>,
  messageId: Uuid,
  filters: DeliveryFilters,
  after: { batchId: Uuid; deviceId: Uuid } | null,
  limit: number,
  rowsMax = Number.POSITIVE_INFINITY,
): Promise<TimelinePart> {
  const placed: PlacedDelivery[] = [];
  const atOnce = filters.deviceId === null ? batchesAtOnce : batchesAtOnceOfDevice;
  let from = after?.batchId ?? null;
  let rowsLeft = rowsMax;
  for (;;) {
    const batches = await listBatches(sql, messageId, from, filters, atOnce + 1);
    const byId = new Map<Uuid, BatchOfMessage>();
    for (const batch of batches) {
      if (byId.size === atOnce || rowsLeft <= 0) break;
      byId.set(batch.id, batch);
      rowsLeft -= batch.cost;
    }
    if (byId.size === 0) return { placed, stoppedBefore: null };
    const rows = await listDeliveries(sql, [...byId.keys()], after, filters, limit - placed.length);
    for (const row of rows) {
      const batch = byId.get(row.batchId);
      if (batch) placed.push({ row, batch });
    }
    const next = batches[byId.size];
    if (placed.length >= limit || !next) return { placed, stoppedBefore: null };
    if (rowsLeft <= 0) return { placed, stoppedBefore: next.id };
    from = next.id;
  }
}

/**
 * The deliveries as the API shows them, with their users' external ids and the changes of their
 * devices.
 */
export async function presentDeliveries(deps: TimelineDeps, appId: Uuid, placed: readonly PlacedDelivery[]) {
  const userIds = [...new Set(placed.flatMap(({ row }) => (row.userId ? [row.userId] : [])))];
  const externalIds = await listExternalIds(deps.sql, appId, userIds);
  const failed = placed.filter(({ row }) => statusOfNumber(row.status) === 'failed');
  const invalidations = await listInvalidations(
    deps.sql,
    appId,
    failed.map(({ row }) => ({ deviceId: row.deviceId, doneAt: row.doneAt })),
  );
  return Promise.all(
    placed.map(async ({ row, batch }) => {
      const channel = channelOfNumber(row.channel);
      const status = statusOfNumber(row.status);
      const code = codeOfNumber(row.errorCode);
      const { attempts, providerMessageId } = await attemptsOf(deps, appId, row);
      return {
        device_id: encodeId('dev', row.deviceId),
        external_id: row.userId === null ? null : (externalIds.get(row.userId) ?? null),
        platform: platformOfChannel[channel],
        channel,
        status,
        error_code: code,
        attempts: row.attempts,
        queued_at: batch.queuedAt,
        sent_at: status === 'sent' ? row.doneAt : null,
        failed_at: status === 'failed' ? row.doneAt : null,
        displayed_at: row.displayedAt,
        clicked_at: row.clickedAt,
        dismissed_at: row.dismissedAt,
        action: row.action,
        provider_message_id: providerMessageId,
        timeline: timelineOf(row, batch, attempts, invalidations.get(row.deviceId)),
      };
    }),
  );
}

async function attemptsOf(
  deps: TimelineDeps,
  appId: Uuid,
  row: StoredDelivery,
): Promise<{ attempts: readonly Attempt[]; providerMessageId: string | null }> {
  if (row.form === null || row.credentialId === null || row.providerRef === null) {
    return { attempts: row.timeline ?? [], providerMessageId: row.providerRef };
  }
  const filled = await deps.forms.read(
    appId,
    row.credentialId,
    row.form,
    channelOfNumber(row.channel),
    row.providerRef,
  );
  const providerMessageId = filled?.providerMessageId ?? unpackRef(row.providerRef);
  if (row.timeline) return { attempts: row.timeline, providerMessageId };
  // A success at the first attempt has no stored timeline, because the form, the reference and two
  // numbers are enough to rebuild it.
  const latencyMs = row.latencyMs ?? 0;
  const attempt: Attempt = {
    at: new Date(row.doneAt.getTime() - latencyMs).toISOString(),
    type: 'attempt',
    attempt: 1,
    outcome: 'sent',
    error_code: null,
    latency_ms: latencyMs,
    retry_at: null,
    provider: presentAnswer(filled?.answer ?? null),
  };
  return { attempts: [attempt], providerMessageId };
}

function timelineOf(
  row: StoredDelivery,
  batch: BatchOfMessage,
  attempts: readonly Attempt[],
  invalidated: { at: Date; reason: InvalidReason } | undefined,
): TimelineEntry[] {
  const entries: TimelineEntry[] = [{ at: batch.queuedAt.toISOString(), type: 'queued' }, ...attempts];
  const status = statusOfNumber(row.status);
  const code = codeOfNumber(row.errorCode);
  const reason = status === 'skipped' && skipReasons.find((known) => known === code);
  if (reason) entries.push({ at: row.doneAt.toISOString(), type: 'skipped', reason });
  if (status === 'failed' && code === 'expired') entries.push({ at: row.doneAt.toISOString(), type: 'expired' });
  if (invalidated)
    entries.push({ at: invalidated.at.toISOString(), type: 'device_invalidated', reason: invalidated.reason });
  if (row.displayedAt) entries.push({ at: row.displayedAt.toISOString(), type: 'displayed' });
  if (row.clickedAt) entries.push({ at: row.clickedAt.toISOString(), type: 'clicked', action: row.action });
  if (row.dismissedAt) entries.push({ at: row.dismissedAt.toISOString(), type: 'dismissed' });
  // In time order. `queued` stays first, because the clocks of two processes may differ a little.
  const [queued, ...rest] = entries;
  return queued ? [queued, ...rest.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))] : [];
}
