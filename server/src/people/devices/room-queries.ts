// SQL: the number of a user's devices, and the devices that make room for another.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/** Counts a user's active and inactive devices, each up to `countMax` and without `exceptId`. */
export async function countDevicesOfUser(
  tx: Tx,
  appId: Uuid,
  externalId: string,
  { exceptId, countMax }: { readonly exceptId: Uuid; readonly countMax: number },
): Promise<{ active: number; inactive: number }> {
  const of = (active: boolean) => tx`
    SELECT count(*) FROM (
      SELECT 1 FROM audience WHERE app_id = ${appId} AND external_id = ${externalId} AND active = ${active}
        AND device_id <> ${exceptId} LIMIT ${countMax}) AS counted`;
  const [row] = await tx<{ active: number; inactive: number }[]>`
    SELECT (${of(true)}) AS active, (${of(false)}) AS inactive`;
  return row ?? { active: 0, inactive: 0 };
}

/** Counts the devices of each of these users. Users without devices are omitted. */
export async function countDevicesOfUsers(
  tx: Tx,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx<{ externalId: string; count: number }[]>`
    SELECT external_id, count(*) AS count FROM audience
    WHERE app_id = ${appId} AND external_id IS NOT NULL AND external_id = ANY(${externalIds as string[]}::text[])
    GROUP BY external_id`;
  return new Map(rows.map(({ externalId, count }) => [externalId, count]));
}

/** Selects the devices that a push or receipt has reached. */
export async function listReached(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<ReadonlySet<Uuid>> {
  const rows = await tx<{ id: Uuid }[]>`
    SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND is_reached`;
  return new Set(rows.map(({ id }) => id));
}

/** Finds the oldest active device of a user that nothing has ever reached. */
export async function findOldestUnreached(
  tx: Tx,
  appId: Uuid,
  externalId: string,
  exceptId: Uuid,
): Promise<Uuid | undefined> {
  // OFFSET 0 keeps the planner from an index in this order, which holds every device of the app.
  const [row] = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM (
      SELECT a.device_id, a.created_at FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
      WHERE a.app_id = ${appId} AND a.external_id = ${externalId} AND a.active AND a.device_id <> ${exceptId}
        AND NOT d.is_reached OFFSET 0) AS unreached
    ORDER BY created_at, device_id LIMIT 1`;
  return row?.deviceId;
}

/**
 * Finds the device of a user that was seen longest ago, among the active or among the inactive
 * ones.
 */
export async function findLongestUnseen(
  tx: Tx,
  appId: Uuid,
  externalId: string,
  { exceptId, isActive }: { readonly exceptId: Uuid; readonly isActive: boolean },
): Promise<Uuid | undefined> {
  const [row] = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience
    WHERE app_id = ${appId} AND external_id = ${externalId} AND active = ${isActive} AND device_id <> ${exceptId}
    ORDER BY last_seen_at, device_id LIMIT 1`;
  return row?.deviceId;
}
