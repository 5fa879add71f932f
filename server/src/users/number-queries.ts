// SQL: the numbers that users are counted by. A number is never given twice in an app.
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/**
 * Takes numbers for so many users and returns the first; those that are not used then are lost, which only makes counting them a
 * little dearer. In a transaction it is the last lock to be taken, since everybody who takes numbers of the app waits for it.
 */
export async function takeUserNumbers(sql: Sql | Tx, appId: Uuid, count: number): Promise<number> {
  const [row] = await sql<{ first: number }[]>`
    INSERT INTO user_numbers AS n (app_id, next_number) VALUES (${appId}, 1 + ${count}::bigint)
    ON CONFLICT (app_id) DO UPDATE SET next_number = n.next_number + ${count}::bigint
    RETURNING next_number - ${count}::bigint AS first`;
  if (!row) throw new Error('an upsert returned no row');
  return row.first;
}

/** Gives users their numbers, one behind the other from `first` on, unless they have one. The caller has locked these people. */
export async function updateNumbers(tx: Tx, appId: Uuid, externalIds: readonly string[], first: number): Promise<void> {
  await tx`
    UPDATE users SET number = ${first}::bigint - 1 + array_position(${externalIds as string[]}::text[], external_id)
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds as string[]}::text[]) AND number IS NULL`;
}

/** The numbers of those of these users that have one. */
export async function listNumbers(
  tx: Tx,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<{ externalId: string; number: number }[]> {
  return tx<{ externalId: string; number: number }[]>`
    SELECT external_id, number FROM users
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds as string[]}::text[]) AND number IS NOT NULL`;
}
