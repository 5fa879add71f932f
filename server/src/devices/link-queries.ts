// SQL: whose devices were before, for those who look for what was sent to a device at the time. Names users by ids alone.
import { type Clock, nowOf } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/**
 * Notes whose these devices are, since that ends. Whoever gives a device to another user or to nobody calls it first, with the
 * devices locked.
 */
export async function insertFormerLinks(tx: Tx, clock: Clock, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  await tx`
    INSERT INTO former_links AS f (app_id, device_id, user_id, until)
    SELECT app_id, device_id, user_id, ${nowOf(tx, clock)} FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[]) AND user_id IS NOT NULL
    ON CONFLICT (app_id, device_id, user_id) DO UPDATE SET until = greatest(f.until, excluded.until)`;
}

/** Forgets which devices were a user's, who is erased in this transaction. */
export async function deleteFormerLinksOfUser(tx: Tx, appId: Uuid, userId: Uuid): Promise<void> {
  await tx`DELETE FROM former_links WHERE app_id = ${appId} AND user_id = ${userId}`;
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
