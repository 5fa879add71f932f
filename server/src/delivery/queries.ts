// SQL of batches: claim, renew, hand back, advance; and the devices that a batch is for.
import type { Environment, Platform } from '../channels/channel.ts';
import type { Attribute } from '../content/template-grammar.ts';
import { bareArray } from '../platform/array-text.ts';
import type { Clock } from '../platform/clock.ts';
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { type ClaimedBatch, flushRenewsAfterMs, leaseMs } from './batch.ts';
import type { Mark } from './delivery.ts';
import type { ReceiptSubject } from './receipt-token.ts';

/** What processes tell each other: there are batches. */
export const batchesTopic = 'batches';

/** When a lease ends that is so long from now on. */
const leaseEnd = (tx: Tx, clock: Clock, ms = leaseMs): Fragment => tx`
  (${clock.now} + ${ms}::float8 * interval '1 millisecond')`;

/**
 * Which expired leases a claim takes over: all, none, or all if the server comes to the claim before an instant. A server that
 * was stopped may come to a claim when its process is long gone; it must not take a batch from a live owner (R-97).
 */
export type TakeOver = 'all' | 'none' | { readonly before: Date };

/** Whether a batch `b` may be claimed now. */
export function isDue(sql: Sql, clock: Clock, takeOver: TakeOver): Fragment {
  const isDueNow = sql`b.available_at <= ${clock.now}`;
  if (takeOver === 'all') return isDueNow;
  if (takeOver === 'none') return sql`${isDueNow} AND b.state = 'waiting'`;
  return sql`${isDueNow} AND (b.state = 'waiting' OR ${clock.now} <= ${takeOver.before}::timestamptz)`;
}

/** What a claim answers of a batch `b`. The devices as JSON: the driver reads an array letter by letter. */
export const claimedColumns = (tx: Tx): Fragment => tx`
  b.id, b.app_id, b.message_id, b.claim_id, b.claims, b.pushed, b.setbacks, b.faults, b.per_second, to_json(b.device_ids) AS device_ids, b.queued_at, b.due_at, b.expires_at,
  b.skip_reason`;

/** The batches of a message that were born claimed by its acceptor. */
export async function listOwnBatches(sql: Sql, messageId: Uuid, claimId: Uuid): Promise<ClaimedBatch[]> {
  return sql<ClaimedBatch[]>`
    SELECT ${claimedColumns(sql)} FROM batches b
    WHERE b.message_id = ${messageId} AND b.claim_id = ${claimId} AND b.state = 'claimed' ORDER BY b.id`;
}

/**
 * Takes the next batch of the next app that has one due, after `afterAppId` in a circle: one app's million delays no other
 * app's one. Apps of `exceptAppIds` are passed over; paced batches have claims of their own (`claimNextPacedBatch`). The
 * recursion steps from app to app through the index, so an app with many batches costs one probe.
 * SKIP LOCKED: claimers never wait for each other. An expired lease is due like any other.
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
  const [batch] = await sql<ClaimedBatch[]>`
    WITH RECURSIVE apps_open AS (
      (SELECT b.app_id FROM batches b WHERE ${isOpen} ORDER BY b.app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.app_id FROM batches b WHERE ${isOpen} AND b.app_id > apps_open.app_id ORDER BY b.app_id LIMIT 1)
      FROM apps_open WHERE apps_open.app_id IS NOT NULL
    ), due AS (
      SELECT app_id FROM apps_open
      WHERE app_id IS NOT NULL AND app_id <> ALL(${exceptAppIds as Uuid[]}::uuid[]) AND EXISTS (
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
    RETURNING ${claimedColumns(sql)}`;
  return batch;
}

export interface RenewedClaim {
  readonly id: Uuid;
  readonly claimId: Uuid;
  readonly isRenewed: boolean;
}

/**
 * Keeps leases. Answers the claims that still hold, and whether each is renewed: not where its row is locked at this moment, most likely by
 * its own flush, which renews it too and which nobody waits for here. One that is missing has been taken over.
 */
