// SQL: many new people and users at once. Adds rows and never changes one: a person who has a row
// keeps it.
import { copyRows, listValues, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { User } from './user.ts';

export type UserToAdd = Omit<User, 'updatedAt'>;

/**
 * Selects the external ids that have a user id already. Each is looked up as the first one at or
 * after itself in the index. The planner has no statistics of an app that is just being filled; for
 * an equality it would read all people of the app each time.
 */
export async function findKnownPeople(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<Set<string>> {
  const known = await listValues<string>(tx`
    SELECT next.external_id FROM unnest(${externalIds}::text[]) AS asked (external_id)
    CROSS JOIN LATERAL (
      SELECT external_id FROM people WHERE app_id = ${appId} AND external_id >= asked.external_id
      ORDER BY external_id LIMIT 1
    ) AS next
    WHERE next.external_id = asked.external_id`);
  return new Set(known);
}

/**
 * Gives user ids to external ids and returns those that had none. The other external ids keep their
 * user ids.
 */
export async function insertNewPeople(
  tx: Tx,
  appId: Uuid,
  users: readonly Pick<UserToAdd, 'id' | 'externalId' | 'createdAt'>[],
): Promise<Set<string>> {
  const people = users.map(({ id, externalId, createdAt }) => ({
    app_id: appId,
    external_id: externalId,
    user_id: id,
    created_at: createdAt,
  }));
  // One JSON document with rows named by columns: a thousand rows take one parameter.
  const added = await listValues<string>(tx`
    INSERT INTO people SELECT * FROM jsonb_populate_recordset(NULL::people, ${tx.json(people)})
    ON CONFLICT DO NOTHING RETURNING external_id`);
  return new Set(added);
}

/**
 * Like `insertNewPeople`, but waits at most 50 ms for another transaction that adds one of these
 * people. That is several times as long as a group of upserts takes. Then it throws 55P03. The
 * statements are sent in one round trip, in the order of these calls.
 */
export async function insertNewPeopleBriefly(
  tx: Tx,
  appId: Uuid,
  users: Parameters<typeof insertNewPeople>[2],
): Promise<Set<string>> {
  const [, added] = await Promise.all([limitLockWaits(tx), insertNewPeople(tx, appId, users), unlimitLockWaits(tx)]);
  return added;
}

async function limitLockWaits(tx: Tx): Promise<void> {
  await tx`SET LOCAL lock_timeout = '50ms'`;
}

async function unlimitLockWaits(tx: Tx): Promise<void> {
  await tx`SET LOCAL lock_timeout = DEFAULT`;
}

/**
 * Adds people with their profiles. Throws for an external id that is taken; then the transaction
 * must be rolled back.
 */
export async function insertUsers(tx: Tx, appId: Uuid, users: readonly UserToAdd[]): Promise<void> {
  if (users.length === 0) return;
  await copyRows(
    tx`COPY people (app_id, external_id, user_id, created_at) FROM STDIN`,
    users.map(({ id, externalId, createdAt }) => [appId, externalId, id, createdAt]),
  );
  await copyRows(
    tx`
      COPY users (app_id, external_id, id, first_name, country, language, timezone, properties, created_at, updated_at)
      FROM STDIN`,
    users.map(({ id, externalId, firstName, country, language, timezone, properties, createdAt }) => [
      ...[appId, externalId, id, firstName, country, language, timezone, properties, createdAt, createdAt],
    ]),
  );
}
