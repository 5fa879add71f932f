// SQL: fan out, claim, renew, record, and the timeline.
import type { Environment } from '../channels/channel.ts';
import type { TargetUrls } from '../content/compile-content.ts';
import type { Clock } from '../platform/clock.ts';
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { batchSizeMax, type ClaimedBatch, leaseMs } from './batch.ts';
import type { Attempt, Mark } from './delivery.ts';

export interface FannedOut {
  /** Devices per platform; all of them are in batches, unless `batches` says that ids ran out. */
  readonly web: number;
  readonly ios: number;
  readonly android: number;
  readonly batches: number;
  readonly isOwn: boolean;
}

/**
 * An audience becomes batches, in one statement: the ids never pass through the process (R-09). `batchIds` are minted by
 * the caller, since no statement may be volatile; when they are too few, fewer batches are made than the counts need and
 * the caller starts over with enough.
 */
export async function insertBatches(
  tx: Tx,
  clock: Clock,
  plan: {
    readonly appId: Uuid;
    readonly messageId: Uuid;
    readonly batchIds: readonly Uuid[];
    /** Over `audience` under the alias `a`, app and activity included. */
    readonly predicate: Fragment;
    readonly windowMs: number;
    /** An audience of at most so many devices is born claimed, for the caller to work itself. */
    readonly own: { readonly claimId: Uuid; readonly devicesMax: number };
  },
): Promise<FannedOut> {
  const { appId, messageId, batchIds, predicate, windowMs, own } = plan;
  const [row] = await tx<FannedOut[]>`
    WITH picked AS MATERIALIZED (
      SELECT a.device_id, a.platform, (row_number() OVER (ORDER BY a.device_id) - 1) / ${batchSizeMax} + 1 AS part
      FROM audience a WHERE ${predicate}
    ), parts AS (
      SELECT part, array_agg(device_id ORDER BY device_id) AS device_ids, count(*)::int AS size FROM picked GROUP BY part
    ), ids AS (
      SELECT id, part FROM unnest(${batchIds as Uuid[]}::uuid[]) WITH ORDINALITY AS minted (id, part)
    ), claim AS (
      SELECT CASE WHEN count(*) <= ${own.devicesMax}::int THEN ${own.claimId}::uuid END AS id FROM picked
    ), made AS (
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, claim_id, claims)
      SELECT ids.id, ${appId}, ${messageId}, parts.device_ids, parts.size,
        CASE WHEN claim.id IS NULL THEN 'waiting' ELSE 'claimed' END,
        ${clock.now}, ${clock.now}, ${clock.now} + ${windowMs}::float8 * interval '1 millisecond',
        ${clock.now} + CASE WHEN claim.id IS NULL THEN interval '0' ELSE ${leaseMs}::float8 * interval '1 millisecond' END,
        claim.id, CASE WHEN claim.id IS NULL THEN 0 ELSE 1 END
      FROM parts JOIN ids USING (part) CROSS JOIN claim
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM made)::int AS batches,
      (SELECT id IS NOT NULL FROM claim) AS is_own,
      count(*) FILTER (WHERE platform = 'web')::int AS web,
      count(*) FILTER (WHERE platform = 'ios')::int AS ios,
      count(*) FILTER (WHERE platform = 'android')::int AS android
    FROM picked`;
  return row ?? { web: 0, ios: 0, android: 0, batches: 0, isOwn: true };
}

const claimedColumns = (tx: Tx): Fragment => tx`
  b.id, b.app_id, b.message_id, b.claim_id, b.claims, b.device_ids, b.queued_at, b.due_at, b.expires_at`;

/** The batches of a message that were born claimed by its acceptor. */
export async function listOwnBatches(sql: Sql, messageId: Uuid, claimId: Uuid): Promise<ClaimedBatch[]> {
  return sql<ClaimedBatch[]>`
    SELECT ${claimedColumns(sql)} FROM batches b
    WHERE b.message_id = ${messageId} AND b.claim_id = ${claimId} AND b.state = 'claimed' ORDER BY b.id`;
}

/**
 * Takes the next batch of the next app that has one due, after `afterAppId` in a circle: one app's million delays no other
 * app's one. The recursion steps from app to app through the index, so an app with many batches costs one probe.
 * SKIP LOCKED: claimers never wait for each other. An expired lease is due like any other.
 */
