// SQL: the events that are classed, the deliveries to their people, and the settled results. No
// statement joins events with deliveries: results of one statement are passed to the next as
// arrays.
import { copyRows, type Fragment, getValue, listValues, type Tx } from '@carillon/postgres';
import { writeDecimal } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AttributedName, AttributionClass } from './attribution.ts';
import type { Between, Marks, Place } from './marks.ts';
import { quarterMs, type Range } from './periods.ts';
import { within } from './queries.ts';
import type { Tallied } from './tally.ts';

export interface AttributableEvent {
  readonly id: Uuid;
  readonly at: Date;
  readonly subjectId: Uuid;
  readonly deviceId: Uuid | null;
  readonly externalId: string | null;
  /** Empty when there is no amount. */
  readonly currency: string;
  readonly amount: string;
}

export interface EventsAsked extends Between {
  readonly appId: Uuid;
  readonly name: AttributedName;
  /**
   * True: late events, which stand before the place of `from` and were received after its mark.
   * False: the events after its place.
   */
  readonly isLate: boolean;
  readonly limit: number;
}

/** Lists late events in the order of their receipt, or other events in the order in which they occurred. */
export async function listEvents(tx: Tx, asked: EventsAsked): Promise<AttributableEvent[]> {
  const { appId, name, from, to, range, subjectIds, isLate, limit } = asked;
  const upTo = (place: Place): Fragment => tx`AND at <= ${place.at} AND (at < ${place.at} OR id <= ${place.id})`;
  // The conditions on name and time must match the predicate of the index word for word.
  const late = tx`
    AND name IN ('purchase', 'install', 'session_start')
    AND at < to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0 - 240)
    AND id > ${from.receivedTo} ${upTo(from)}`;
  const after = tx`AND at >= ${from.at} AND (at > ${from.at} OR id > ${from.id})`;
  return tx`
    SELECT id, at, subject_id, device_id, external_id, coalesce(currency, '') AS currency,
      coalesce(amount, 0)::text AS amount
    FROM events
    WHERE app_id = ${appId} AND name = ${name} ${isLate ? late : after}
      ${to === undefined ? tx`` : tx`AND id <= ${to.receivedTo} ${upTo(to)}`}
      ${range === undefined ? tx`` : tx`AND ${within(tx, tx`at`, range)}`}
      ${subjectIds === undefined ? tx`` : tx`AND subject_id = ANY(${subjectIds}::uuid[])`}
    ORDER BY ${isLate ? tx`id` : tx`at, id`} LIMIT ${limit}`;
}

/**
 * Finds when the first classed event of an app occurs in a range, rounded down to the millisecond;
 * undefined when there is none.
 */
export async function findNextEventMs(tx: Tx, appId: Uuid, { fromMs, toMs }: Range): Promise<number | undefined> {
  const firstOf = (name: AttributedName): Fragment => tx`
    (SELECT at FROM events WHERE app_id = ${appId} AND name = ${name} AND at >= ${new Date(fromMs)} AND at < ${new Date(toMs)}
    ORDER BY at LIMIT 1)`;
  const at = await getValue<Date | null>(tx`
    SELECT least(${firstOf('purchase')}, ${firstOf('install')}, ${firstOf('session_start')}) AS at`);
  return at?.getTime();
}

export interface DeviceOwner {
  readonly deviceId: Uuid;
  readonly userId: Uuid;
  readonly externalId: string;
}

