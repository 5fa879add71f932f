// SQL: counts of names by day, and the newest events of one name, for people who check what they
// track.
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { SubjectEvent } from './history-queries.ts';

export interface DayOfName {
  readonly name: string;
  /** In UTC, as `2026-11-21`. */
  readonly day: string;
  readonly count: number;
}

/**
 * Counts the events of these names on each day, from `since` on, which begins a day. Exact up to
 * the last stored event.
 */
export async function listDaysOfNames(
  sql: Sql,
  appId: Uuid,
  names: readonly string[],
  since: Date,
): Promise<DayOfName[]> {
  const ofNames = sql`app_id = ${appId} AND name = ANY(${names}::text[]) AND bucket >= ${since}`;
  return sql`
    SELECT name, (bucket AT TIME ZONE 'UTC')::date::text AS day, sum(count)::bigint AS count
    FROM (
      SELECT name, bucket, count FROM rollups WHERE ${ofNames}
      UNION ALL
      SELECT name, bucket, count FROM rollup_deltas WHERE ${ofNames}
    ) AS counted
    GROUP BY name, day ORDER BY name, day`;
}

export interface RecentEvent extends SubjectEvent {
  /** The instant in full precision, for the next page. */
  readonly atText: string;
}

interface RecentQuestion {
  /** The last event of the page before. */
  readonly before: { readonly at: string; readonly id: Uuid } | null;
  readonly erased: readonly Uuid[];
  readonly limit: number;
}

/** Lists the events of a name, the latest first, without those of the subjects in `erased`. */
export async function listRecentEvents(
  sql: Sql,
  appId: Uuid,
  name: string,
  { before, erased, limit }: RecentQuestion,
): Promise<RecentEvent[]> {
  const position =
    before === null
      ? sql``
      : sql`AND at <= ${before.at}::text::timestamptz
          AND (at, id) < (${before.at}::text::timestamptz, ${before.id}::uuid)`;
  return sql`
    SELECT id, at, at::text AS at_text, device_id, external_id, properties FROM events
    WHERE app_id = ${appId} AND name = ${name} ${position}
      ${erased.length === 0 ? sql`` : sql`AND subject_id <> ALL(${erased}::uuid[])`}
    ORDER BY at DESC, id DESC LIMIT ${limit}`;
}