export async function claimNextBatch(
  sql: Sql,
  clock: Clock,
  afterAppId: Uuid,
  claimId: Uuid,
): Promise<ClaimedBatch | undefined> {
  const [batch] = await sql<ClaimedBatch[]>`
    WITH RECURSIVE apps_open AS (
      (SELECT app_id FROM batches WHERE state <> 'done' ORDER BY app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.app_id FROM batches b WHERE b.state <> 'done' AND b.app_id > apps_open.app_id ORDER BY b.app_id LIMIT 1)
      FROM apps_open WHERE apps_open.app_id IS NOT NULL
    ), due AS (
      SELECT app_id FROM apps_open
      WHERE app_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM batches b WHERE b.state <> 'done' AND b.app_id = apps_open.app_id AND b.available_at <= ${clock.now})
      ORDER BY (app_id <= ${afterAppId}::uuid), app_id
    ), taken AS (
      SELECT one.id FROM due CROSS JOIN LATERAL (
        SELECT b.id FROM batches b
        WHERE b.state <> 'done' AND b.app_id = due.app_id AND b.available_at <= ${clock.now}
        ORDER BY b.available_at, b.id LIMIT 1 FOR UPDATE SKIP LOCKED
      ) one LIMIT 1
    )
    UPDATE batches b SET state = 'claimed', claim_id = ${claimId}, claims = least(b.claims + 1, 1000),
      available_at = ${clock.now} + ${leaseMs}::float8 * interval '1 millisecond'
    FROM taken WHERE b.id = taken.id
    RETURNING ${claimedColumns(sql)}`;
  return batch;
}

/** Keeps leases; returns the claims that still hold. One that is missing has been taken over. */
export async function renewClaims(sql: Sql, clock: Clock, claimIds: readonly Uuid[]): Promise<Set<Uuid>> {
  // The partial index on claims keeps this independent of how many batches there are.
  const rows = await sql<{ claimId: Uuid }[]>`
    UPDATE batches SET available_at = ${clock.now} + ${leaseMs}::float8 * interval '1 millisecond'
    WHERE claim_id = ANY(${claimIds as Uuid[]}::uuid[]) AND state = 'claimed' RETURNING claim_id`;
  return new Set(rows.map((row) => row.claimId));
}

/** Gives a batch back in order, due again at an instant. False: the claim was lost before. */
export async function handBackBatch(sql: Sql, batch: ClaimedBatch, availableAt: Date): Promise<boolean> {
  const result = await sql`
    UPDATE batches SET state = 'waiting', claim_id = NULL, claims = 0, available_at = ${availableAt}
    WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed'`;
  return result.count === 1;
}

export interface RecordedDelivery {
  readonly deviceId: Uuid;
  readonly status: number;
  readonly attempts: number;
  readonly timeline: readonly Attempt[] | null;
}

/** Which devices of a batch already have an outcome, and what was tried for those that wait for a retry? */
export async function listRecorded(sql: Sql, batchId: Uuid): Promise<RecordedDelivery[]> {
  return sql<RecordedDelivery[]>`
    SELECT device_id, status, attempts, CASE WHEN status = 0 THEN timeline END AS timeline
    FROM deliveries WHERE batch_id = ${batchId}`;
}

