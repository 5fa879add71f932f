// SQL of outcomes: the rows of `deliveries`, receipts that came before their outcome, and the forms
// that keep answers short.
import { copyBytes, findRow, findValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { type Attempt, type Mark, statusNumber } from './delivery.ts';
import { type DeliveryRow, encodeDeliveries } from './delivery-row.ts';

export interface RecordedDelivery {
  readonly deviceId: Uuid;
  readonly status: number;
  readonly attempts: number;
  readonly timeline: readonly Attempt[] | null;
}

/** The devices of a batch that have a row, and the attempts of those that wait for a retry. */
export async function listRecorded(sql: Sql, batchId: Uuid): Promise<RecordedDelivery[]> {
  return sql`
    SELECT device_id, status, attempts, CASE WHEN status = 0 THEN timeline END AS timeline
    FROM deliveries WHERE batch_id = ${batchId}`;
}

/**
 * Writes outcomes in bulk. A delivery that waited for a retry already has a row, which is updated.
 * A final row is never changed.
 */
export async function upsertDeliveries(tx: Tx, batchId: Uuid, rows: readonly DeliveryRow[]): Promise<void> {
  await tx`
    INSERT INTO deliveries (batch_id, device_id, user_id, done_at, latency_ms, credential_id, channel, status, error_code,
      attempts, provider_status, form, provider_ref, urls, timeline)
    SELECT ${batchId}::uuid, r.device_id, r.user_id, to_timestamp(r.done_at_ms / 1000), r.latency_ms, r.credential_id, r.channel,
      r.status, r.error_code, r.attempts, r.provider_status, r.form, r.provider_ref, r.urls::json, r.timeline::json
    FROM ${tx.rows('r', { uuid: ['deviceId', 'userId'], float8: ['doneAtMs'], int: ['latencyMs'], smallint: ['credentialId', 'channel', 'status', 'errorCode', 'attempts', 'providerStatus', 'form'], text: ['providerRef', 'urls', 'timeline'] }, rows)}
    ON CONFLICT (batch_id, device_id) DO UPDATE SET
      done_at = excluded.done_at, latency_ms = excluded.latency_ms, credential_id = excluded.credential_id,
      status = excluded.status, error_code = excluded.error_code, attempts = excluded.attempts,
      provider_status = excluded.provider_status, form = excluded.form, provider_ref = excluded.provider_ref,
      urls = excluded.urls, timeline = excluded.timeline
    WHERE deliveries.status = 0`;
}

/**
 * Writes outcomes of deliveries without a row, at half the cost of `upsertDeliveries`. If any row
 * exists, none is written.
 */
export async function copyDeliveries(tx: Tx, batchId: Uuid, rows: readonly DeliveryRow[]): Promise<void> {
  if (rows.length === 0) return;
  const copy = tx`
    COPY deliveries (batch_id, device_id, user_id, done_at, latency_ms, credential_id, channel, status, error_code, attempts,
      provider_status, form, provider_ref, urls, timeline) FROM STDIN (FORMAT binary)`;
  await copyBytes(copy, encodeDeliveries(batchId, rows));
}

/**
 * Deletes the urls of deliveries of these users. For the given devices it clears only deliveries
 * without a user, in batches before `beforeBatch`. Answers how many deliveries it cleared, at most
 * `limit`.
 */
export async function clearUrls(
  tx: Tx,
  userIds: readonly Uuid[],
  devices: readonly { readonly id: Uuid; readonly beforeBatch: Uuid }[],
  limit: number,
): Promise<number> {
  const deviceIds = devices.map(({ id }) => id);
  const result = await tx`
    WITH found AS (
      SELECT batch_id, device_id FROM deliveries
      WHERE coalesce(user_id, device_id) = ANY(${[...userIds, ...deviceIds]}::uuid[]) AND urls IS NOT NULL
        AND (user_id IS NOT NULL OR batch_id <
          (${devices.map(({ beforeBatch }) => beforeBatch)}::uuid[])[array_position(${deviceIds}::uuid[], device_id)])
      LIMIT ${limit} FOR UPDATE
    )
    UPDATE deliveries d SET urls = NULL FROM found WHERE d.batch_id = found.batch_id AND d.device_id = found.device_id`;
  return result.count;
}

export interface EarlyReceipt {
  readonly deviceId: Uuid;
  readonly mark: Mark;
  readonly at: Date;
  readonly action: string | null;
}

/**
 * The devices of a batch with receipts that came before their outcomes. Nearly always there are
 * none.
 */
export async function listEarlyDevices(tx: Tx, batchId: Uuid): Promise<Uuid[]> {
  return listValues(tx`SELECT device_id FROM early_receipts WHERE batch_id = ${batchId}`);
}

/** Deletes and answers the receipts that came before these outcomes. */
export async function takeEarlyReceipts(tx: Tx, batchId: Uuid, deviceIds: readonly Uuid[]): Promise<EarlyReceipt[]> {
  return tx`
    DELETE FROM early_receipts WHERE batch_id = ${batchId} AND device_id = ANY(${deviceIds}::uuid[])
    RETURNING device_id, mark, at, action`;
}

export interface MarkedDelivery {
  /** True when this call set the mark. */
  readonly isNew: boolean;
  /** True when the push service had accepted the push. */
  readonly wasSent: boolean;
}

/** Sets one mark of one delivery if it is not set. Undefined when there is no such row. */
export async function markDelivery(tx: Tx, batchId: Uuid, receipt: EarlyReceipt): Promise<MarkedDelivery | undefined> {
  const column = tx(`${receipt.mark}_at`);
  return findRow(tx`
    WITH found AS (
      SELECT ${column} IS NULL AS is_new, status = ${statusNumber('sent')} AS was_sent FROM deliveries
      WHERE batch_id = ${batchId} AND device_id = ${receipt.deviceId} FOR UPDATE
    ), marked AS (
      UPDATE deliveries SET ${column} = ${receipt.at},
        action = ${receipt.mark === 'clicked' ? tx`${receipt.action}` : tx`action`}
      WHERE batch_id = ${batchId} AND device_id = ${receipt.deviceId} AND (SELECT is_new FROM found)
    )
    SELECT is_new, was_sent FROM found`);
}

/** Keeps a receipt until its outcome is committed. False when the same mark is already kept. */
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
  return tx`SELECT credential_id, id, form FROM answer_forms WHERE app_id = ${appId}`;
}

/**
 * Numbers a form, or finds the number that another process gave it. Undefined when the credential
 * already has `formsMax` forms.
 */
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
  return findValue(tx`
    SELECT id FROM answer_forms
    WHERE app_id = ${appId} AND credential_id = ${form.credentialId} AND form_hash = ${form.hash}`);
}
