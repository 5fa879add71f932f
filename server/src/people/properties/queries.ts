import {
  beginsWith,
  type Fragment,
  findRow,
  getRow,
  getValue,
  listValues,
  type Sql,
  type Tx,
} from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Property, PropertyType, PropertyValue, TextGone } from './property.ts';

/** A catalog row with the fields that decide whether another use of the key is written. */
export interface CatalogEntry extends Property {
  readonly lastSeenAt: Date | null;
  readonly lastConflictAt: Date | null;
  readonly samples: readonly PropertyValue[];
}

/** Finds the catalog entries of these keys. */
export async function findPropertiesByKeys(tx: Tx, appId: Uuid, keys: readonly string[]): Promise<CatalogEntry[]> {
  return tx`
    SELECT id, key, type, slot, last_seen_at, last_conflict_at, samples FROM properties
    WHERE app_id = ${appId} AND key = ANY(${keys}::text[]) ORDER BY id`;
}

/**
 * Lists the properties that have a slot or move, and the properties with these numbers. Numbers of
 * deleted keys are not found. A transaction that writes by this list reads it after its first lock,
 * so that a move waits for every transaction that knows the catalog from before.
 */
export async function listSlottedAndNumbered(tx: Tx, appId: Uuid, ids: readonly number[]): Promise<Property[]> {
  return tx`
    SELECT id, key, type, slot, move_slot, move_phase FROM properties
    WHERE app_id = ${appId} AND (slot IS NOT NULL OR move_slot IS NOT NULL OR id = ANY(${ids}::int[]))
    ORDER BY id`;
}

/** Lists them as a map by number, to show or copy stored values. */
export async function readCatalog(tx: Tx, appId: Uuid, ids: readonly number[]): Promise<ReadonlyMap<number, Property>> {
  const properties = await listSlottedAndNumbered(tx, appId, ids);
  return new Map(properties.map((property) => [property.id, property]));
}

/**
 * Takes numbers for new keys and returns the first. Locks the catalog until the transaction ends,
 * so that the second of two racing first values finds the key of the first.
 */
export async function takePropertyNumbers(tx: Tx, appId: Uuid, count: number): Promise<number> {
  return getValue(tx`
    INSERT INTO property_catalogs AS c (app_id, next_property_id) VALUES (${appId}, 1 + ${count}::int)
    ON CONFLICT (app_id) DO UPDATE SET next_property_id = c.next_property_id + ${count}::int
    RETURNING next_property_id - ${count}::int AS first`);
}

/** Counts the keys of an app. */
export async function countProperties(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`SELECT count(*) AS count FROM properties WHERE app_id = ${appId}`);
}

export interface NewProperty extends Property {
  readonly sample: PropertyValue;
}

/** Adds keys with their first value. */
export async function insertProperties(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  added: readonly NewProperty[],
): Promise<void> {
  await tx`
    INSERT INTO properties (app_id, id, key, type, slot, samples, first_seen_at, last_seen_at)
    SELECT ${appId}, p.id, p.key, p.type, p.slot, jsonb_build_array(p.sample), ${clock.now}, ${clock.now}
    FROM ${tx.rows('p', { int: ['id'], text: ['key', 'type'], smallint: ['slot'], jsonb: ['sample'] }, added)}`;
}