/** The fence alone: holds the batch until the transaction ends, after any commit of ours that may still be under way. */
export async function lockClaimedBatch(tx: Tx, batch: ClaimedBatch): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM batches WHERE id = ${batch.id} AND claim_id = ${batch.claimId} AND state = 'claimed' FOR UPDATE`;
  return rows.length === 1;
}

/** The fence and the progress of a flush: false when the claim was lost, and then nothing may be written. */
export async function advanceBatch(
  tx: Tx,
  clock: Clock,
  batch: ClaimedBatch,
  counts: { sent: number; failed: number; skipped: number },
): Promise<boolean> {
  // Done exactly when every delivery is final. A finished batch frees its array: the rows say it all.
  const isDone = tx`b.sent + b.failed + b.skipped + ${counts.sent + counts.failed + counts.skipped}::int = b.size`;
  const result = await tx`
    UPDATE batches b SET
      sent = b.sent + ${counts.sent}, failed = b.failed + ${counts.failed}, skipped = b.skipped + ${counts.skipped},
      state = CASE WHEN ${isDone} THEN 'done' ELSE b.state END,
      claim_id = CASE WHEN ${isDone} THEN NULL ELSE b.claim_id END,
      finished_at = CASE WHEN ${isDone} THEN ${clock.now} END,
      device_ids = CASE WHEN ${isDone} THEN '{}' ELSE b.device_ids END
    WHERE b.id = ${batch.id} AND b.claim_id = ${batch.claimId} AND b.state = 'claimed'`;
  return result.count === 1;
}

/** One outcome, in the numbers it is stored as. */
export interface DeliveryRow {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly doneAtMs: number;
  readonly latencyMs: number | null;
  readonly credentialId: number | null;
  readonly channel: number;
  readonly status: number;
  readonly errorCode: number | null;
  readonly attempts: number;
  readonly providerStatus: number | null;
  readonly form: number | null;
  readonly providerRef: string | null;
  readonly urls: string | null;
  readonly timeline: string | null;
}

/**
 * Writes outcomes in bulk. A delivery that waited for a retry has its row already and is brought up to date; a final one is
 * never touched again.
 */
export async function upsertDeliveries(tx: Tx, batchId: Uuid, rows: readonly DeliveryRow[]): Promise<void> {
  const column = <Value>(pick: (row: DeliveryRow) => Value): Value[] => rows.map(pick);
  await tx`
    INSERT INTO deliveries (batch_id, device_id, user_id, done_at, latency_ms, credential_id, channel, status, error_code,
      attempts, provider_status, form, provider_ref, urls, timeline)
    SELECT ${batchId}::uuid, r.device_id, r.user_id, to_timestamp(r.done_at_ms / 1000), r.latency_ms, r.credential_id, r.channel,
      r.status, r.error_code, r.attempts, r.provider_status, r.form, r.provider_ref, r.urls::json, r.timeline::json
    FROM unnest(
      ${column((row) => row.deviceId)}::uuid[], ${column((row) => row.userId)}::uuid[],
      ${column((row) => row.doneAtMs)}::float8[], ${column((row) => row.latencyMs)}::int[],
      ${column((row) => row.credentialId)}::smallint[], ${column((row) => row.channel)}::smallint[],
      ${column((row) => row.status)}::smallint[], ${column((row) => row.errorCode)}::smallint[],
      ${column((row) => row.attempts)}::smallint[], ${column((row) => row.providerStatus)}::smallint[],
      ${column((row) => row.form)}::smallint[], ${column((row) => row.providerRef)}::text[],
      ${column((row) => row.urls)}::text[], ${column((row) => row.timeline)}::text[]
    ) AS r (device_id, user_id, done_at_ms, latency_ms, credential_id, channel, status, error_code, attempts,
      provider_status, form, provider_ref, urls, timeline)
    ON CONFLICT (batch_id, device_id) DO UPDATE SET
      done_at = excluded.done_at, latency_ms = excluded.latency_ms, credential_id = excluded.credential_id,
      status = excluded.status, error_code = excluded.error_code, attempts = excluded.attempts,
      provider_status = excluded.provider_status, form = excluded.form, provider_ref = excluded.provider_ref,
      urls = excluded.urls, timeline = excluded.timeline
    WHERE deliveries.status = 0`;
}

export interface EarlyReceipt {
  readonly deviceId: Uuid;
  readonly mark: Mark;
  readonly at: Date;
  readonly action: string | null;
}

/** Takes the receipts that came before these outcomes. */
export async function takeEarlyReceipts(tx: Tx, batchId: Uuid, deviceIds: readonly Uuid[]): Promise<EarlyReceipt[]> {
  return tx<EarlyReceipt[]>`
    DELETE FROM early_receipts WHERE batch_id = ${batchId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[])
    RETURNING device_id, mark, at, action`;
}

/** Sets one mark of one delivery, unless it is set; says whether it was set now, and undefined when there is no such row. */
export async function markDelivery(tx: Tx, batchId: Uuid, receipt: EarlyReceipt): Promise<boolean | undefined> {
  const column = tx(`${receipt.mark}_at`);
  const [row] = await tx<{ isNew: boolean }[]>`
    WITH found AS (
      SELECT ${column} IS NULL AS is_new FROM deliveries
      WHERE batch_id = ${batchId} AND device_id = ${receipt.deviceId} FOR UPDATE
    ), marked AS (
      UPDATE deliveries SET ${column} = ${receipt.at},
        action = ${receipt.mark === 'clicked' ? tx`${receipt.action}` : tx`action`}
      WHERE batch_id = ${batchId} AND device_id = ${receipt.deviceId} AND (SELECT is_new FROM found)
    )
    SELECT is_new FROM found`;
  return row?.isNew;
}

/** Counts marks on the batch: the message sums its batches, so a click never waits for a flush's message row. */
export async function addBatchMarks(tx: Tx, batchId: Uuid, marks: Readonly<Record<Mark, number>>): Promise<void> {
  await tx`
    UPDATE batches SET displayed = displayed + ${marks.displayed}, clicked = clicked + ${marks.clicked},
      dismissed = dismissed + ${marks.dismissed}
    WHERE id = ${batchId}`;
}

/** Makes an app's waiting batches due, retries included: they have something to be told, such as a suspension. */
export async function makeBatchesDue(tx: Tx, clock: Clock, appId: Uuid): Promise<void> {
  await tx`UPDATE batches SET available_at = ${clock.now} WHERE app_id = ${appId} AND state = 'waiting'`;
}

export interface OpenBatch {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly awaitsDevice: boolean;
}

/**
 * Is a delivery of this device still to come? Locks the batch as a flush does, and first as a flush does: after this statement
 * the outcome is either visible or not yet begun, and the two never wait for each other in a circle.
 */
export async function lockBatchForReceipt(tx: Tx, batchId: Uuid, deviceId: Uuid): Promise<OpenBatch | undefined> {
  const [batch] = await tx<OpenBatch[]>`
    SELECT app_id, message_id, ${deviceId}::uuid = ANY(device_ids) AS awaits_device FROM batches
    WHERE id = ${batchId} FOR NO KEY UPDATE`;
  return batch;
}

/** Whose is a batch, and does it still await this device? Takes no lock. */
export async function findOpenBatch(tx: Tx, batchId: Uuid, deviceId: Uuid): Promise<OpenBatch | undefined> {
  const [batch] = await tx<OpenBatch[]>`
    SELECT app_id, message_id, ${deviceId}::uuid = ANY(device_ids) AS awaits_device FROM batches WHERE id = ${batchId}`;
  return batch;
}

/** Keeps a receipt until its outcome is committed; false when the same mark waits already. */
export async function insertEarlyReceipt(tx: Tx, batchId: Uuid, receipt: EarlyReceipt): Promise<boolean> {
  const result = await tx`
    INSERT INTO early_receipts (batch_id, device_id, mark, at, action)
    VALUES (${batchId}, ${receipt.deviceId}, ${receipt.mark}, ${receipt.at}, ${receipt.action})
    ON CONFLICT DO NOTHING`;
  return result.count === 1;
}

export interface KnownForm {
  readonly credentialId: number;
  readonly id: number;
  readonly form: string;
}

/** The answer forms of an app's credentials. */
export async function listAnswerForms(tx: Tx, appId: Uuid): Promise<KnownForm[]> {
  return tx<KnownForm[]>`SELECT credential_id, id, form FROM answer_forms WHERE app_id = ${appId}`;
}

/** Gives a form a number, or finds the number that another process gave it; undefined when there are enough of them. */
export async function insertAnswerForm(
  tx: Tx,
  appId: Uuid,
  form: { credentialId: number; form: string; hash: Buffer; formsMax: number },
): Promise<number | undefined> {
  await tx`
    INSERT INTO answer_forms (app_id, credential_id, id, form, form_hash)
    SELECT ${appId}, ${form.credentialId}, coalesce(max(id), 0) + 1, ${form.form}, ${form.hash} FROM answer_forms
    WHERE app_id = ${appId} AND credential_id = ${form.credentialId}
    HAVING count(*) < ${form.formsMax}
    ON CONFLICT DO NOTHING`;
  const [row] = await tx<{ id: number }[]>`
    SELECT id FROM answer_forms
    WHERE app_id = ${appId} AND credential_id = ${form.credentialId} AND form_hash = ${form.hash}`;
  return row?.id;
}

export interface BatchOfMessage {
  readonly id: Uuid;
  readonly queuedAt: Date;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly isDone: boolean;
}

/** The batches of a message in order, from a batch on: pages walk them. */
export async function listBatches(
  tx: Tx,
  messageId: Uuid,
  fromId: Uuid | null,
  limit: number,
): Promise<BatchOfMessage[]> {
  return tx<BatchOfMessage[]>`
    SELECT id, queued_at, sent, failed, skipped, state = 'done' AS is_done FROM batches
    WHERE message_id = ${messageId} AND (${fromId}::uuid IS NULL OR id >= ${fromId}::uuid)
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

