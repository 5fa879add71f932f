// SQL: the numbers of users on the rows of their devices, which users are counted by. Gives no numbers itself.
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { placeOfNumber } from './profile-copy.ts';

/** Which apps have devices whose number is to be looked after? */
export async function listAppsWithUnnumbered(sql: Sql): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    SELECT DISTINCT app_id FROM audience WHERE user_bit = 0 ORDER BY app_id`;
  return rows.map((row) => row.appId);
}

/** The next users without a number who have a device, in the order of their external ids. */
export async function listUnnumbered(sql: Sql, appId: Uuid, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ externalId: string }[]>`
    SELECT DISTINCT external_id FROM audience
    WHERE app_id = ${appId} AND user_bit = 0 AND external_id IS NOT NULL AND external_id > ${after}
    ORDER BY external_id LIMIT ${limit}`;
  return rows.map((row) => row.externalId);
}

/**
 * Writes the numbers of users onto the rows of all their devices. The caller has locked the users and these devices. The place in the
 * arrays stands for a join, which a distributed database could not make with a list.
 */
export async function updateUserNumbers(
  tx: Tx,
  appId: Uuid,
  users: readonly { readonly externalId: string; readonly number: number }[],
): Promise<void> {
  const externalIds = users.map(({ externalId }) => externalId);
  const places = users.map(({ number }) => placeOfNumber(number));
  await tx`
    UPDATE audience SET
      user_block = (${places.map((place) => place.user_block)}::int[])[array_position(${externalIds}::text[], external_id)],
      user_bit = (${places.map((place) => place.user_bit)}::int[])[array_position(${externalIds}::text[], external_id)]
    WHERE app_id = ${appId} AND external_id IS NOT NULL AND external_id = ANY(${externalIds}::text[])`;
}

/**
 * Notes of some devices that are nobody's that nobody is to be counted for them, as is known of those that were added since users have
 * numbers; how many. Those that somebody holds are left for the next time.
 */
export async function clearBitsOfNobody(sql: Sql, appId: Uuid, limit: number): Promise<number> {
  const result = await sql`
    UPDATE audience SET user_bit = NULL
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND user_bit = 0 AND external_id IS NULL
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
