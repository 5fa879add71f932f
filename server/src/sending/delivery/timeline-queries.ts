// SQL that reads a message's deliveries in pages, and what a page shows beside them. Writes
// nothing.

import { type Fragment, findRow, findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { InvalidReason } from '../../people/devices/device.ts';
import type { TargetUrls } from '../content/compile-content.ts';
import { type Attempt, channelNumber, numbersOfCode, statusNumber } from './delivery.ts';
import { type KindFilter, kindsWanted, wantsRetrying } from './delivery-kinds.ts';

export interface BatchOfMessage {
  readonly id: Uuid;
  readonly queuedAt: Date;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly isDone: boolean;
}

export interface BatchToRead extends BatchOfMessage {
  /** About how many rows a filtered read of this batch touches: a guess, for a budget. */
  readonly cost: number;
}

/** An index look-up without a result costs about as much as reading this many rows. */
const probeCost = 10;

/**
 * The batches of a message from `fromId` on, in order, that may contain deliveries for the filter.
 * A batch's bits describe its final deliveries. If the bits cover fewer deliveries than the batch
 * has, another version of the service wrote some, and the counters decide. Deliveries that wait for
 * a retry may be in any batch that is not done.
 */
export async function listBatches(
  tx: Tx,
  messageId: Uuid,
  fromId: Uuid | null,
  { kind, deviceId }: DeliveryFilters,
  limit: number,
): Promise<BatchToRead[]> {
  const { status } = kind;
  const counted = { sent: tx`sent`, failed: tx`failed`, skipped: tx`skipped` };
  const holdsFinals =
    status === 'retrying'
      ? tx`false`
      : tx`CASE WHEN kinds_noted = sent + failed + skipped THEN kinds & ${kindsWanted(kind)}::bigint <> 0
          ELSE ${status === null ? tx`sent + failed + skipped` : counted[status]} > 0 END`;
  const isUntouched = tx`state = 'waiting' AND sent + failed + skipped = 0 AND available_at <= due_at`;
  return tx`
    SELECT id, queued_at, sent, failed, skipped, state = 'done' AS is_done,
      CASE WHEN ${deviceId !== null} OR (${isUntouched}) THEN ${probeCost}::int ELSE size END AS cost
    FROM batches
    WHERE message_id = ${messageId} AND (${fromId}::uuid IS NULL OR id >= ${fromId}::uuid)
      AND (${holdsFinals} ${wantsRetrying(kind) ? tx`OR state <> 'done'` : tx``})
    ORDER BY id LIMIT ${limit}`;
}

export interface StoredDelivery {
  readonly batchId: Uuid;
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly doneAt: Date;
  readonly displayedAt: Date | null;
  readonly clickedAt: Date | null;
  readonly dismissedAt: Date | null;
  readonly latencyMs: number | null;
  readonly credentialId: number | null;
  readonly channel: number;
  readonly status: number;
  readonly errorCode: number | null;
  readonly attempts: number;
  readonly providerStatus: number | null;
  readonly form: number | null;
  readonly providerRef: string | null;
  readonly action: string | null;
  readonly timeline: readonly Attempt[] | null;
}

const deliveryColumns = (tx: Tx): Fragment => tx`
  batch_id, device_id, user_id, done_at, displayed_at, clicked_at, dismissed_at, latency_ms, credential_id, channel, status,
  error_code, attempts, provider_status, form, provider_ref, action, timeline`;

export interface DeliveryFilters {
  readonly kind: KindFilter;
  readonly deviceId: Uuid | null;
}

/** The deliveries of some batches after a position, in the order batch, device. */
export async function listDeliveries(
  tx: Tx,
  batchIds: readonly Uuid[],
  after: { batchId: Uuid; deviceId: Uuid } | null,
  { kind: { status, channel, code }, deviceId }: DeliveryFilters,
  limit: number,
): Promise<StoredDelivery[]> {
  return tx`
    SELECT ${deliveryColumns(tx)} FROM deliveries
    WHERE batch_id = ANY(${batchIds}::uuid[])
      ${after ? tx`AND (batch_id, device_id) > (${after.batchId}, ${after.deviceId})` : tx``}
      ${deviceId === null ? tx`` : tx`AND device_id = ${deviceId}`}
      ${status === null ? tx`` : tx`AND status = ${statusNumber(status)}`}
      ${channel === null ? tx`` : tx`AND channel = ${channelNumber(channel)}`}
      ${code === null ? tx`` : tx`AND error_code = ANY(${numbersOfCode(code)}::smallint[])`}
    ORDER BY batch_id, device_id LIMIT ${limit}`;
}

/**
 * The deliveries to a person after a position, in the order batch, device. A person is a user, or a
 * device during the time when it had no user.
 */
export async function listDeliveriesOfPerson(
  tx: Tx,
  personId: Uuid,
  after: { batchId: Uuid; deviceId: Uuid } | null,
  limit: number,
): Promise<StoredDelivery[]> {
  return tx`
    SELECT ${deliveryColumns(tx)} FROM deliveries
    WHERE coalesce(user_id, device_id) = ${personId}
      ${after ? tx`AND batch_id >= ${after.batchId} AND (batch_id, device_id) > (${after.batchId}, ${after.deviceId})` : tx``}
    ORDER BY batch_id, device_id LIMIT ${limit}`;
}

/**
 * The last deliveries to some people before a position, newest first. With `deviceId`, only those
 * to this device. A person is a user, or a device during the time when it had no user.
 */
export async function listLastDeliveries(
  tx: Tx,
  people: readonly Uuid[],
  deviceId: Uuid | null,
  before: { batchId: Uuid; deviceId: Uuid } | null,
  limit: number,
): Promise<StoredDelivery[]> {
  return tx`
    SELECT ${deliveryColumns(tx)} FROM deliveries
    WHERE coalesce(user_id, device_id) = ANY(${people}::uuid[])
      ${deviceId === null ? tx`` : tx`AND device_id = ${deviceId}`}
      ${before ? tx`AND batch_id <= ${before.batchId} AND (batch_id, device_id) < (${before.batchId}, ${before.deviceId})` : tx``}
    ORDER BY batch_id DESC, device_id DESC LIMIT ${limit}`;
}

/** The batches of an app with these ids, and their messages. */
export async function findBatches(
  tx: Tx,
  appId: Uuid,
  ids: readonly Uuid[],
): Promise<Map<Uuid, BatchOfMessage & { readonly messageId: Uuid }>> {
  const rows = await tx<(BatchOfMessage & { messageId: Uuid })[]>`
    SELECT id, message_id, queued_at, sent, failed, skipped, state = 'done' AS is_done FROM batches
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * The batch of a message in which a device is; undefined when it has no delivery of the message.
 */
export async function findBatchOfDevice(
  sql: Sql,
  appId: Uuid,
  messageId: Uuid,
  deviceId: Uuid,
): Promise<Uuid | undefined> {
  return findValue(sql`
    SELECT d.batch_id FROM batches b JOIN deliveries d ON d.batch_id = b.id
    WHERE b.app_id = ${appId} AND b.message_id = ${messageId} AND d.device_id = ${deviceId}`);
}

/** The urls stored with a delivery; null when the content's own urls apply. */
export async function findDeliveryUrls(
  tx: Tx,
  batchId: Uuid,
  deviceId: Uuid,
): Promise<{ urls: TargetUrls | null; channel: number; userId: Uuid | null } | undefined> {
  return findRow(tx`
    SELECT urls, channel, user_id FROM deliveries WHERE batch_id = ${batchId} AND device_id = ${deviceId}`);
}

/**
 * The retirements of these devices within a minute after their failed delivery, which caused them.
 */
export async function listInvalidations(
  sql: Sql,
  appId: Uuid,
  failed: readonly { deviceId: Uuid; doneAt: Date }[],
): Promise<Map<Uuid, { at: Date; reason: InvalidReason }>> {
  if (failed.length === 0) return new Map();
  const rows = await sql<{ deviceId: Uuid; at: Date; reason: InvalidReason }[]>`
    SELECT c.device_id, c.at, c.reason FROM device_changes c
    WHERE c.app_id = ${appId} AND c.device_id = ANY(${failed.map(({ deviceId }) => deviceId)}::uuid[])
      AND c.status = 'invalid' AND c.reason IS NOT NULL AND c.reason <> 'replaced'
    ORDER BY c.at`;
  const doneAt = new Map(failed.map((one) => [one.deviceId, one.doneAt.getTime()]));
  const found = new Map<Uuid, { at: Date; reason: InvalidReason }>();
  for (const { deviceId, at, reason } of rows) {
    const afterMs = at.getTime() - (doneAt.get(deviceId) ?? 0);
    if (afterMs >= 0 && afterMs < 60_000 && !found.has(deviceId)) found.set(deviceId, { at, reason });
  }
  return found;
}

/** The external ids of users. An erased user has none. */
export async function listExternalIds(sql: Sql, appId: Uuid, userIds: readonly Uuid[]): Promise<Map<Uuid, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await sql<{ userId: Uuid; externalId: string }[]>`
    SELECT user_id, external_id FROM people WHERE app_id = ${appId} AND user_id = ANY(${userIds}::uuid[])`;
  return new Map(rows.map((row) => [row.userId, row.externalId]));
}
