// SQL: whose devices were before, for those who look for what was sent to a device at the time, and who has changed since
// something was worked out by that. Names users by ids alone.
import { type Clock, nowOf } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';

/**
 * Notes whose these devices are, since that ends, and that they and their users have changed. Whoever gives a device to another
 * user or to nobody, or one that is nobody's to somebody, calls it first, with the devices locked.
 */
export async function insertFormerLinks(tx: Tx, clock: Clock, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  await tx`
    WITH linked AS (
      SELECT device_id, user_id FROM audience WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[])
    ), ended AS (
      INSERT INTO former_links AS f (app_id, device_id, user_id, until)
      SELECT ${appId}::uuid, device_id, user_id, ${nowOf(tx, clock)} FROM linked WHERE user_id IS NOT NULL
      ON CONFLICT (app_id, device_id, user_id) DO UPDATE SET until = greatest(f.until, excluded.until)
    )
    INSERT INTO people_changes (app_id, id, ids)
    SELECT ${appId}::uuid, ${mintUuid(clock.nowMs())}::uuid, array_agg(device_id) || array_remove(array_agg(user_id), NULL)
    FROM linked HAVING count(*) > 0`;
}

/** Forgets which devices were a user's, who is erased in this transaction, and notes that these have changed. */
export async function deleteFormerLinksOfUser(tx: Tx, clock: Clock, appId: Uuid, userId: Uuid): Promise<void> {
  await tx`
    WITH gone AS (DELETE FROM former_links WHERE app_id = ${appId} AND user_id = ${userId} RETURNING device_id)
    INSERT INTO people_changes (app_id, id, ids)
    SELECT ${appId}::uuid, ${mintUuid(clock.nowMs())}::uuid, array_agg(device_id) FROM gone HAVING count(*) > 0`;
}

/**
 * Notes that what is known of these devices and users has changed otherwise, as of an instant that may have been a while ago. In
 * the transaction that changes it.
 */
export async function insertPeopleChange(tx: Tx, clock: Clock, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    INSERT INTO people_changes (app_id, id, ids) VALUES (${appId}, ${mintUuid(clock.nowMs())}, ${ids as Uuid[]}::uuid[])`;
}

export interface PeopleChange {
  readonly id: Uuid;
  /** Of devices and of users. */
  readonly ids: readonly Uuid[];
}

/** Who has changed and is not dealt with yet, the earliest first. */
export async function listPeopleChanges(tx: Tx, appId: Uuid, limit: number): Promise<PeopleChange[]> {
  return tx<PeopleChange[]>`SELECT id, ids FROM people_changes WHERE app_id = ${appId} ORDER BY id LIMIT ${limit}`;
}

/** They are dealt with. */
export async function deletePeopleChanges(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM people_changes WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[])`;
}

/** Which apps have links that ended before an instant? Steps from app to app, so that those with none cost a look at an index. */
export async function listAppsWithFormerLinksBefore(sql: Sql, before: Date): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    WITH RECURSIVE linked AS (
      (SELECT app_id FROM former_links ORDER BY app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT f.app_id FROM former_links f WHERE f.app_id > linked.app_id ORDER BY f.app_id LIMIT 1)
      FROM linked WHERE linked.app_id IS NOT NULL
    )
    SELECT app_id FROM linked
    WHERE EXISTS (SELECT FROM former_links f WHERE f.app_id = linked.app_id AND f.until < ${before}) ORDER BY app_id`;
  return rows.map((row) => row.appId);
}

/** Forgets links of an app that ended before an instant, a few at a time; how many. Those that somebody holds stay for the next time. */
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
