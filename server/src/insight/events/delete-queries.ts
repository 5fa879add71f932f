// SQL: deletes one name of events, day by day.
import { getValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Span } from './totals-queries.ts';

/**
 * Lists the days, each by its first instant in UTC, that have events, sums or daily counts of a
 * name.
 */
export async function listDaysOfName(sql: Sql, appId: Uuid, name: string): Promise<Date[]> {
  return listValues(sql`
    SELECT DISTINCT day::timestamp AT TIME ZONE 'UTC' AS day
    FROM (
      SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM events WHERE app_id = ${appId} AND name = ${name}
      UNION ALL
      SELECT DISTINCT (bucket AT TIME ZONE 'UTC')::date FROM rollups WHERE app_id = ${appId} AND name = ${name}
      UNION ALL
      SELECT DISTINCT (bucket AT TIME ZONE 'UTC')::date FROM rollup_deltas WHERE app_id = ${appId} AND name = ${name}
      UNION ALL
      SELECT DISTINCT day FROM subject_events WHERE app_id = ${appId} AND name = ${name}
    ) AS days
    ORDER BY day`);
}

/**
 * Deletes a name's events of one day with their counts and sums, and returns the number of events.
 */
export async function deleteDayOfName(tx: Tx, appId: Uuid, name: string, { from, to }: Span): Promise<number> {
  await tx`
    DELETE FROM rollup_deltas WHERE app_id = ${appId} AND name = ${name} AND bucket >= ${from} AND bucket < ${to}`;
  await tx`DELETE FROM rollups WHERE app_id = ${appId} AND name = ${name} AND bucket >= ${from} AND bucket < ${to}`;
  await tx`
    DELETE FROM subject_events
    WHERE app_id = ${appId} AND name = ${name} AND day = (${from}::timestamptz AT TIME ZONE 'UTC')::date`;
  const result = await tx`
    DELETE FROM events WHERE app_id = ${appId} AND name = ${name} AND at >= ${from} AND at < ${to}`;
  return result.count;
}

/** Counts the events of a name. */
export async function countEventsOfName(sql: Sql, appId: Uuid, name: string): Promise<number> {
  return getValue(sql`
    SELECT coalesce(sum(count), 0)::bigint AS count
    FROM (
      SELECT count FROM event_names WHERE app_id = ${appId} AND name = ${name}
      UNION ALL
      SELECT count FROM rollup_deltas WHERE app_id = ${appId} AND name = ${name}
    ) AS counted`);
}
