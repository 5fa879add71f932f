// SQL of batches: claim, renew, hand back, advance; and the devices of a batch.

import { bareArray, type Fragment, findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../channels/channel.ts';
import type { Attribute } from '../content/template-grammar.ts';
import { type ClaimedBatch, flushRenewsAfterMs, leaseMs } from './batch.ts';
import type { Mark } from './delivery.ts';
import type { ReceiptSubject } from './receipt-token.ts';
import { retrySpanMs } from './retry.ts';

/** The topic by which processes tell each other that there are new batches. */
export const batchesTopic = 'batches';

/**
 * Milliseconds. An instant that is this much further ahead than any possible one was written before
 * the clock was set back.
 */
const clocksApartMs = 2000;

/** The end of a lease that lasts this long from now. */
const leaseEnd = (tx: Tx, clock: Clock, ms = leaseMs): Fragment => tx`
  (${clock.now} + ${ms}::float8 * interval '1 millisecond')`;

/**
 * Whether a claim takes over expired leases: all, none, or all if the server executes the claim
 * before an instant. A server that was stopped may execute a claim whose process is gone, and must
 * not take the batch from a live owner (R-97).
 */
export type TakeOver = 'all' | 'none' | { readonly before: Date };

/** Whether a batch `b` may be claimed now. */
export function isDue(sql: Sql, clock: Clock, takeOver: TakeOver): Fragment {
  const isDueNow = sql`b.available_at <= ${clock.now}`;
  if (takeOver === 'all') return isDueNow;
  if (takeOver === 'none') return sql`${isDueNow} AND b.state = 'waiting'`;
  return sql`${isDueNow} AND (b.state = 'waiting' OR ${clock.now} <= ${takeOver.before}::timestamptz)`;
}

/**
 * The columns that a claim returns for a batch `b`. Devices come as JSON, because the driver parses
 * an array character by character.
 */
export const claimedColumns = (tx: Tx): Fragment => tx`
  b.id, b.app_id, b.message_id, b.claim_id, b.claims, b.pushed, b.setbacks, b.faults, b.per_second, to_json(b.device_ids) AS device_ids, b.queued_at, b.due_at, b.expires_at,
  b.skip_reason, now() AS claimed_at`;

/** The batches of a message that were inserted as claimed by the process that accepted it. */
export async function listOwnBatches(sql: Sql, messageId: Uuid, claimId: Uuid): Promise<ClaimedBatch[]> {
  return sql`
    SELECT ${claimedColumns(sql)} FROM batches b
    WHERE b.message_id = ${messageId} AND b.claim_id = ${claimId} AND b.state = 'claimed' ORDER BY b.id`;
}

/**
 * Claims the next batch of the next app with a due batch, after `afterAppId` in a circle. So a
 * large send of one app does not delay other apps. Apps of `exceptAppIds` are skipped, and paced
 * batches are claimed by `claimNextPacedBatch`. The recursion steps from app to app through the
 * index, so an app with many batches costs one probe. With SKIP LOCKED, claims never wait for each
 * other. An expired lease is due like any other batch.
 */
export async function claimNextBatch(
  sql: Sql,
  clock: Clock,
  afterAppId: Uuid,
  claimId: Uuid,
  exceptAppIds: readonly Uuid[] = [],
  takeOver: TakeOver = 'all',
): Promise<ClaimedBatch | undefined> {
  const isOpen = sql`b.state <> 'done' AND b.per_second IS NULL`;
  return findRow(sql`
    WITH RECURSIVE apps_open AS (
      (SELECT b.app_id FROM batches b WHERE ${isOpen} ORDER BY b.app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.app_id FROM batches b WHERE ${isOpen} AND b.app_id > apps_open.app_id ORDER BY b.app_id LIMIT 1)
      FROM apps_open WHERE apps_open.app_id IS NOT NULL
    ), due AS (
      SELECT app_id FROM apps_open
      WHERE app_id IS NOT NULL AND app_id <> ALL(${exceptAppIds}::uuid[]) AND EXISTS (
        SELECT 1 FROM batches b WHERE ${isOpen} AND b.app_id = apps_open.app_id AND ${isDue(sql, clock, takeOver)})
      ORDER BY (app_id <= ${afterAppId}::uuid), app_id
    ), taken AS (
      SELECT one.id FROM due CROSS JOIN LATERAL (
        SELECT b.id FROM batches b WHERE ${isOpen} AND b.app_id = due.app_id AND ${isDue(sql, clock, takeOver)}
        ORDER BY b.available_at, b.id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) one LIMIT 1
    )
    UPDATE batches b SET state = 'claimed', claim_id = ${claimId}, claims = least(b.claims + 1, 1000),
      available_at = ${leaseEnd(sql, clock)}
    FROM taken WHERE b.id = taken.id
    RETURNING ${claimedColumns(sql)}`);
}

/**
 * Claims the batch whose lease ended first, of any app but `exceptAppIds`. Otherwise it would wait
 * behind every batch that was queued before its lease ended, which may take minutes (R-03). The
 * index holds only claimed batches.
 */
export async function claimExpiredBatch(
  sql: Sql,
  clock: Clock,
  claimId: Uuid,
  exceptAppIds: readonly Uuid[],
  takeOver: TakeOver,
): Promise<ClaimedBatch | undefined> {
  return findRow(sql`
    WITH taken AS (
      SELECT b.id FROM batches b
      WHERE b.state = 'claimed' AND b.per_second IS NULL AND b.app_id <> ALL(${exceptAppIds}::uuid[])
        AND ${isDue(sql, clock, takeOver)}
      ORDER BY b.available_at, b.id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE batches b SET claim_id = ${claimId}, claims = least(b.claims + 1, 1000), available_at = ${leaseEnd(sql, clock)}
    FROM taken WHERE b.id = taken.id
    RETURNING ${claimedColumns(sql)}`);
}

export interface RenewedClaim {
  readonly id: Uuid;
  readonly claimId: Uuid;
  readonly isRenewed: boolean;
}

/**
 * Renews leases. A lease is shortened only if the clock was set back. Returns the claims that still
 * hold, and whether each was renewed. Locked rows are skipped, because most likely the batch's own
 * flush holds and renews them. A claim missing from the result was taken over.
 */
export async function renewClaims(
  sql: Sql,
  clock: Clock,
  batches: readonly Pick<ClaimedBatch, 'id' | 'claimId'>[],
): Promise<readonly RenewedClaim[]> {
  // A claim may hold further batches that this process does not work now. Only the given ones are
  // renewed.
  const isHeld = sql`
    id = ANY(${batches.map(({ id }) => id)}::uuid[]) AND claim_id = ANY(${batches.map(({ claimId }) => claimId)}::uuid[])
      AND state = 'claimed'`;
  return sql`
    WITH held AS (
      SELECT id, claim_id FROM batches WHERE ${isHeld}
    ), free AS (
      SELECT id FROM batches WHERE ${isHeld} FOR NO KEY UPDATE SKIP LOCKED
    ), renewed AS (
      UPDATE batches b SET available_at = CASE
        WHEN b.available_at > ${leaseEnd(sql, clock, leaseMs + clocksApartMs)} THEN ${leaseEnd(sql, clock)}
        ELSE greatest(b.available_at, ${leaseEnd(sql, clock)}) END
      FROM free WHERE b.id = free.id RETURNING b.id
    )
    SELECT held.id, held.claim_id, renewed.id IS NOT NULL AS is_renewed FROM held LEFT JOIN renewed USING (id)`;
}

/**
 * Hands a batch back in order, due at `availableAt`, or at once if the batch was ended meanwhile.
 * `as before`: due as it was when it was claimed, or at once if that time lies in the future
 * because the clock was set back (R-100). False: the claim was lost before. This claim does not
 * count any more; claims of dead processes stay counted.
 */
export async function handBackBatch(
  sql: Sql,
  clock: Clock,
  batch: ClaimedBatch,
  availableAt: Date | 'as before',
): Promise<boolean> {
  const dueAt =
    availableAt === 'as before'
      ? sql`least(${batch.dueAt}::timestamptz, ${clock.now})`
      : sql`${availableAt}::timestamptz`;
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, claims = greatest(claims - 1, 0), setbacks = 0,
      available_at = CASE WHEN skip_reason IS NULL THEN ${dueAt} ELSE least(queued_at, ${clock.now}) END
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed'`;
  return result.count === 1;
}

export interface HandBack {
  readonly availableAt: Date;
  /** The fingerprint of a fault of our own; null for the database's state. */
  readonly fault: string | null;
  /**
   * True when pushes with unknown outcome may have been made. Then this claim stays counted (R-02).
   */
  readonly hasUnknownPushes: boolean;
}

/** Hands back a batch that could not be worked to its end. False: the claim was lost before. */
export async function handBackAfterSetback(
  sql: Sql,
  batch: ClaimedBatch,
  { availableAt, fault, hasUnknownPushes }: HandBack,
): Promise<boolean> {
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, available_at = ${availableAt}::timestamptz,
      claims = CASE WHEN ${hasUnknownPushes}::boolean THEN claims ELSE greatest(claims - 1, 0) END,
      pushed = pushed OR ${hasUnknownPushes}::boolean,
      setbacks = least(setbacks + 1, 1000),
      fault = coalesce(${fault}::text, fault),
      faults = CASE WHEN ${fault}::text IS NULL THEN faults WHEN fault = ${fault}::text THEN least(faults + 1, 1000) ELSE 1 END
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed'`;
  return result.count === 1;
}

/**
 * Shortens waits that were written before the database's clock was set back. They are longer than
 * any that this code writes. A lease then lasts its full time from now, and a batch with a future
 * time is due.
 */
export async function shortenBatchWaits(sql: Sql, clock: Clock): Promise<void> {
  const apart = sql`${clocksApartMs}::float8 * interval '1 millisecond'`;
  const dueAt = sql`CASE WHEN b.state = 'claimed' THEN ${leaseEnd(sql, clock)}
    WHEN b.due_at > b.queued_at THEN greatest(b.due_at, ${clock.now}) ELSE ${clock.now} END`;
  await sql`
    UPDATE batches b SET available_at = ${dueAt}
    WHERE b.state <> 'done' AND b.available_at > ${dueAt} + ${apart}
      AND (b.state = 'claimed' OR b.queued_at > ${clock.now} + ${apart}
        OR b.available_at > greatest(b.due_at, ${clock.now}) + ${retrySpanMs}::float8 * interval '1 millisecond')`;
}

/** Hands back, due at once, every batch that these claims hold. */
export async function handBackClaims(sql: Sql, clock: Clock, claimIds: readonly Uuid[]): Promise<number> {
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, claims = greatest(claims - 1, 0), available_at = ${clock.now}
    WHERE claim_id = ANY(${claimIds}::uuid[]) AND state = 'claimed'`;
  return result.count;
}

/** Records that from now on pushes of this claim may be on the wire. */
export async function markPushed(sql: Sql, batch: ClaimedBatch): Promise<void> {
  await sql`
    UPDATE batches SET pushed = true
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed' AND NOT pushed`;
}

/**
 * Checks only the fence, and locks the batch until the transaction ends. Waits for a commit of ours
 * that may still be under way.
 */
export async function lockClaimedBatch(tx: Tx, batch: ClaimedBatch): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM batches WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed' FOR UPDATE`;
  return rows.length === 1;
}

