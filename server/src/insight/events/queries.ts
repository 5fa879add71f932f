// SQL: stores events: the known ids, the events, their daily counts and their deltas of the sums.
import { bareArray, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { DayCount, Delta, StoredEvent } from './totals.ts';

export interface EventKey {
  /** 32 hexadecimal digits. */
  readonly key: string;
  readonly atMs: number;
}

/**
 * Stores keys and returns those that are new; null when all are. The caller sorts the keys, as
 * every transaction does, because the statement waits for a transaction that stores one of them.
 */
export async function insertEventKeys(tx: Tx, appId: Uuid, keys: readonly EventKey[]): Promise<Set<string> | null> {
  const rows = await tx<{ key: Uuid }[]>`
    INSERT INTO event_ids (app_id, key, at)
    SELECT ${appId}, k.key, to_timestamp(k.at_ms / 1000)
    FROM ${tx.rows('k', { uuid: ['key'], float8: ['atMs'] }, keys)}
    ON CONFLICT DO NOTHING RETURNING key`;
  return rows.length === keys.length ? null : new Set(rows.map(({ key }) => key.replaceAll('-', '')));
}

export async function insertEvents(tx: Tx, appId: Uuid, events: readonly StoredEvent[]): Promise<void> {
  const column = <Value>(pick: (event: StoredEvent) => Value): Value[] => events.map(pick);
  await tx`
    INSERT INTO events (app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency)
    SELECT ${appId}, e.subject_id, e.id, e.name, to_timestamp(e.at_ms / 1000), e.device_id, e.external_id, e.properties,
      e.amount, e.currency
    FROM ROWS FROM (
      unnest(
        ${bareArray(column(({ subjectId }) => subjectId))}::uuid[], ${bareArray(column(({ id }) => id))}::uuid[],
        ${column(({ name }) => name)}::text[], ${bareArray(column(({ atMs }) => atMs))}::float8[],
        ${bareArray(column(({ deviceId }) => deviceId))}::uuid[], ${column(({ externalId }) => externalId)}::text[],
        ${bareArray(column(({ purchase }) => purchase?.amount ?? null))}::numeric[],
        ${column(({ purchase }) => purchase?.currency ?? null)}::text[]
      ),
      jsonb_array_elements(${`[${column(({ propertiesText }) => propertiesText).join(',')}]`}::text::jsonb)
    ) AS e (subject_id, id, name, at_ms, device_id, external_id, amount, currency, properties)`;
}

/**
 * Adds to the daily counts. The caller sorts them, as every transaction does, so that requests do
 * not deadlock.
 */
export async function addToDays(tx: Tx, appId: Uuid, days: readonly DayCount[]): Promise<void> {
  await tx`
    INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
    SELECT ${appId}, d.name, d.subject_id, date '1970-01-01' + d.day, d.count, to_timestamp(d.last_ms / 1000)
    FROM ${tx.rows('d', { text: ['name'], uuid: ['subjectId'], int: ['day', 'count'], float8: ['lastMs'] }, days)}
    ON CONFLICT (app_id, name, subject_id, day) DO UPDATE SET
      count = subject_events.count + excluded.count, last_at = greatest(subject_events.last_at, excluded.last_at)`;
}

/** Appends deltas, which are later folded into the sums. */
export async function insertDeltas(tx: Tx, appId: Uuid, deltas: readonly Delta[]): Promise<void> {
  await tx`
    INSERT INTO rollup_deltas (app_id, name, bucket, currency, count, amount, last_at)
    SELECT ${appId}, d.name, to_timestamp(d.bucket_ms / 1000), d.currency, d.count, d.amount,
      to_timestamp(d.last_ms / 1000)
    FROM ${tx.rows('d', { text: ['name', 'currency'], float8: ['bucketMs', 'lastMs'], int: ['count'], numeric: ['amount'] }, deltas)}`;
}
