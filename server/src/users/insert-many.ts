// SQL: many new users at once, for filling an app. Adds and never changes: whoever has a row already keeps it.
import { copyRows } from '../platform/copy-rows.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { StoredProperties } from '../properties/property.ts';

export interface UserToAdd {
  readonly id: Uuid;
  readonly number: number;
  readonly externalId: string;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
}

/**
 * Which of these external ids belong to somebody already? Each is looked up as the first in its order from there on: of an app that is
 * just being filled the planner knows nothing, and asked for equal ones it would read all who are there, each time.
 */
export async function findKnownPeople(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx<{ externalId: string }[]>`
    SELECT next.external_id FROM unnest(${externalIds as string[]}::text[]) AS asked (external_id)
    CROSS JOIN LATERAL (
      SELECT external_id FROM people WHERE app_id = ${appId} AND external_id >= asked.external_id
      ORDER BY external_id LIMIT 1
    ) AS next
    WHERE next.external_id = asked.external_id`;
  return new Set(rows.map((row) => row.externalId));
}

/** Gives external ids their user ids. Returns those that had none; the others' are taken. */
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
  // One JSON document of rows named by columns: a thousand rows cost one parameter.
  const rows = await tx<{ externalId: string }[]>`
    INSERT INTO people SELECT * FROM jsonb_populate_recordset(NULL::people, ${tx.json(people)})
    ON CONFLICT DO NOTHING RETURNING external_id`;
  return new Set(rows.map((row) => row.externalId));
}

/** Adds people with their profiles. An external id that is taken is an error: then nothing may be kept of the transaction. */
export async function insertUsers(tx: Tx, appId: Uuid, users: readonly UserToAdd[]): Promise<void> {
  if (users.length === 0) return;
  await copyRows(
    tx`COPY people (app_id, external_id, user_id, created_at) FROM STDIN`,
    users.map(({ id, externalId, createdAt }) => [appId, externalId, id, createdAt]),
  );
  await insertProfiles(tx, appId, users);
}

/** Adds the profiles of people who have none. */
export async function insertProfiles(tx: Tx, appId: Uuid, users: readonly UserToAdd[]): Promise<void> {
  if (users.length === 0) return;
  await copyRows(
    tx`
      COPY users (app_id, external_id, id, number, first_name, country, language, timezone, properties, created_at, updated_at)
      FROM STDIN`,
    users.map(({ id, number, externalId, firstName, country, language, timezone, properties, createdAt }) => [
      ...[appId, externalId, id, number, firstName, country, language, timezone, properties, createdAt, createdAt],
    ]),
  );
}