export interface DeliveryFilters {
  readonly status: number | null;
  readonly channel: number | null;
  readonly deviceId: Uuid | null;
  readonly errorNumbers: readonly number[] | null;
}

/** The deliveries of some batches after a position, in the order batch, device. */
export async function listDeliveries(
  tx: Tx,
  batchIds: readonly Uuid[],
  after: { batchId: Uuid; deviceId: Uuid } | null,
  filters: DeliveryFilters,
  limit: number,
): Promise<StoredDelivery[]> {
  const { status, channel, deviceId, errorNumbers } = filters;
  return tx<StoredDelivery[]>`
    SELECT batch_id, device_id, user_id, done_at, displayed_at, clicked_at, dismissed_at, latency_ms, credential_id, channel,
      status, error_code, attempts, provider_status, form, provider_ref, action, timeline
    FROM deliveries
    WHERE batch_id = ANY(${batchIds as Uuid[]}::uuid[])
      ${after ? tx`AND (batch_id, device_id) > (${after.batchId}, ${after.deviceId})` : tx``}
      ${deviceId === null ? tx`` : tx`AND device_id = ${deviceId}`}
      ${status === null ? tx`` : tx`AND status = ${status}`}
      ${channel === null ? tx`` : tx`AND channel = ${channel}`}
      ${errorNumbers === null ? tx`` : tx`AND error_code = ANY(${errorNumbers as number[]}::smallint[])`}
    ORDER BY batch_id, device_id LIMIT ${limit}`;
}

