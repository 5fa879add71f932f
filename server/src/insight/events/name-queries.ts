// SQL: the names of an app's events and their number, among the folded sums and the deltas.

import { getValue, listValues, type Tx } from '@carillon/postgres';
import { advisoryLocksOfApp } from '../../ground/database/advisory-locks.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * Locks an app's names until the transaction ends, so that one request at a time adds new names.
 */
export async function lockNames(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${advisoryLocksOfApp.eventNames}, hashtext(${appId}::text))`;
}

/** Selects the names that were tracked already. */
export async function listStoredNames(tx: Tx, appId: Uuid, names: readonly string[]): Promise<string[]> {
  return listValues(tx`
    SELECT name FROM event_names WHERE app_id = ${appId} AND name = ANY(${names}::text[])
    UNION
    SELECT name FROM rollup_deltas WHERE app_id = ${appId} AND name = ANY(${names}::text[])`);
}

/** Counts the names that were tracked. */
export async function countStoredNames(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`
    SELECT count(*) AS count
    FROM (
      SELECT name FROM event_names WHERE app_id = ${appId}
      UNION
      SELECT name FROM rollup_deltas WHERE app_id = ${appId}
    ) AS tracked`);
}

/** Counts the names that client keys added. */
export async function countClientNames(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`SELECT count(*) FROM client_names WHERE app_id = ${appId}`);
}

/** Records that client keys added these names. */
export async function insertClientNames(tx: Tx, appId: Uuid, names: readonly string[]): Promise<void> {
  await tx`
    INSERT INTO client_names (app_id, name) SELECT ${appId}, name FROM unnest(${names}::text[]) AS n (name)
    ON CONFLICT DO NOTHING`;
}

/** Deletes the record that a client key added this name. */
export async function deleteClientName(tx: Tx, appId: Uuid, name: string): Promise<void> {
  await tx`DELETE FROM client_names WHERE app_id = ${appId} AND name = ${name}`;
}
