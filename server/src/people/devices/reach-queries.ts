// SQL: whether a push or receipt ever reached a device. Until one does, the device may be an
// invention, because strangers can register anything.
import { getValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { isAsRead, type ReadDevice } from './history-queries.ts';

/**
 * Marks these devices as reached. Rows that another transaction has locked are skipped, because the
 * next push marks them again.
 */
export async function markReached(sql: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await sql`
    UPDATE devices SET is_reached = true, unresolved_messages = 0, unresolved_since = NULL
    WHERE app_id = ${appId} AND id = ANY(ARRAY(
      SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND NOT is_reached
      ORDER BY id FOR UPDATE SKIP LOCKED))`;
}

/**
 * Counts one failed message for each of these locked devices, whose host has no address. Returns
 * the devices with `messagesMost` such messages, the last at least `hoursLeast` hours after the
 * first. A device that registered or changed since it was read is not counted.
 */
export async function countUnresolved(
  tx: Tx,
  appId: Uuid,
  read: readonly ReadDevice[],
  { at, messagesMost, hoursLeast }: { readonly at: Date; readonly messagesMost: number; readonly hoursLeast: number },
): Promise<Set<Uuid>> {
  const ids = read.map(({ deviceId }) => deviceId);
  const rows = await tx<{ id: Uuid; isGone: boolean }[]>`
    UPDATE devices SET unresolved_messages = least(unresolved_messages + 1, ${messagesMost}::int),
      unresolved_since = coalesce(unresolved_since, ${at}::timestamptz)
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND status = 'active' AND NOT is_reached
      AND ${isAsRead(tx, read)}
    RETURNING id, unresolved_messages >= ${messagesMost}
      AND unresolved_since <= ${at}::timestamptz - make_interval(hours => ${hoursLeast}) AS is_gone`;
  return new Set(rows.filter(({ isGone }) => isGone).map(({ id }) => id));
}

export interface UnreachedCount {
  readonly appId: Uuid;
  /** Devices that were registered by client key and never reached. */
  readonly unreached: number;
  /** The devices among them that were created before the given instant. */
  readonly old: number;
}

/**
 * Counts, for each app with such devices, the devices that were registered by client key and never
 * reached.
 */
export async function countUnreached(sql: Sql, beforeId: Uuid): Promise<UnreachedCount[]> {
  return sql`
    SELECT app_id, count(*) AS unreached, count(*) FILTER (WHERE id < ${beforeId}) AS old FROM devices
    WHERE by_client AND NOT is_reached GROUP BY app_id ORDER BY app_id`;
}

/** Counts these devices over all apps, up to `countMax`. */
export async function countUnreachedUpTo(sql: Sql, countMax: number): Promise<number> {
  return getValue(sql`
    SELECT count(*) FROM (SELECT 1 FROM devices WHERE by_client AND NOT is_reached LIMIT ${countMax}) AS counted`);
}
