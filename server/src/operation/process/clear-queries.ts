// SQL: clears the rows of deleted apps, whichever room owns them. The tables come from the catalog,
// so that no table of an app is forgotten.

import { listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { auditTable } from '../../teams/audit/queries.ts';

/**
 * Lists the apps that were deleted at least `minutes` ago and still have rows, the longest deleted
 * first.
 */
export async function listAppsToClear(sql: Sql, clock: Clock, minutes: number): Promise<Uuid[]> {
  return listValues(sql`
    SELECT id FROM apps
    WHERE deleted_at < ${clock.now} - ${minutes} * interval '1 minute' AND cleared_at IS NULL ORDER BY deleted_at`);
}

/**
 * Lists the tables and partitions that have rows of apps: tokens and profiles first. The audit log
 * keeps its entries.
 */
export async function listTablesOfApps(sql: Sql): Promise<string[]> {
  return listValues(sql`
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'app_id'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> ${auditTable}
    ORDER BY array_position(ARRAY['device_tokens', 'users', 'people', 'audience', 'devices', 'keys', 'credentials'],
      c.relname::text), c.relname`);
}

/** Deletes up to `limit` rows of an app from one table or partition, and returns how many. */
export async function deleteRowsOf(sql: Sql, table: string, appId: Uuid, limit: number): Promise<number> {
  const result = await sql`
    DELETE FROM ${sql(table)} WHERE app_id = ${appId} AND ctid = ANY (ARRAY(
      SELECT ctid FROM ${sql(table)} WHERE app_id = ${appId} LIMIT ${limit}))`;
  return result.count;
}

/** Deletes up to `limit` batches of an app with their deliveries, and returns how many batches. */
export async function deleteBatchesOf(tx: Tx, appId: Uuid, limit: number): Promise<number> {
  const rows = await tx<{ id: Uuid }[]>`SELECT id FROM batches WHERE app_id = ${appId} LIMIT ${limit} FOR UPDATE`;
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await tx`DELETE FROM deliveries WHERE batch_id = ANY (${ids}::uuid[])`;
  await tx`DELETE FROM early_receipts WHERE batch_id = ANY (${ids}::uuid[])`;
  await tx`DELETE FROM batches WHERE id = ANY (${ids}::uuid[]) AND app_id = ${appId}`;
  return ids.length;
}

/** Records that a deleted app has no rows left, and erases the secrets of its own row. */
export async function markAppCleared(sql: Sql, clock: Clock, appId: Uuid): Promise<void> {
  await sql`
    UPDATE apps SET cleared_at = ${clock.now}, identify_secret = NULL, identify_secret_next = NULL,
      identify_bound_required = false, default_url = NULL
    WHERE id = ${appId}`;
}