/** Where a click on a delivery leads: the urls stored with it, or null where the content's own hold. */
export async function findDeliveryUrls(
  tx: Tx,
  batchId: Uuid,
  deviceId: Uuid,
): Promise<{ urls: TargetUrls | null; channel: number } | undefined> {
  const [row] = await tx<{ urls: TargetUrls | null; channel: number }[]>`
    SELECT urls, channel FROM deliveries WHERE batch_id = ${batchId} AND device_id = ${deviceId}`;
  return row;
}

export interface TargetRow {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly platform: 'web' | 'ios' | 'android';
  readonly status: string;
  readonly token: string | null;
  readonly credentialId: number | null;
  readonly registeredAt: Date;
  readonly environment: Environment | null;
  readonly locale: string | null;
  readonly firstName: string | null;
  readonly externalId: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly userTimezone: string | null;
}

/** The devices of a batch with what a push needs of each; `properties` are further columns of the audience row `a`. */
export async function selectTargets(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  properties: Fragment,
): Promise<(TargetRow & Record<string, unknown>)[]> {
  return sql<(TargetRow & Record<string, unknown>)[]>`
    SELECT d.id AS device_id, a.user_id, d.platform, d.status, d.token, d.credential_id, d.registered_at,
      coalesce(d.environment, d.environment_found) AS environment, a.locale, a.first_name, a.external_id,
      a.country, a.language, a.timezone, a.user_timezone ${properties}
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} AND d.id = ANY(${deviceIds as Uuid[]}::uuid[])`;
}

/** Which of these devices were retired by the outcome of this very delivery: within a minute after it. */
export async function listInvalidations(
  sql: Sql,
  appId: Uuid,
  failed: readonly { deviceId: Uuid; doneAt: Date }[],
): Promise<Map<Uuid, { at: Date; reason: string }>> {
  if (failed.length === 0) return new Map();
  const rows = await sql<{ deviceId: Uuid; at: Date; reason: string }[]>`
    SELECT c.device_id, c.at, c.reason FROM device_changes c
    WHERE c.app_id = ${appId} AND c.device_id = ANY(${failed.map(({ deviceId }) => deviceId)}::uuid[])
      AND c.status = 'invalid' AND c.reason IS NOT NULL AND c.reason <> 'replaced'
    ORDER BY c.at`;
  const doneAt = new Map(failed.map((one) => [one.deviceId, one.doneAt.getTime()]));
  const found = new Map<Uuid, { at: Date; reason: string }>();
  for (const { deviceId, at, reason } of rows) {
    const afterMs = at.getTime() - (doneAt.get(deviceId) ?? 0);
    if (afterMs >= 0 && afterMs < 60_000 && !found.has(deviceId)) found.set(deviceId, { at, reason });
  }
  return found;
}

/** The external ids of users; one that was erased has none any more. */
export async function listExternalIds(sql: Sql, appId: Uuid, userIds: readonly Uuid[]): Promise<Map<Uuid, string>> {
  if (userIds.length === 0) return new Map();
  const rows = await sql<{ userId: Uuid; externalId: string }[]>`
    SELECT user_id, external_id FROM people WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])`;
  return new Map(rows.map((row) => [row.userId, row.externalId]));
}
