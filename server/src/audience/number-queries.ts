// SQL: the numbers of users on the rows of their devices. Users are counted by number. The room
// `users` assigns the numbers.
import type { Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { placeOfNumber } from './profile-copy.ts';

/**
 * Lists the apps that have a device with `user_bit` 0: its user has no number yet, or the row is
 * from before users had numbers.
 */
export async function listAppsWithUnnumbered(sql: Sql): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    SELECT DISTINCT app_id FROM audience WHERE user_bit = 0 ORDER BY app_id`;
  return rows.map((row) => row.appId);
}

/**
 * The next users after `after` that have a device and no number, in the order of their external
 * ids.
 */
export async function listUnnumbered(sql: Sql, appId: Uuid, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ externalId: string }[]>`
    SELECT DISTINCT external_id FROM audience
    WHERE app_id = ${appId} AND user_bit = 0 AND external_id IS NOT NULL AND external_id > ${after}
    ORDER BY external_id LIMIT ${limit}`;
  return rows.map((row) => row.externalId);
}

/**
 * Writes the numbers of users to the rows of all their devices. The caller has locked the users and
 * these devices. `array_position` replaces a join, because a distributed database cannot join with
 * a list.
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
 * Sets `user_bit` to null on devices without a user that were added before users had numbers, so
 * that no user is counted for them. Rows that another transaction has locked are skipped until the
 * next run. Returns the number of changed rows.
 */
export async function clearBitsOfNobody(sql: Sql, appId: Uuid, limit: number): Promise<number> {
  const result = await sql`
    UPDATE audience SET user_bit = NULL
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND user_bit = 0 AND external_id IS NULL
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
