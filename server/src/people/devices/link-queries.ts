// SQL: the former users of devices, by which reports find the deliveries of that time, and the
// changes of people since their events were classed. Names users by ids only.

import { listValues, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';

/**
 * Stores the users of these devices before their link ends, and records that the devices and users
 * have changed. Every transaction that links a device to another user or to nobody, or links one
 * that belonged to nobody, calls this first, with the devices locked.
 */
export async function insertFormerLinks(tx: Tx, clock: Clock, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  await tx`
    WITH linked AS (
      SELECT device_id, user_id FROM audience WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[])
    ), ended AS (
      INSERT INTO former_links AS f (app_id, device_id, user_id, until)
      SELECT ${appId}::uuid, device_id, user_id, ${nowOf(tx, clock)} FROM linked WHERE user_id IS NOT NULL
      ON CONFLICT (app_id, device_id, user_id) DO UPDATE SET until = greatest(f.until, excluded.until)
    )
    INSERT INTO people_changes (app_id, id, ids)
    SELECT ${appId}::uuid, ${mintUuid(clock.nowMs())}::uuid, array_agg(device_id) || array_remove(array_agg(user_id), NULL)
    FROM linked HAVING count(*) > 0`;
}

/**
 * Deletes the former links of a user who is erased in this transaction, and records that their
 * devices have changed.
 */
export async function deleteFormerLinksOfUser(tx: Tx, clock: Clock, appId: Uuid, userId: Uuid): Promise<void> {
  await tx`
    WITH gone AS (DELETE FROM former_links WHERE app_id = ${appId} AND user_id = ${userId} RETURNING device_id)
    INSERT INTO people_changes (app_id, id, ids)
    SELECT ${appId}::uuid, ${mintUuid(clock.nowMs())}::uuid, array_agg(device_id) FROM gone HAVING count(*) > 0`;
}

/**
 * Records another change of these devices and users. Call it in the transaction of the change. The
 * change may take effect from an earlier instant.
 */
export async function insertPeopleChange(tx: Tx, clock: Clock, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    INSERT INTO people_changes (app_id, id, ids) VALUES (${appId}, ${mintUuid(clock.nowMs())}, ${ids}::uuid[])`;
}

export interface PeopleChange {
  readonly id: Uuid;
  /** Ids of devices and of users. */
  readonly ids: readonly Uuid[];
}

/** Lists the changes that are not processed yet, the earliest first. */
export async function listPeopleChanges(tx: Tx, appId: Uuid, limit: number): Promise<PeopleChange[]> {
  return tx`SELECT id, ids FROM people_changes WHERE app_id = ${appId} ORDER BY id LIMIT ${limit}`;
}

/** Deletes changes that were processed. */
export async function deletePeopleChanges(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM people_changes WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
}

/**
 * Lists the apps that have links which ended before an instant. Steps from app to app, so that an
 * app without any costs one look at an index.
 */
export async function listAppsWithFormerLinksBefore(sql: Sql, before: Date): Promise<Uuid[]> {
  return listValues(sql`
    WITH RECURSIVE linked AS (
      (SELECT app_id FROM former_links ORDER BY app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT f.app_id FROM former_links f WHERE f.app_id > linked.app_id ORDER BY f.app_id LIMIT 1)
      FROM linked WHERE linked.app_id IS NOT NULL
    )
    SELECT app_id FROM linked
    WHERE EXISTS (SELECT FROM former_links f WHERE f.app_id = linked.app_id AND f.until < ${before}) ORDER BY app_id`);
}

/**
 * Deletes up to `limit` links of an app that ended before an instant, and returns how many. Rows
 * that another transaction has locked are skipped until the next run.
 */
export async function deleteFormerLinksBefore(sql: Sql, appId: Uuid, before: Date, limit: number): Promise<number> {
  const result = await sql`
    WITH old AS MATERIALIZED (
      SELECT device_id, user_id FROM former_links WHERE app_id = ${appId} AND until < ${before}
      LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    DELETE FROM former_links f USING old
    WHERE f.app_id = ${appId} AND f.device_id = old.device_id AND f.user_id = old.user_id`;
  return result.count;
}
