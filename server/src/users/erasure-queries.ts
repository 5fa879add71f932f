// SQL: erased users of whom something is still to be cleared.
import type { Clock } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface Erasure {
  readonly appId: Uuid;
  /** Resolves to nobody any more. */
  readonly userId: Uuid;
  /** The devices that were theirs. */
  readonly deviceIds: readonly Uuid[];
  /** In the same order: the random id under which what a device did before `at` goes on. */
  readonly forgottenIds: readonly Uuid[];
  readonly at: Date;
}

/** Notes that something is to be cleared. */
export async function insertErasure(tx: Tx, erasure: Erasure): Promise<void> {
  const { appId, userId, deviceIds, forgottenIds, at } = erasure;
  await tx`
    INSERT INTO erasures (app_id, user_id, device_ids, forgotten_ids, at)
    VALUES (${appId}, ${userId}, ${deviceIds as Uuid[]}::uuid[], ${forgottenIds as Uuid[]}::uuid[], ${at})`;
}

/** The apps that have erasures from before the last `quietSeconds`. */
export async function listAppsWithErasures(sql: Sql, clock: Clock, quietSeconds: number): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    SELECT DISTINCT app_id FROM erasures WHERE at < ${clock.now} - ${quietSeconds} * interval '1 second' ORDER BY app_id`;
  return rows.map(({ appId }) => appId);
}

/** An app's erasures from before the last `quietSeconds`, oldest first. */
export async function listErasures(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  quietSeconds: number,
  limit: number,
): Promise<Erasure[]> {
  return sql<Erasure[]>`
    SELECT app_id, user_id, device_ids, forgotten_ids, at FROM erasures
    WHERE app_id = ${appId} AND at < ${clock.now} - ${quietSeconds} * interval '1 second'
    ORDER BY at, user_id LIMIT ${limit}`;
}

/** Holds erasures until the transaction ends; how many of them were there and free. */
export async function lockErasures(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<number> {
  const rows = await tx`
    SELECT 1 FROM erasures WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])
    FOR UPDATE SKIP LOCKED`;
  return rows.length;
}

/** Nothing of these users is to be cleared any more. */
export async function deleteErasures(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM erasures WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])`;
}