export interface BatchAdvance {
  readonly isDone: boolean;
  readonly isRenewed: boolean;
}

/**
 * Checks the fence, writes the progress of a flush, and renews the lease when due. Returns whether
 * the batch is done and whether the lease was renewed. Undefined when the claim was lost: then
 * nothing may be written. `kinds` are those of the final deliveries (`kindsOf`).
 */
export async function advanceBatch(
  tx: Tx,
  clock: Clock,
  batch: ClaimedBatch,
  counts: { sent: number; failed: number; skipped: number },
  kinds: string,
): Promise<BatchAdvance | undefined> {
  const finals = counts.sent + counts.failed + counts.skipped;
  // A batch is done when every delivery is final. It keeps its devices, because receipt tokens name
  // their places.
  const isDone = tx`b.sent + b.failed + b.skipped + ${finals}::int = b.size`;
  const isAging = tx`b.available_at < ${leaseEnd(tx, clock, leaseMs - flushRenewsAfterMs)}`;
  return findRow(tx`
    UPDATE batches b SET
      available_at = CASE WHEN ${isAging} THEN ${leaseEnd(tx, clock)} ELSE b.available_at END,
      sent = b.sent + ${counts.sent}, failed = b.failed + ${counts.failed}, skipped = b.skipped + ${counts.skipped},
      kinds = b.kinds | ${kinds}::bigint, kinds_noted = b.kinds_noted + ${finals},
      state = CASE WHEN ${isDone} THEN 'done' ELSE b.state END,
      claim_id = CASE WHEN ${isDone} THEN NULL ELSE b.claim_id END,
      finished_at = CASE WHEN ${isDone} THEN ${clock.now} END
    WHERE b.id = ${batch.id} AND b.claim_id = ${batch.claimId} AND b.state = 'claimed'
    RETURNING b.state = 'done' AS is_done, b.available_at = ${leaseEnd(tx, clock)} AS is_renewed`);
}

