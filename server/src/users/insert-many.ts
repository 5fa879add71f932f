// SQL: many new users at once, for filling an app. Adds and never changes: whoever has a row already keeps it.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { StoredProperties } from '../properties/property.ts';

export interface UserToAdd {
  readonly id: Uuid;
  readonly externalId: string;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
}

/** Which of these external ids belong to somebody already? */
export async function findKnownPeople(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx<{ externalId: string }[]>`
    SELECT external_id FROM people WHERE app_id = ${appId} AND external_id = ANY(${externalIds as string[]}::text[])`;
  return new Set(rows.map((row) => row.externalId));
}

/** Adds people with their profiles. An external id that is taken is an error: then nothing may be kept of the transaction. */
export async function insertUsers(tx: Tx, appId: Uuid, users: readonly UserToAdd[]): Promise<void> {
  const people = users.map(({ id, externalId, createdAt }) => ({
    app_id: appId,
    external_id: externalId,
    user_id: id,
    created_at: createdAt,
  }));
  // One JSON document of rows named by columns: a thousand rows cost one parameter.
  await tx`INSERT INTO people SELECT * FROM jsonb_populate_recordset(NULL::people, ${tx.json(people)})`;
  const profiles = users.map(({ id, externalId, firstName, country, language, timezone, properties, createdAt }) => ({
    app_id: appId,
    external_id: externalId,
    id,
    first_name: firstName,
    country,
    language,
    timezone,
    properties,
    created_at: createdAt,
    updated_at: createdAt,
  }));
  await tx`INSERT INTO users SELECT * FROM jsonb_populate_recordset(NULL::users, ${tx.json(profiles)})`;
}
