// SQL: devices' locales that an earlier version did not store in canonical form.

import { listValues, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/** Lists the passes that are due, as PostgreSQL writes their instants: a Date has no microseconds. */
export async function listDuePasses(sql: Sql, clock: Clock): Promise<string[]> {
  return listValues(sql`
    SELECT due_at::text AS due_at FROM locale_passes WHERE due_at <= ${clock.now}`);
}

export async function deletePasses(sql: Sql, dueAts: readonly string[]): Promise<void> {
  await sql`DELETE FROM locale_passes WHERE due_at = ANY(${dueAts}::text[]::timestamptz[])`;
}

export interface StoredLocale {
  readonly appId: Uuid;
  readonly deviceId: Uuid;
  readonly locale: string | null;
}

/** Reads the locales of the next devices, of all apps, in the order of the primary key. */
export async function listLocales(
  sql: Sql,
  after: Pick<StoredLocale, 'appId' | 'deviceId'>,
  limit: number,
): Promise<StoredLocale[]> {
  return sql`
    SELECT app_id, device_id, locale FROM audience
    WHERE (app_id, device_id) > (${after.appId}::uuid, ${after.deviceId}::uuid)
    ORDER BY app_id, device_id LIMIT ${limit}`;
}

/**
 * Replaces a locale on the devices among these that still have it and are not locked. Returns their
 * number.
 */
export async function replaceLocale(
  sql: Sql,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  { former, locale }: { former: string; locale: string },
): Promise<number> {
  const result = await sql`
    UPDATE audience SET locale = ${locale}
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience
      WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[]) AND locale = ${former}
      FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
