// SQL: devices that strangers registered and that nothing ever reached, on their way out.
import type { Platform } from '../channels/channel.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { DeviceStatus } from './device.ts';

export interface PurgedDevice {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly tokenHash: Buffer;
  readonly status: DeviceStatus;
}

/** How many devices of an app were made before an id by client key, and never reached? */
export async function countPurgeable(sql: Sql, appId: Uuid, beforeId: Uuid): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*) FROM devices WHERE app_id = ${appId} AND id < ${beforeId} AND by_client AND NOT is_reached`;
  return row?.count ?? 0;
}

/** Some of them, by id. */
export async function listPurgeable(sql: Sql, appId: Uuid, beforeId: Uuid, limit: number): Promise<PurgedDevice[]> {
  return sql<PurgedDevice[]>`
    SELECT id, platform, token_hash, status FROM devices
    WHERE app_id = ${appId} AND id < ${beforeId} AND by_client AND NOT is_reached ORDER BY id LIMIT ${limit}`;
}

/** Deletes those of these locked devices that nothing has reached meanwhile; the answer tells which. */
export async function deleteUnreached(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<PurgedDevice[]> {
  return tx<PurgedDevice[]>`
    DELETE FROM devices WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND by_client AND NOT is_reached
    RETURNING id, platform, token_hash, status`;
}

/** The platform of devices that are not there any more, by the history that stays of them. */
export async function listFormerPlatforms(
  sql: Sql,
  appId: Uuid,
  ids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, Platform>> {
  const rows = await sql<{ deviceId: Uuid; platform: Platform }[]>`
    SELECT DISTINCT device_id, platform FROM device_changes
    WHERE app_id = ${appId} AND device_id = ANY(${ids as Uuid[]}::uuid[])`;
  return new Map(rows.map(({ deviceId, platform }) => [deviceId, platform]));
}
