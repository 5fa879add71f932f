// SQL: `people` (external id → user id) and `users`.

import { beginsWith, type Fragment, findRow, findValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import type { User } from './user.ts';

const userColumns = (tx: Tx): Fragment => tx`
  id, external_id, first_name, country, language, timezone, properties, created_at, updated_at`;

/**
 * Finds and locks the user id of an external id, so that writes about one user run one after the
 * other.
 */
export async function lockPerson(tx: Tx, appId: Uuid, externalId: string): Promise<Uuid | undefined> {
  return findValue(tx`
    SELECT user_id FROM people WHERE app_id = ${appId} AND external_id = ${externalId} FOR UPDATE`);
}

/** Like `lockPerson`, but skips a person whom another transaction has locked. */
export async function lockPersonUnlessBusy(tx: Tx, appId: Uuid, externalId: string): Promise<Uuid | undefined> {
  return findValue(tx`
    SELECT user_id FROM people WHERE app_id = ${appId} AND external_id = ${externalId} FOR UPDATE SKIP LOCKED`);
}

/** Finds the user id of an external id, also of a person that only events named. */
export async function findPersonId(sql: Sql, appId: Uuid, externalId: string): Promise<Uuid | undefined> {
  return findValue(sql`
    SELECT user_id FROM people WHERE app_id = ${appId} AND external_id = ${externalId}`);
}

/**
 * Gives an external id its user id; returns false when it has one. Waits for a transaction that
 * gives it one.
 */
export async function insertPerson(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  externalId: string,
  userId: Uuid,
): Promise<boolean> {
  const result = await tx`
    INSERT INTO people (app_id, external_id, user_id, created_at)
    VALUES (${appId}, ${externalId}, ${userId}, ${clock.now}) ON CONFLICT DO NOTHING`;
  return result.count === 1;
}

/** Finds the user ids of these external ids; external ids without one are omitted. */
export async function listPeople(
  tx: Tx,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, Uuid>> {
  const rows = await tx<{ externalId: string; userId: Uuid }[]>`
    SELECT external_id, user_id FROM people
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds}::text[])`;
  return new Map(rows.map((row) => [row.externalId, row.userId]));
}

/**
 * Gives external ids their user ids; external ids that have one keep it. The caller sorts them by
 * external id, as every transaction does.
 */
export async function insertPeople(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  people: readonly { readonly externalId: string; readonly userId: Uuid }[],
): Promise<void> {
  await tx`
    INSERT INTO people (app_id, external_id, user_id, created_at)
    SELECT ${appId}, p.external_id, p.user_id, ${clock.now}
    FROM ${tx.rows('p', { text: ['externalId'], uuid: ['userId'] }, people)}
    ON CONFLICT DO NOTHING`;
}

/** Deletes the user id of an external id. */
export async function deletePerson(tx: Tx, appId: Uuid, externalId: string): Promise<void> {
  await tx`DELETE FROM people WHERE app_id = ${appId} AND external_id = ${externalId}`;
}

export async function findUser(tx: Tx, appId: Uuid, externalId: string): Promise<User | undefined> {
  return findRow(tx`
    SELECT ${userColumns(tx)} FROM users WHERE app_id = ${appId} AND external_id = ${externalId}`);
}

export async function findUsers(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<User[]> {
  return tx`
    SELECT ${userColumns(tx)} FROM users
    WHERE app_id = ${appId} AND external_id = ANY(${externalIds}::text[])`;
}

/** Lists an app's profiles in the order of external ids, after one. */
export async function listUsers(
  sql: Sql,
  appId: Uuid,
  afterExternalId: string,
  limit: number,
  /** An id, or the beginning of an external id or a first name. */
  search: string | null = null,
): Promise<User[]> {
  const id = search === null ? undefined : decodeId('usr', search);
  const begins = (lowered: Fragment): Fragment => beginsWith(sql, lowered, search ?? '');
  const found =
    id === undefined
      ? sql`(${begins(sql`lower(external_id)`)} OR (first_name IS NOT NULL AND ${begins(sql`lower(first_name)`)}))`
      : sql`id = ${id}`;
  return sql`
    SELECT ${userColumns(sql)} FROM users WHERE app_id = ${appId} AND external_id > ${afterExternalId}
      ${search === null ? sql`` : sql`AND ${found}`}
    ORDER BY external_id LIMIT ${limit}`;
}

/**
 * The number of profiles that `listProfileTexts` reads, because many people may have the same first
 * name.
 */
const profilesLookedAt = 2_000;

/** Lists external ids or first names that begin with a text, letter case ignored. */
export async function listProfileTexts(
  sql: Sql,
  appId: Uuid,
  field: 'external_id' | 'first_name',
  search: string,
  limit: number,
): Promise<string[]> {
  return listValues(sql`
    SELECT DISTINCT value
    FROM (
      SELECT ${sql(field)} AS value FROM users
      WHERE app_id = ${appId} AND ${sql(field)} IS NOT NULL AND ${beginsWith(sql, sql`lower(${sql(field)})`, search)}
      LIMIT ${profilesLookedAt}
    ) AS found
    ORDER BY value LIMIT ${limit}`);
}

export type UserWrite = Omit<User, 'createdAt' | 'updatedAt'>;

/**
 * Adds profiles and returns their times of creation, by external id. A given time that is not past
 * is replaced by the present.
 */
export async function insertUsers(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  users: readonly (UserWrite & { readonly createdAt: Date | null })[],
): Promise<ReadonlyMap<string, Date>> {
  if (users.length === 0) return new Map();
  const columns = {
    text: ['externalId', 'firstName', 'country', 'language', 'timezone'],
    uuid: ['id'],
    jsonb: ['properties'],
    timestamptz: ['createdAt'],
  } as const;
  const inserted = await tx<Pick<User, 'externalId' | 'createdAt'>[]>`
    INSERT INTO users (app_id, external_id, id, first_name, country, language, timezone, properties, created_at, updated_at)
    SELECT ${appId}, u.external_id, u.id, u.first_name, u.country, u.language, u.timezone, u.properties,
      least(u.created_at, ${nowOf(tx, clock)}), least(u.created_at, ${nowOf(tx, clock)})
    FROM ${tx.rows('u', columns, users)}
    RETURNING external_id, created_at`;
  return new Map(inserted.map(({ externalId, createdAt }) => [externalId, createdAt]));
}

/**
 * Updates profiles of locked people, and returns the instant that they all have as their last
 * update. `array_position` replaces a join, because a distributed database cannot join with a list.
 */
export async function updateUsers(tx: Tx, clock: Clock, appId: Uuid, users: readonly UserWrite[]): Promise<Date> {
  const ids = users.map(({ externalId }) => externalId);
  const place = tx`array_position(${ids}::text[], external_id)`;
  const texts = (name: 'firstName' | 'country' | 'language' | 'timezone') =>
    tx`(${users.map((user) => user[name])}::text[])[${place}]`;
  const documents = users.map(({ properties }) => JSON.stringify(properties));
  const rows = await tx<Pick<User, 'updatedAt'>[]>`
    UPDATE users SET first_name = ${texts('firstName')}, country = ${texts('country')}, language = ${texts('language')},
      timezone = ${texts('timezone')}, properties = (${documents}::text[])[${place}]::jsonb, updated_at = ${nowOf(tx, clock)}
    WHERE app_id = ${appId} AND external_id = ANY(${ids}::text[])
    RETURNING updated_at`;
  const [updated] = rows;
  if (!updated || rows.length !== users.length)
    throw new Error(`${users.length} profiles were to be written, not ${rows.length}`);
  return updated.updatedAt;
}

/** Deletes and returns a profile; undefined when the external id has none. */
export async function deleteUser(tx: Tx, appId: Uuid, externalId: string): Promise<User | undefined> {
  return findRow(tx`
    DELETE FROM users WHERE app_id = ${appId} AND external_id = ${externalId} RETURNING ${userColumns(tx)}`);
}

/** Deletes a retired key's values from up to `limit` profiles, and returns how many had one. */
export async function clearUserProperty(sql: Sql, appId: Uuid, id: number, limit: number): Promise<number> {
  const result = await sql`
    UPDATE users SET properties = properties - ${String(id)}::text
    WHERE app_id = ${appId} AND external_id = ANY(ARRAY(
      SELECT external_id FROM users WHERE app_id = ${appId} AND properties ? ${String(id)}::text
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
