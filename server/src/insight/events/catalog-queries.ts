// SQL: the event catalog: the tracked names and their properties.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { EventPropertyType, NewEventProperty, Sample } from './known-properties.ts';

/** Keys and types that one name can have in the catalog. */
export const propertiesPerNameMax = 200;
/** Keys that client keys may add to a name, because strangers hold client keys (contract 10). */
export const propertiesByClientsMax = propertiesPerNameMax / 2;

export interface KeysOfName {
  readonly name: string;
  readonly keys: readonly string[];
  /** The number of keys that a client key added. */
  readonly byClients: number;
}

/** Lists the keys that events of these names have in the catalog. */
export async function listKeysOfNames(tx: Tx, appId: Uuid, names: readonly string[]): Promise<KeysOfName[]> {
  return tx`
    SELECT name, array_agg(key) AS keys, count(*) FILTER (WHERE by_client) AS by_clients
    FROM (
      SELECT name, key, bool_and(by_client) AS by_client FROM event_properties
      WHERE app_id = ${appId} AND name = ANY(${names}::text[]) GROUP BY name, key
    ) AS known
    GROUP BY name`;
}

/**
 * Adds properties, each with a sample while it has fewer than `samplesMax`. The caller sorts them
 * by name, key and type, as every transaction does.
 */
export async function upsertEventProperties(
  tx: Tx,
  appId: Uuid,
  found: readonly NewEventProperty[],
  samplesMax: number,
): Promise<void> {
  const names = [...new Set(found.map(({ name }) => name))];
  const shown = found.map((one) => ({ ...one, samples: one.sample === null ? [] : [one.sample] }));
  await tx`
    INSERT INTO event_properties (app_id, name, key, type, samples, sample_subjects, by_client)
    SELECT ${appId}, p.name, p.key, p.type, p.samples,
      -- The key is the sample's text as the database writes it.
      CASE WHEN p.samples = '[]' THEN '{}' ELSE jsonb_build_object((p.samples -> 0)::text, p.subject_id) END,
      p.by_client
    FROM ${tx.rows(
      'p',
      { text: ['name', 'key', 'type', 'subjectId'], jsonb: ['samples'], boolean: ['byClient'] },
      shown,
    )}
    LEFT JOIN (
      SELECT name, count(*) AS properties, count(*) FILTER (WHERE by_client) AS by_clients FROM event_properties
      WHERE app_id = ${appId} AND name = ANY(${names}::text[]) GROUP BY name
    ) AS n ON n.name = p.name
    WHERE coalesce(n.properties, 0) < ${propertiesPerNameMax}
      AND NOT (p.by_client AND coalesce(n.by_clients, 0) >= ${propertiesByClientsMax})
    ON CONFLICT (app_id, name, key, type) DO UPDATE SET
      samples = event_properties.samples || excluded.samples,
      sample_subjects = event_properties.sample_subjects || excluded.sample_subjects
    WHERE jsonb_array_length(event_properties.samples) < ${samplesMax} AND NOT event_properties.samples @> excluded.samples`;
}

export interface EventNameRow {
  readonly name: string;
  readonly count: number;
  readonly lastAt: Date;
}

/**
 * Lists the names after one, in their order, each with its count and the time of its latest event.
 * Exact up to the last stored event.
 */
export async function listEventNames(
  tx: Tx,
  appId: Uuid,
  afterName: string | null,
  limit: number,
  prefix: string | null = null,
): Promise<EventNameRow[]> {
  const begins = prefix === null ? tx`` : tx`AND starts_with(lower(name), lower(${prefix}::text))`;
  const after = afterName === null ? begins : tx`AND name > ${afterName} ${begins}`;
  return tx`
    SELECT name, sum(count)::bigint AS count, max(last_at) AS last_at
    FROM (
      SELECT name, count, last_at FROM event_names WHERE app_id = ${appId} ${after}
      UNION ALL
      SELECT name, count, last_at FROM rollup_deltas WHERE app_id = ${appId} ${after}
    ) AS counted
    GROUP BY name ORDER BY name LIMIT ${limit}`;
}

/** Finds one name in the catalog. */
export async function findEventName(tx: Tx, appId: Uuid, name: string): Promise<EventNameRow | undefined> {
  const [row] = await tx<(Omit<EventNameRow, 'lastAt'> & { lastAt: Date | null })[]>`
    SELECT ${name}::text AS name, sum(count)::bigint AS count, max(last_at) AS last_at
    FROM (
      SELECT count, last_at FROM event_names WHERE app_id = ${appId} AND name = ${name}
      UNION ALL
      SELECT count, last_at FROM rollup_deltas WHERE app_id = ${appId} AND name = ${name}
    ) AS counted`;
  return row?.lastAt ? { ...row, lastAt: row.lastAt } : undefined;
}

export interface EventPropertyRow {
  readonly name: string;
  readonly key: string;
  readonly type: EventPropertyType;
  readonly samples: readonly Sample[];
}

/**
 * Lists the properties of events of these names, in the order of keys, without samples of the
 * subjects in `erased`.
 */
export async function listEventProperties(
  tx: Tx,
  appId: Uuid,
  names: readonly string[],
  erased: readonly Uuid[],
): Promise<EventPropertyRow[]> {
  const samples =
    erased.length === 0
      ? tx`samples`
      : tx`(
        SELECT coalesce(jsonb_agg(s.sample), '[]') FROM jsonb_array_elements(samples) AS s (sample)
        WHERE coalesce(sample_subjects ->> s.sample::text <> ALL(${erased}::text[]), true)) AS samples`;
  return tx`
    SELECT name, key, type, ${samples} FROM event_properties
    WHERE app_id = ${appId} AND name = ANY(${names}::text[])
    ORDER BY name, key, type`;
}

/**
 * Deletes the samples that events of these users and devices added, and samples whose subject is
 * unknown. May be repeated.
 */
export async function clearSamplesOf(tx: Tx, appId: Uuid, subjectIds: readonly Uuid[]): Promise<void> {
  const isKept = tx`
    coalesce(p.sample_subjects ->> s.sample::text <> ALL(${subjectIds}::text[]), false)`;
  await tx`
    UPDATE event_properties AS p SET
      samples = (SELECT coalesce(jsonb_agg(s.sample), '[]') FROM jsonb_array_elements(p.samples) AS s (sample) WHERE ${isKept}),
      sample_subjects = (
        SELECT coalesce(jsonb_object_agg(s.sample::text, p.sample_subjects ->> s.sample::text), '{}')
        FROM jsonb_array_elements(p.samples) AS s (sample) WHERE ${isKept})
    WHERE p.app_id = ${appId}
      AND EXISTS (SELECT FROM jsonb_array_elements(p.samples) AS s (sample) WHERE NOT ${isKept})`;
}

/** Deletes all properties of a name from the catalog. */
export async function deletePropertiesOfName(tx: Tx, appId: Uuid, name: string): Promise<void> {
  await tx`DELETE FROM event_properties WHERE app_id = ${appId} AND name = ${name}`;
}