export async function renewClaims(
  sql: Sql,
  clock: Clock,
  batches: readonly Pick<ClaimedBatch, 'id' | 'claimId'>[],
): Promise<readonly RenewedClaim[]> {
  // A claim may hold more batches, which are not worked at this moment: each stands for itself.
  const isHeld = sql`
    id = ANY(${batches.map(({ id }) => id)}::uuid[]) AND claim_id = ANY(${batches.map(({ claimId }) => claimId)}::uuid[])
      AND state = 'claimed'`;
  return sql<RenewedClaim[]>`
    WITH held AS (
      SELECT id, claim_id FROM batches WHERE ${isHeld}
    ), free AS (
      SELECT id FROM batches WHERE ${isHeld} FOR NO KEY UPDATE SKIP LOCKED
    ), renewed AS (
      UPDATE batches b SET available_at = greatest(b.available_at, ${leaseEnd(sql, clock)})
      FROM free WHERE b.id = free.id RETURNING b.id
    )
    SELECT held.id, held.claim_id, renewed.id IS NOT NULL AS is_renewed FROM held LEFT JOIN renewed USING (id)`;
}

/**
 * Gives a batch back in order, due again at an instant; at once where it was ended meanwhile. False: the claim was lost before.
 * This claim is counted no longer; those that ended without order are, for good.
 */
export async function handBackBatch(sql: Sql, batch: ClaimedBatch, availableAt: Date): Promise<boolean> {
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, claims = greatest(claims - 1, 0), setbacks = 0,
      available_at = CASE WHEN skip_reason IS NULL THEN ${availableAt}::timestamptz ELSE queued_at END
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed'`;
  return result.count === 1;
}

export interface HandBack {
  readonly availableAt: Date;
  /** Our own fault; null: the database's state. */
  readonly fault: string | null;
  /** Pushes may have been made whose outcomes nobody knows: the claim stays counted (R-02). */
  readonly hasUnknownPushes: boolean;
}

/** Gives a batch back that could not be worked to its end. False: the claim was lost before. */
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

/** Gives back at once what these claims were granted, if anything. */
export async function handBackClaims(sql: Sql, clock: Clock, claimIds: readonly Uuid[]): Promise<number> {
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, claims = greatest(claims - 1, 0), available_at = ${clock.now}
    WHERE claim_id = ANY(${claimIds as Uuid[]}::uuid[]) AND state = 'claimed'`;
  return result.count;
}

/** From here on the pushes of this claim may be on the wire. */
export async function markPushed(sql: Sql, batch: ClaimedBatch): Promise<void> {
  await sql`
    UPDATE batches SET pushed = true
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed' AND NOT pushed`;
}

/** The fence alone: holds the batch until the transaction ends, after any commit of ours that may still be under way. */
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
 * The fence and the progress of a flush, which renews the lease where that is due: whether the batch is done with it, and whether it is
 * renewed. Undefined when the claim was lost, and then nothing may be written. `kinds`: those of the final deliveries (`kindsOf`).
 */
export async function advanceBatch(
  tx: Tx,
  clock: Clock,
  batch: ClaimedBatch,
  counts: { sent: number; failed: number; skipped: number },
  kinds: string,
): Promise<BatchAdvance | undefined> {
  const finals = counts.sent + counts.failed + counts.skipped;
  // Done exactly when every delivery is final. A finished batch keeps its devices: receipt tokens name their places.
  const isDone = tx`b.sent + b.failed + b.skipped + ${finals}::int = b.size`;
  const isAging = tx`b.available_at < ${leaseEnd(tx, clock, leaseMs - flushRenewsAfterMs)}`;
  const [row] = await tx<BatchAdvance[]>`
    UPDATE batches b SET
      available_at = CASE WHEN ${isAging} THEN ${leaseEnd(tx, clock)} ELSE b.available_at END,
      sent = b.sent + ${counts.sent}, failed = b.failed + ${counts.failed}, skipped = b.skipped + ${counts.skipped},
      kinds = b.kinds | ${kinds}::bigint, kinds_noted = b.kinds_noted + ${finals},
      state = CASE WHEN ${isDone} THEN 'done' ELSE b.state END,
      claim_id = CASE WHEN ${isDone} THEN NULL ELSE b.claim_id END,
      finished_at = CASE WHEN ${isDone} THEN ${clock.now} END
    WHERE b.id = ${batch.id} AND b.claim_id = ${batch.claimId} AND b.state = 'claimed'
    RETURNING b.state = 'done' AS is_done, b.available_at = ${leaseEnd(tx, clock)} AS is_renewed`;
  return row;
}