/** Finds the current users of devices. Devices without a user are omitted. */
export async function listOwners(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<DeviceOwner[]> {
  return tx`
    SELECT device_id, user_id, external_id FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[]) AND user_id IS NOT NULL`;
}

/** Lists the current devices of users. */
export async function listDevicesOfUsers(
  tx: Tx,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<{ deviceId: Uuid; userId: Uuid }[]> {
  return tx`
    SELECT device_id, user_id FROM audience
    WHERE app_id = ${appId} AND external_id IS NOT NULL AND external_id = ANY(${externalIds}::text[])`;
}

/** Lists the former users of these devices. Deliveries to the devices may be stored under them. */
export async function listFormerOwners(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<Uuid[]> {
  return listValues(tx`
    SELECT DISTINCT user_id FROM former_links
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[])`);
}

export interface StoredDelivery {
  readonly deviceId: Uuid;
  /** The device's user when the delivery was sent; null when it had none. */
  readonly userId: Uuid | null;
  readonly batchId: Uuid;
  readonly sentAt: Date;
  readonly clickedAt: Date | null;
}

/**
 * Lists deliveries with status `sent` that were sent or clicked in a range (end included). `ids`
 * are users, and devices for the time in which they belonged to nobody.
 */
export async function listDeliveriesUnder(
  tx: Tx,
  ids: readonly Uuid[],
  range: Range,
  beforeBatchId: Uuid,
): Promise<StoredDelivery[]> {
  const from = new Date(range.fromMs);
  // Times are stored to the microsecond and compared to the millisecond.
  const to = new Date(range.toMs + 1);
  // The sub-select hides the ids from the planner. Otherwise the planner would look up each id in
  // the statistics of each partition, which takes longer than some of the scans.
  return tx`
    SELECT device_id, user_id, batch_id, done_at AS sent_at, clicked_at FROM deliveries
    WHERE coalesce(user_id, device_id) = ANY(ARRAY(SELECT unnest(${ids}::uuid[]))) AND batch_id < ${beforeBatchId}
      AND status = 1 AND done_at < ${to} AND (done_at >= ${from} OR (clicked_at >= ${from} AND clicked_at < ${to}))`;
}

/** Finds the messages of batches. Batches of other apps are omitted. */
export async function listMessagesOfBatches(
  tx: Tx,
  appId: Uuid,
  batchIds: readonly Uuid[],
): Promise<{ id: Uuid; messageId: Uuid }[]> {
  return tx`
    SELECT id, message_id FROM batches WHERE id = ANY(${batchIds}::uuid[]) AND app_id = ${appId}`;
}

/**
 * Finds how far an app's events of each name are settled. With `isLocked`, nothing of the app is
 * settled until the transaction ends.
 */
export async function findSettled(tx: Tx, appId: Uuid, isLocked = false): Promise<ReadonlyMap<AttributedName, Marks>> {
  const rows = await tx<(Marks & { name: AttributedName })[]>`
    SELECT name, settled_at AS at, settled_id AS id, received_to FROM attribution_progress
    WHERE app_id = ${appId} ORDER BY name ${isLocked ? tx`FOR UPDATE` : tx``}`;
  return new Map(rows.map((row) => [row.name, row]));
}

/**
 * Stores how far an app's events of a name are settled. Returns false and stores nothing when
 * another process has settled some since `from` was read. Until the transaction ends no other
 * settles any.
 */
export async function advanceSettled(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  from: Marks,
  to: Marks,
): Promise<boolean> {
  const { count } = await tx`
    INSERT INTO attribution_progress AS p (app_id, name, settled_at, settled_id, received_to)
    VALUES (${appId}, ${name}, ${to.at}, ${to.id}, ${to.receivedTo})
    ON CONFLICT (app_id, name) DO UPDATE
    SET settled_at = excluded.settled_at, settled_id = excluded.settled_id, received_to = excluded.received_to
    WHERE p.settled_at = ${from.at} AND p.settled_id = ${from.id} AND p.received_to = ${from.receivedTo}`;
  return count === 1;
}

export interface SettledPurchase {
  readonly subjectId: Uuid;
  readonly eventId: Uuid;
  readonly at: Date;
  readonly currency: string;
  readonly amount: string;
  readonly class: AttributionClass;
  readonly messageId: Uuid | null;
}

/** Stores settled purchases with their classes. */
export async function insertAttributions(
  tx: Tx,
  appId: Uuid,
  windowHours: number,
  purchases: readonly SettledPurchase[],
): Promise<void> {
  await copyRows(
    tx`
      COPY attributions (app_id, subject_id, event_id, at, currency, amount, window_hours, class, message_id) FROM STDIN`,
    purchases.map(({ subjectId, eventId, at, currency, amount, class: ofClass, messageId }) => [
      ...[appId, subjectId, eventId, at, currency, amount, windowHours, ofClass, messageId],
    ]),
  );
}

const totalColumns = {
  timestamptz: ['bucket'],
  text: ['currency', 'class'],
  uuid: ['messageId'],
  bigint: ['count'],
  numeric: ['amount'],
} as const;

/** Adds credits, counted by quarters of an hour, to the totals. Those of no message are not stored. */
export async function addCreditedTotals(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  rows: readonly Tallied[],
): Promise<void> {
  const totals = rows.flatMap(({ period, amount, ...row }) =>
    row.messageId === null ? [] : [{ ...row, bucket: new Date(period * quarterMs), amount: writeDecimal(amount) }],
  );
  if (totals.length === 0) return;
  await tx`
    INSERT INTO credited_totals (app_id, name, bucket, currency, class, message_id, count, amount)
    SELECT ${appId}::uuid, ${name}, t.bucket, t.currency, t.class, t.message_id, t.count, t.amount
    FROM ${tx.rows('t', totalColumns, totals)}
    ON CONFLICT (app_id, name, bucket, currency, class, message_id) DO UPDATE SET
      count = credited_totals.count + excluded.count, amount = credited_totals.amount + excluded.amount`;
}

/** Lists the settled purchases of a range (end included). */
export async function listAttributions(
  tx: Tx,
  appId: Uuid,
  range: Range,
): Promise<{ eventId: Uuid; class: AttributionClass; messageId: Uuid | null }[]> {
  return tx`
    SELECT event_id, class, message_id FROM attributions
    WHERE app_id = ${appId} AND at >= ${new Date(range.fromMs)} AND at <= ${new Date(range.toMs)}`;
}

// Messages that have lost no delivery: their first batch is within the time for which deliveries
// are kept.
const keptMessages = (tx: Tx, appId: Uuid, keptFrom: Uuid): Fragment => tx`
  SELECT id FROM messages WHERE app_id = ${appId} AND first_batch_id >= ${keptFrom}`;

/**
 * Deletes the settled purchases of a range whose class can be computed again. Two kinds stay:
 * purchases credited to a message that may have lost deliveries, and purchases of erased people,
 * whose events belong to nobody now.
 */
export async function deleteAttributions(tx: Tx, appId: Uuid, range: Range, keptFrom: Uuid): Promise<void> {
  const inRange = within(tx, tx`at`, range);
  await tx`
    DELETE FROM attributions
    WHERE app_id = ${appId} AND ${inRange}
      AND (message_id IS NULL OR (message_id IN (${keptMessages(tx, appId, keptFrom)}) AND event_id IN (
        SELECT id FROM events
        WHERE app_id = ${appId} AND name = 'purchase' AND ${inRange} AND (device_id IS NOT NULL OR external_id IS NOT NULL))))`;
}

/**
 * Deletes the credited totals of a range, except those of messages that may have lost deliveries,
 * and returns the remaining ones.
 */
export async function deleteTotalsOfKept(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  range: Range,
  keptFrom: Uuid,
): Promise<{ bucket: Date; messageId: Uuid; count: number }[]> {
  const ofRange = tx`app_id = ${appId} AND name = ${name} AND ${within(tx, tx`bucket`, range)}`;
  return tx`
    WITH gone AS (
      DELETE FROM credited_totals WHERE ${ofRange} AND message_id IN (${keptMessages(tx, appId, keptFrom)})
    )
    SELECT bucket, message_id, sum(count)::bigint AS count FROM credited_totals
    WHERE ${ofRange} AND message_id NOT IN (${keptMessages(tx, appId, keptFrom)})
    GROUP BY bucket, message_id`;
}

/** Sums up the settled purchases of a range again, by quarters of an hour. */
export async function sumAttributionsAgain(tx: Tx, appId: Uuid, range: Range): Promise<void> {
  await tx`
    DELETE FROM credited_totals WHERE app_id = ${appId} AND name = 'purchase' AND ${within(tx, tx`bucket`, range)}`;
  await tx`
    INSERT INTO credited_totals (app_id, name, bucket, currency, class, message_id, count, amount)
    SELECT app_id, 'purchase', date_bin('15 minutes', at, '2000-01-01T00:00:00Z'), currency, class, message_id, count(*), sum(amount)
    FROM attributions
    WHERE app_id = ${appId} AND ${within(tx, tx`at`, range)} AND message_id IS NOT NULL
    GROUP BY 1, 3, 4, 5, 6`;
}

export interface AttributionOfUser {
  readonly eventId: Uuid;
  readonly at: Date;
  readonly currency: string;
  readonly amount: string;
  readonly windowHours: number;
  readonly class: AttributionClass;
  readonly messageId: Uuid | null;
}

/** Lists a user's settled purchases in the order of event ids, after one. */
export async function listAttributionsOfUser(
  tx: Tx,
  appId: Uuid,
  userId: Uuid,
  afterId: Uuid | null,
  limit: number,
): Promise<AttributionOfUser[]> {
  return tx`
    SELECT event_id, at, currency, trim_scale(amount)::text AS amount, window_hours, class, message_id FROM attributions
    WHERE app_id = ${appId} AND subject_id = ${userId} ${afterId === null ? tx`` : tx`AND event_id > ${afterId}`}
    ORDER BY event_id LIMIT ${limit}`;
}