/** Records that a key was seen: the time, and a sample while there are fewer than `samplesMax`. */
export async function updateSighting(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  seen: { id: number; sample: PropertyValue | null; samplesMax: number },
): Promise<void> {
  const { id, sample, samplesMax } = seen;
  await tx`
    UPDATE properties SET first_seen_at = coalesce(first_seen_at, ${clock.now}), last_seen_at = ${clock.now}
      ${
        sample === null
          ? tx``
          : tx`, samples = CASE
              WHEN jsonb_array_length(samples) < ${samplesMax}::int AND NOT samples @> ${tx.json(sample)}::jsonb
              THEN samples || ${tx.json([sample])}::jsonb ELSE samples END`
      }
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Days of conflicts that are remembered. */
export const conflictDaysKept = 30;

/**
 * Counts values of another type, in all and for the day, unless a conflict was counted less than
 * `quietMs` milliseconds ago; with 0 every one is counted. Forgets days that are too old.
 */
export async function updateConflict(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { id, quietMs, count = 1 }: { id: number; quietMs: number; count?: number },
): Promise<void> {
  const today = tx`(${clock.now} AT TIME ZONE 'UTC')::date`;
  await tx`
    UPDATE properties SET conflicts_count = conflicts_count + ${count}::int, last_conflict_at = ${clock.now},
      conflict_days = (
        SELECT coalesce(jsonb_object_agg(d.key, d.value), '{}') FROM jsonb_each(conflict_days) AS d (key, value)
        WHERE d.key > (${today} - ${conflictDaysKept}::int)::text
      ) || jsonb_build_object(
        ${today}::text, coalesce((conflict_days ->> ${today}::text)::int, 0) + ${count}::int)
    WHERE app_id = ${appId} AND id = ${id} AND (${quietMs}::float8 = 0 OR last_conflict_at IS NULL
      OR last_conflict_at <= ${clock.now} - ${quietMs}::float8 * interval '1 millisecond')`;
}

/** Selects those of the texts that are samples of their keys, in the order of the keys' numbers. */
export async function listShownSamples(tx: Tx, appId: Uuid, texts: readonly TextGone[]): Promise<TextGone[]> {
  return tx`
    SELECT DISTINCT p.id, t.sample
    FROM ${tx.rows('t', { int: ['id'], text: ['sample'] }, texts)}
    JOIN properties p ON p.id = t.id
    WHERE p.app_id = ${appId} AND p.samples ? t.sample ORDER BY p.id`;
}

/**
 * Deletes a text from a key's samples because its owner no longer has it. Other owners of the same
 * text add it again.
 */
export async function deleteSample(tx: Tx, appId: Uuid, id: number, sample: string): Promise<void> {
  await tx`
    UPDATE properties SET samples = samples - ${sample}::text
    WHERE app_id = ${appId} AND id = ${id} AND samples ? ${sample}::text`;
}

export interface CatalogRow extends Property {
  readonly usersCount: number;
  readonly samples: readonly PropertyValue[];
  readonly conflictsCount: number;
  readonly lastConflictAt: Date | null;
  readonly firstSeenAt: Date | null;
  readonly lastSeenAt: Date | null;
  /** Counts by day in UTC, of the last days that had a conflict. */
  readonly conflictDays: Readonly<Record<string, number>>;
}

const catalogColumns = (tx: Tx): Fragment => tx`
  id, key, type, slot, users_count, samples, conflicts_count, last_conflict_at, first_seen_at, last_seen_at,
  conflict_days`;

/**
 * Lists the catalog after a key, in the order of keys. `search`: the beginning of a key, letter
 * case ignored.
 */
export async function listProperties(
  tx: Tx,
  appId: Uuid,
  afterKey: string | null,
  limit: number,
  search: string | null = null,
): Promise<CatalogRow[]> {
  return tx`
    SELECT ${catalogColumns(tx)} FROM properties
    WHERE app_id = ${appId} ${afterKey === null ? tx`` : tx`AND key > ${afterKey}`}
      ${search === null ? tx`` : tx`AND ${beginsWith(tx, tx`lower(key)`, search)}`}
    ORDER BY key LIMIT ${limit}`;
}

/** Finds a key of the catalog. */
export async function findCatalogRow(tx: Tx, appId: Uuid, key: string): Promise<CatalogRow | undefined> {
  return findRow(tx`
    SELECT ${catalogColumns(tx)} FROM properties WHERE app_id = ${appId} AND key = ${key}`);
}

/**
 * Lists the columns of `audience` by which a valid index finds rows. Columns that an index only
 * carries are omitted.
 */
export async function listIndexedAudienceColumns(tx: Tx): Promise<Set<string>> {
  const names = await listValues<string>(tx`
    SELECT DISTINCT a.attname AS name
    FROM pg_index i
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
      AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
      AND a.attnum <> ALL ((i.indkey::int2[])[i.indnkeyatts:i.indnatts - 1])
    WHERE i.indrelid = 'audience'::regclass AND i.indisvalid AND i.indisready`);
  return new Set(names);
}

/** Counts the app's profiles, up to `countMax` of them. */
export async function countUsersUpTo(tx: Tx, appId: Uuid, countMax: number): Promise<number> {
  return getValue(tx`
    SELECT count(*) AS count FROM (SELECT 1 FROM users WHERE app_id = ${appId} LIMIT ${countMax}) AS some_users`);
}

/**
 * Counts the profiles that have a value, by the property's number. Numbers of deleted keys are
 * included.
 */
export async function countUsersByProperty(tx: Tx, appId: Uuid): Promise<Map<number, number>> {
  const rows = await tx<{ id: string; count: number }[]>`
    SELECT id, count(*) AS count
    FROM (SELECT jsonb_object_keys(properties) AS id FROM users WHERE app_id = ${appId}) AS held
    GROUP BY id`;
  return new Map(rows.map((row) => [Number(row.id), row.count]));
}

/** Lists the apps whose catalog was not counted within these minutes. */
export async function listCatalogsToCount(sql: Sql, clock: Clock, minutes: number): Promise<Uuid[]> {
  return listValues(sql`
    SELECT app_id FROM property_catalogs
    WHERE counted_at IS NULL OR counted_at < ${clock.now} - ${minutes}::float8 * interval '1 minute' ORDER BY app_id`);
}

/** Lists the numbers of an app's keys. */
export async function listPropertyNumbers(sql: Sql, appId: Uuid): Promise<number[]> {
  return listValues(sql`SELECT id FROM properties WHERE app_id = ${appId} ORDER BY id`);
}

/**
 * Stores a count. Each row has its own statement, because requests lock these rows in another
 * order.
 */
export async function updateUsersCount(sql: Sql, appId: Uuid, id: number, count: number): Promise<void> {
  await sql`
    UPDATE properties SET users_count = ${count} WHERE app_id = ${appId} AND id = ${id} AND users_count <> ${count}`;
}

/** Stores when the count of an app's profiles began. */
export async function updateCountedAt(sql: Sql, appId: Uuid, at: Date): Promise<void> {
  await sql`UPDATE property_catalogs SET counted_at = ${at} WHERE app_id = ${appId}`;
}

/** Adds a key before its first value. */
export async function insertDeclaredProperty(tx: Tx, appId: Uuid, { id, key, type, slot }: Property): Promise<void> {
  await tx`INSERT INTO properties (app_id, id, key, type, slot) VALUES (${appId}, ${id}, ${key}, ${type}, ${slot})`;
}

/**
 * Deletes a key from the catalog and returns it. For a moving key, `slot` is the one that holds
 * values or may hold them.
 */
export async function deleteProperty(tx: Tx, appId: Uuid, key: string): Promise<Property | undefined> {
  return findRow(tx`
    DELETE FROM properties WHERE app_id = ${appId} AND key = ${key}
    RETURNING id, key, type, coalesce(slot, move_slot) AS slot`);
}

/** Counts the profiles, and the devices themselves, that have a value under a number. */
export async function countValues(tx: Tx, appId: Uuid, id: number): Promise<{ users: number; devices: number }> {
  return getRow(tx`
    SELECT (SELECT count(*) FROM users WHERE app_id = ${appId} AND properties ? ${String(id)}::text) AS users,
      (SELECT count(*) FROM devices WHERE app_id = ${appId} AND properties ? ${String(id)}::text) AS devices`);
}

export interface RetiredProperty {
  readonly appId: Uuid;
  readonly id: number;
  readonly type: PropertyType;
  readonly slot: number | null;
}

/** Records that values under this number, and in its slot, are still to be cleared. */
export async function insertRetired(tx: Tx, clock: Clock, appId: Uuid, { id, type, slot }: Property): Promise<void> {
  await tx`
    INSERT INTO retired_properties (app_id, id, type, slot, retired_at)
    VALUES (${appId}, ${id}, ${type}, ${slot}, ${clock.now})`;
}

/** Lists the slots that no new key may get: they hold values of a key, a moving or a deleted one. */
export async function listTakenSlots(tx: Tx, appId: Uuid): Promise<Pick<Property, 'type' | 'slot'>[]> {
  return tx`
    SELECT type, coalesce(slot, move_slot) AS slot FROM properties
    WHERE app_id = ${appId} AND coalesce(slot, move_slot) IS NOT NULL
    UNION SELECT type, slot FROM retired_properties WHERE app_id = ${appId} AND slot IS NOT NULL`;
}

/**
 * Lists the keys, over all apps, that were retired at least `seconds` ago. No transaction writes
 * with the former catalog any more by then.
 */
export async function listRetired(sql: Sql, clock: Clock, seconds: number): Promise<RetiredProperty[]> {
  return sql`
    SELECT app_id, id, type, slot FROM retired_properties
    WHERE retired_at <= ${clock.now} - ${seconds}::float8 * interval '1 second' ORDER BY app_id, id`;
}

/** Deletes the record of a retired key whose values are all cleared; a new key may get its slot. */
export async function deleteRetired(sql: Sql, appId: Uuid, id: number): Promise<void> {
  await sql`DELETE FROM retired_properties WHERE app_id = ${appId} AND id = ${id}`;
}