/** Counts marks on the batch: the message sums its batches, so a click never waits for a flush's message row. */
export async function addBatchMarks(tx: Tx, batchId: Uuid, marks: Readonly<Record<Mark, number>>): Promise<void> {
  await tx`
    UPDATE batches SET displayed = displayed + ${marks.displayed}, clicked = clicked + ${marks.clicked},
      dismissed = dismissed + ${marks.dismissed}
    WHERE id = ${batchId}`;
}

/**
 * Ends the open batches of a message: what of them is not final yet is to be skipped as canceled. One that waits is due now; one
 * that is being worked, when it is handed back. Not asked yet.
 */
export function endBatches(tx: Tx, clock: Clock, appId: Uuid, messageId: Uuid): Fragment {
  // Locked in one order, so that two who end them do not wait for each other.
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
  /** Its outcome is still to come. */
  readonly awaitsDevice: boolean;
}

const receiptColumns = (tx: Tx, subject: ReceiptSubject): Fragment => tx`
  app_id, message_id, ${
    'place' in subject
      ? tx`device_ids[${subject.place + 1}::int] AS device_id, state <> 'done' AS awaits_device`
      : tx`${subject.deviceId}::uuid AS device_id,
          state <> 'done' AND ${subject.deviceId}::uuid = ANY(device_ids) AS awaits_device`
  }`;

/**
 * Which device is a receipt from, and is its delivery still to come? Locks the batch as a flush does, and first as a flush does:
 * after this statement the outcome is either visible or not yet begun, and the two never wait for each other in a circle.
 */
export async function lockBatchForReceipt(tx: Tx, subject: ReceiptSubject): Promise<BatchOfReceipt | undefined> {
  const [batch] = await tx<BatchOfReceipt[]>`
    SELECT ${receiptColumns(tx, subject)} FROM batches WHERE id = ${subject.batchId} FOR NO KEY UPDATE`;
  return batch;
}

/** Which device is a receipt from, and is its delivery still to come? Takes no lock. */
export async function findBatchOfReceipt(tx: Tx, subject: ReceiptSubject): Promise<BatchOfReceipt | undefined> {
  const [batch] = await tx<BatchOfReceipt[]>`
    SELECT ${receiptColumns(tx, subject)} FROM batches WHERE id = ${subject.batchId}`;
  return batch;
}

/** The devices of a batch, column by column in one order; null where there is none. */
export interface TargetColumns {
  readonly deviceIds: readonly Uuid[] | null;
  readonly userIds: readonly (Uuid | null)[] | null;
  readonly platforms: readonly Platform[] | null;
  readonly actives: readonly boolean[] | null;
  readonly tokens: readonly (string | null)[] | null;
  readonly credentialIds: readonly (number | null)[] | null;
  /** Milliseconds since the epoch. */
  readonly registeredAts: readonly number[] | null;
  readonly environments: readonly (Environment | null)[] | null;
  readonly mismatches: readonly boolean[] | null;
  /** Of the devices that nothing ever reached; and of these, the ones that a client key registered. */
  readonly unreachedIds: readonly Uuid[] | null;
  readonly strangerIds: readonly Uuid[] | null;
  readonly locales: readonly (string | null)[] | null;
  readonly languages: readonly (string | null)[] | null;
  readonly externalIds: readonly (string | null)[] | null;
  /** Absent where they were not asked for. */
  readonly firstNames?: readonly (string | null)[] | null;
  readonly countries?: readonly (string | null)[] | null;
  readonly timezones?: readonly (string | null)[] | null;
}

/**
 * The devices of a batch with what a push needs of each, as one row of lists: a thousand rows would cost both sides more than the
 * devices do. `properties` are further lists, of columns of the audience row `a`.
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
      json_agg(round(date_part('epoch', d.registered_at) * 1000)) AS registered_ats,
      json_agg(coalesce(d.environment, d.environment_found)) AS environments, json_agg(d.mismatches > 0) AS mismatches,
      json_agg(d.id) FILTER (WHERE NOT d.is_reached) AS unreached_ids,
      json_agg(d.id) FILTER (WHERE NOT d.is_reached AND d.by_client) AS stranger_ids,
      json_agg(a.locale) AS locales, json_agg(a.language) AS languages, json_agg(a.external_id) AS external_ids
      ${firstNames} ${countries} ${timezones} ${properties}
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} AND d.id = ANY(${bareArray(deviceIds)}::uuid[])`;
  if (!columns) throw new Error('an aggregate gave no row');
  return columns;
}
