// SQL: the people and devices that a test of a message reaches.

import { findRow, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface TestUsers {
  readonly externalIds: readonly string[];
  readonly deviceIds: readonly Uuid[];
  readonly updatedAt: Date;
}

export async function findTestUsers(tx: Tx, appId: Uuid): Promise<TestUsers | undefined> {
  return findRow(tx`
    SELECT external_ids, device_ids, updated_at FROM test_users WHERE app_id = ${appId}`);
}

/** Makes the list of an app that has none. Returns false when it has one. */
export async function insertTestUsers(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { externalIds, deviceIds }: Omit<TestUsers, 'updatedAt'>,
): Promise<boolean> {
  const result = await tx`
    INSERT INTO test_users (app_id, external_ids, device_ids, updated_at)
    VALUES (${appId}, ${externalIds}, ${deviceIds}, ${nowOf(tx, clock)}) ON CONFLICT DO NOTHING`;
  return result.count === 1;
}

/** Locks the list until the transaction ends. */
export async function lockTestUsers(tx: Tx, appId: Uuid): Promise<TestUsers | undefined> {
  return findRow(tx`
    SELECT external_ids, device_ids, updated_at FROM test_users WHERE app_id = ${appId} FOR UPDATE`);
}

/** Replaces the list. `updated_at` always grows. */
export async function updateTestUsers(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { externalIds, deviceIds }: Omit<TestUsers, 'updatedAt'>,
): Promise<void> {
  await tx`
    UPDATE test_users SET external_ids = ${externalIds}, device_ids = ${deviceIds},
      updated_at = greatest(${nowOf(tx, clock)}, updated_at + interval '1 millisecond')
    WHERE app_id = ${appId}`;
}

/** Removes an erased person from the list. Their devices are opted out, so no test reaches them. */
export async function forgetTestUser(tx: Tx, appId: Uuid, externalId: string): Promise<void> {
  await tx`
    UPDATE test_users SET external_ids = array_remove(external_ids, ${externalId}::text)
    WHERE app_id = ${appId} AND external_ids @> ARRAY[${externalId}::text]`;
}

export interface ReachedDevice {
  readonly deviceId: Uuid;
  readonly externalId: string | null;
}

/**
 * Lists the active devices of the list's people, up to `limitEach` of each, and those named by id.
 */
export async function listTestDevices(
  sql: Sql,
  appId: Uuid,
  { externalIds, deviceIds }: Omit<TestUsers, 'updatedAt'>,
  limitEach: number,
): Promise<ReachedDevice[]> {
  return sql`
    SELECT device_id, external_id FROM (
      SELECT a.device_id, a.external_id,
        row_number() OVER (PARTITION BY a.external_id ORDER BY a.created_at DESC, a.device_id DESC) AS place
      FROM audience a
      WHERE a.app_id = ${appId} AND a.active AND a.external_id = ANY(${externalIds}::text[])
    ) newest WHERE place <= ${limitEach}
    UNION
    SELECT device_id, external_id FROM audience
    WHERE app_id = ${appId} AND active AND device_id = ANY(${deviceIds}::uuid[])`;
}
