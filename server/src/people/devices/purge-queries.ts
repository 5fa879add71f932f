// SQL: devices that were registered by client key and that no push ever reached.

import { getValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import type { DeviceStatus } from './device.ts';

export interface PurgedDevice {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly tokenHash: Buffer;
  readonly status: DeviceStatus;
}

/**
 * Counts the devices with an id before `beforeId` that were registered by client key and never
 * reached.
 */
export async function countPurgeable(sql: Sql, appId: Uuid, beforeId: Uuid): Promise<number> {
  return getValue(sql`
    SELECT count(*) FROM devices WHERE app_id = ${appId} AND id < ${beforeId} AND by_client AND NOT is_reached`);
}

/** Lists up to `limit` of these devices, in the order of ids. */
export async function listPurgeable(sql: Sql, appId: Uuid, beforeId: Uuid, limit: number): Promise<PurgedDevice[]> {
  return sql`
    SELECT id, platform, token_hash, status FROM devices
    WHERE app_id = ${appId} AND id < ${beforeId} AND by_client AND NOT is_reached ORDER BY id LIMIT ${limit}`;
}

/** Deletes those of the locked devices that no push has reached meanwhile, and returns them. */
export async function deleteUnreached(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<PurgedDevice[]> {
  return tx`
    DELETE FROM devices WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND by_client AND NOT is_reached
    RETURNING id, platform, token_hash, status`;
}

/** Finds the platform of deleted devices in the history, which stays. */
export async function listFormerPlatforms(
  sql: Sql,
  appId: Uuid,
  ids: readonly Uuid[],
): Promise<ReadonlyMap<Uuid, Platform>> {
  const rows = await sql<{ deviceId: Uuid; platform: Platform }[]>`
    SELECT DISTINCT device_id, platform FROM device_changes
    WHERE app_id = ${appId} AND device_id = ANY(${ids}::uuid[])`;
  return new Map(rows.map(({ deviceId, platform }) => [deviceId, platform]));
}