/**
 * Counts marks on the batch. A message sums the marks of its batches, so a click never waits for
 * the message's row, which flushes lock.
 */
export async function addBatchMarks(tx: Tx, batchId: Uuid, marks: Readonly<Record<Mark, number>>): Promise<void> {
  await tx`
    UPDATE batches SET displayed = displayed + ${marks.displayed}, clicked = clicked + ${marks.clicked},
      dismissed = dismissed + ${marks.dismissed}
    WHERE id = ${batchId}`;
}

/**
 * Ends the open batches of a message: deliveries that are not final are skipped as canceled. A
 * waiting batch becomes due at once, a claimed batch when it is handed back. The statement has not
 * run yet.
 */
export function endBatches(tx: Tx, clock: Clock, appId: Uuid, messageId: Uuid): Fragment {
  // Locked in one order, so that two concurrent ends do not deadlock.
  return tx`
    WITH open AS (
      SELECT id FROM batches WHERE app_id = ${appId} AND message_id = ${messageId} AND state <> 'done' ORDER BY id FOR UPDATE
    )
    UPDATE batches b SET skip_reason = coalesce(b.skip_reason, 'canceled'),
      available_at = CASE WHEN b.state = 'waiting' THEN ${clock.now} ELSE b.available_at END
    FROM open WHERE b.id = open.id`;
}

