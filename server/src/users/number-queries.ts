// SQL: the numbers by which users are counted. A number is never used twice in an app.
import type { Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';

/**
 * Takes `count` numbers and returns the first. Unused numbers are lost, which only makes counts of
 * users a little slower. In a transaction this is the last lock to take, because every process that
 * takes numbers of the app waits for it.
 */
export async function takeUserNumbers(sql: Sql | Tx, appId: Uuid, count: number): Promise<number> {
  const [row] = await sql<{ first: number }[]>`
    INSERT INTO user_numbers AS n (app_id, next_number) VALUES (${appId}, 1 + ${count}::bigint)
    ON CONFLICT (app_id) DO UPDATE SET next_number = n.next_number + ${count}::bigint
    RETURNING next_number - ${count}::bigint AS first`;
  if (!row) throw new Error('an upsert returned no row');
  return row.first;
}

/**
 * Gives users consecutive numbers from `first` on, unless they have one. The caller has locked
 * these people.
 */
export async function updateNumbers(tx: Tx, appId: Uuid, externalIds: readonly string[], first: number): Promise<void> {
  await tx`
    UPDATE users SET number = ${first}::bigint - 1 + array_position(${externalIds as string[]}::text[], external_id)
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds as string[]}::text[]) AND number IS NULL`;
}

/** Lists the numbers of these users; users without one are omitted. */
export async function listNumbers(
  tx: Tx,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<{ externalId: string; number: number }[]> {
  return tx<{ externalId: string; number: number }[]>`
    SELECT external_id, number FROM users
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds as string[]}::text[]) AND number IS NOT NULL`;
}
