// SQL: the event catalog: the names that were tracked, with what their properties hold.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { EventPropertyType, NewEventProperty, Sample } from './known-properties.ts';

/** Keys and types that one name can have in the catalog: strangers send what they like. */
export const propertiesPerNameMax = 200;

/** Adds properties, each with a sample while it has few. In the order given, which must be everybody's. */
export async function upsertEventProperties(
  tx: Tx,
  appId: Uuid,
  found: readonly NewEventProperty[],
  samplesMax: number,
): Promise<void> {
  const names = [...new Set(found.map(({ name }) => name))];
  const samples = found.map(({ sample }) => JSON.stringify(sample === null ? [] : [sample]));
  await tx`
    INSERT INTO event_properties (app_id, name, key, type, samples)
    SELECT ${appId}, p.name, p.key, p.type, p.samples::jsonb
    FROM unnest(
      ${found.map(({ name }) => name)}::text[], ${found.map(({ key }) => key)}::text[],
      ${found.map(({ type }) => type)}::text[], ${samples}::text[]
    ) AS p (name, key, type, samples)
    WHERE p.name NOT IN (
      SELECT name FROM event_properties WHERE app_id = ${appId} AND name = ANY(${names}::text[])
      GROUP BY name HAVING count(*) >= ${propertiesPerNameMax})
    ON CONFLICT (app_id, name, key, type) DO UPDATE SET samples = event_properties.samples || excluded.samples
    WHERE jsonb_array_length(event_properties.samples) < ${samplesMax} AND NOT event_properties.samples @> excluded.samples`;
}

export interface EventNameRow {
  readonly name: string;
  readonly count: number;
  readonly lastAt: Date;
}

/** The names from one on, in their order, each with how often it was tracked and when it last happened: to the last event. */
export async function listEventNames(
  tx: Tx,
  appId: Uuid,
  afterName: string | null,
  limit: number,
): Promise<EventNameRow[]> {
  const after = afterName === null ? tx`` : tx`AND name > ${afterName}`;
  return tx<EventNameRow[]>`
    SELECT name, sum(count)::bigint AS count, max(last_at) AS last_at
    FROM (
      SELECT name, count, last_at FROM event_names WHERE app_id = ${appId} ${after}
      UNION ALL
      SELECT name, count, last_at FROM rollup_deltas WHERE app_id = ${appId} ${after}
    ) AS counted
    GROUP BY name ORDER BY name LIMIT ${limit}`;
}

/** One name as the catalog has it. */
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

/** What events of these names have, in order of keys. */
export async function listEventProperties(tx: Tx, appId: Uuid, names: readonly string[]): Promise<EventPropertyRow[]> {
  return tx<EventPropertyRow[]>`
    SELECT name, key, type, samples FROM event_properties
    WHERE app_id = ${appId} AND name = ANY(${names as string[]}::text[])
    ORDER BY name, key, type`;
}