export interface BatchOfReceipt {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  /** Null: the batch has no such place. */
  readonly deviceId: Uuid | null;
  /** True while the delivery may still get its outcome. */
  readonly awaitsDevice: boolean;
}

const receiptColumns = (tx: Tx, subject: ReceiptSubject): Fragment => tx`
  app_id, message_id, ${
    'place' in subject
      ? tx`device_ids[${subject.place + 1}::int] AS device_id, state <> 'done' AS awaits_device`
      : tx`${subject.deviceId}::uuid AS device_id,
          state <> 'done' AND ${subject.deviceId}::uuid = ANY(device_ids) AS awaits_device`
  }`;

/** A deleted app answers nothing, even before its rows are cleared. */
const isOfLivingApp = (tx: Tx): Fragment => tx`
  NOT EXISTS (SELECT FROM apps WHERE apps.id = batches.app_id AND apps.deleted_at IS NOT NULL)`;

/**
 * The device of a receipt, and whether its delivery is still open. Locks the batch first, as a
 * flush does. After this statement the outcome is either visible or not begun, and the two never
 * deadlock.
 */
export async function lockBatchForReceipt(tx: Tx, subject: ReceiptSubject): Promise<BatchOfReceipt | undefined> {
  return findRow(tx`
    SELECT ${receiptColumns(tx, subject)} FROM batches
    WHERE id = ${subject.batchId} AND ${isOfLivingApp(tx)} FOR NO KEY UPDATE`);
}

/** The device of a receipt, and whether its delivery is still open. Takes no lock. */
export async function findBatchOfReceipt(tx: Tx, subject: ReceiptSubject): Promise<BatchOfReceipt | undefined> {
  return findRow(tx`
    SELECT ${receiptColumns(tx, subject)} FROM batches WHERE id = ${subject.batchId} AND ${isOfLivingApp(tx)}`);
}

/** The devices of a batch as columns of one order; null when there are no devices. */
export interface TargetColumns {
  readonly deviceIds: readonly Uuid[] | null;
  readonly userIds: readonly (Uuid | null)[] | null;
  readonly platforms: readonly Platform[] | null;
  readonly actives: readonly boolean[] | null;
  readonly tokens: readonly (string | null)[] | null;
  readonly credentialIds: readonly (number | null)[] | null;
  /** Milliseconds since the epoch. */
  readonly storedAts: readonly number[] | null;
  readonly environments: readonly (Environment | null)[] | null;
  readonly mismatches: readonly boolean[] | null;
  /**
   * The devices that nothing ever reached. `strangerIds` are the ones among them that a client key
   * registered.
   */
  readonly unreachedIds: readonly Uuid[] | null;
  readonly strangerIds: readonly Uuid[] | null;
  readonly locales: readonly (string | null)[] | null;
  readonly languages: readonly (string | null)[] | null;
  readonly externalIds: readonly (string | null)[] | null;
  /** Absent unless the templates read them. */
  readonly firstNames?: readonly (string | null)[] | null;
  readonly countries?: readonly (string | null)[] | null;
  readonly timezones?: readonly (string | null)[] | null;
}

/**
 * The devices of a batch with what a push needs, as one row of lists. A thousand rows would cost
 * both sides more than the devices themselves. `properties` adds lists of columns of the audience
 * row `a`.
 */
export async function selectTargets(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  attributes: ReadonlySet<Attribute>,
  properties: Fragment,
): Promise<TargetColumns & Record<string, unknown>> {
  const firstNames = attributes.has('first_name') ? sql`, json_agg(a.first_name) AS first_names` : sql``;
  const countries = attributes.has('country') ? sql`, json_agg(a.country) AS countries` : sql``;
  const timezones = attributes.has('timezone')
    ? sql`, json_agg(coalesce(a.user_timezone, a.timezone)) AS timezones`
    : sql``;
  const [columns] = await sql<(TargetColumns & Record<string, unknown>)[]>`
    SELECT json_agg(d.id) AS device_ids, json_agg(a.user_id) AS user_ids, json_agg(d.platform) AS platforms,
      json_agg(d.status = 'active') AS actives, json_agg(d.token) AS tokens, json_agg(d.credential_id) AS credential_ids,
      json_agg(round(date_part('epoch', greatest(d.registered_at, d.changed_at)) * 1000)) AS stored_ats,
      json_agg(coalesce(d.environment, d.environment_found)) AS environments, json_agg(d.mismatches > 0) AS mismatches,
      json_agg(d.id) FILTER (WHERE NOT d.is_reached) AS unreached_ids,
      json_agg(d.id) FILTER (WHERE NOT d.is_reached AND d.by_client) AS stranger_ids,
      json_agg(a.locale) AS locales, json_agg(a.language) AS languages, json_agg(a.external_id) AS external_ids
      ${firstNames} ${countries} ${timezones} ${properties}
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} AND d.id = ANY(${bareArray(deviceIds)}::uuid[])`;
  if (!columns) throw new Error("the query of a batch's devices answered no row");
  return columns;
}
