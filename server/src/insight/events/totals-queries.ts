// SQL: the sums of reports, and building them again from the stored events.
import { getRow, getValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * Folds up to `limit` deltas into the sums and the names' counts, and returns how many. One
 * statement, so that a reader sees each delta exactly once.
 */
export async function foldDeltas(sql: Sql, limit: number): Promise<number> {
  return getValue(sql`
    WITH taken AS (
      DELETE FROM rollup_deltas WHERE ctid = ANY(ARRAY(SELECT ctid FROM rollup_deltas LIMIT ${limit}))
      RETURNING app_id, name, bucket, currency, count, amount, last_at
    ), named AS (
      INSERT INTO event_names (app_id, name, count, last_at)
      SELECT app_id, name, sum(count), max(last_at) FROM taken GROUP BY app_id, name ORDER BY app_id, name
      ON CONFLICT (app_id, name) DO UPDATE SET
        count = event_names.count + excluded.count, last_at = greatest(event_names.last_at, excluded.last_at),
        counted_at = now()
    ), folded AS (
      INSERT INTO rollups (app_id, name, bucket, currency, count, amount, last_at)
      SELECT app_id, name, bucket, currency, sum(count), sum(amount), max(last_at) FROM taken
      GROUP BY app_id, name, bucket, currency ORDER BY app_id, name, bucket, currency
      ON CONFLICT (app_id, name, bucket, currency) DO UPDATE SET
        count = rollups.count + excluded.count, amount = rollups.amount + excluded.amount,
        last_at = greatest(rollups.last_at, excluded.last_at)
    )
    SELECT count(*) AS folded FROM taken`);
}

/**
 * Finds the times of an app's first and last event, among the stored events and the sums; null when
 * there are none.
 */
export async function findTimesOfEvents(sql: Sql, appId: Uuid): Promise<{ first: Date; last: Date } | null> {
  const { first, last } = await getRow(sql<{ first: Date | null; last: Date | null }[]>`
    SELECT min(first) AS first, max(last) AS last
    FROM (
      SELECT min(at) AS first, max(at) AS last FROM events WHERE app_id = ${appId}
      UNION ALL
      SELECT min(bucket), max(bucket) FROM rollups WHERE app_id = ${appId}
    ) AS times`);
  return first && last && { first, last };
}

/** A span of time; `to` is excluded. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Lists the days, each by its first instant in UTC, on which an app has events, sums or daily
 * counts.
 */
export async function listDaysOfEvents(sql: Sql, appId: Uuid, { from, to }: Span): Promise<Date[]> {
  return listValues(sql`
    SELECT DISTINCT day::timestamp AT TIME ZONE 'UTC' AS day
    FROM (
      SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day FROM events WHERE app_id = ${appId} AND at >= ${from} AND at < ${to}
      UNION ALL
      SELECT DISTINCT (bucket AT TIME ZONE 'UTC')::date FROM rollups
      WHERE app_id = ${appId} AND bucket >= ${from} AND bucket < ${to}
      UNION ALL
      SELECT DISTINCT day FROM subject_events
      WHERE app_id = ${appId} AND day >= (${from}::timestamptz AT TIME ZONE 'UTC')::date
        AND day < (${to}::timestamptz AT TIME ZONE 'UTC')::date
    ) AS days
    ORDER BY day`);
}

export async function deleteDeltas(tx: Tx, appId: Uuid, { from, to }: Span): Promise<void> {
  await tx`DELETE FROM rollup_deltas WHERE app_id = ${appId} AND bucket >= ${from} AND bucket < ${to}`;
}

export async function deleteRollups(tx: Tx, appId: Uuid, { from, to }: Span): Promise<void> {
  await tx`DELETE FROM rollups WHERE app_id = ${appId} AND bucket >= ${from} AND bucket < ${to}`;
}

/** Sums up the events of a span whose sums were deleted, and returns the number of events. */
export async function insertRollups(tx: Tx, appId: Uuid, { from, to }: Span): Promise<number> {
  const rows = await tx<{ count: number }[]>`
    INSERT INTO rollups (app_id, name, bucket, currency, count, amount, last_at)
    SELECT ${appId}, name, date_bin('15 minutes', at, timestamptz '2000-01-01 00:00:00Z'), coalesce(currency, ''), count(*),
      coalesce(sum(amount), 0), max(at)
    FROM events WHERE app_id = ${appId} AND at >= ${from} AND at < ${to}
    GROUP BY 2, 3, 4 RETURNING count`;
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** Counts the names of an app again from its sums. */
export async function upsertEventNames(tx: Tx, appId: Uuid): Promise<void> {
  await tx`
    INSERT INTO event_names (app_id, name, count, last_at)
    SELECT ${appId}, name, sum(count), max(last_at) FROM rollups WHERE app_id = ${appId} GROUP BY name ORDER BY name
    ON CONFLICT (app_id, name) DO UPDATE SET count = excluded.count, last_at = excluded.last_at, counted_at = now()`;
}

/** Deletes the names of an app that have no sums. */
export async function deleteEventNames(tx: Tx, appId: Uuid): Promise<void> {
  await tx`
    DELETE FROM event_names AS n WHERE n.app_id = ${appId}
      AND NOT EXISTS (SELECT FROM rollups r WHERE r.app_id = n.app_id AND r.name = n.name)`;
}

/**
 * Corrects a day's counts to match its events; events of nobody are not counted. Additions by
 * ingest meanwhile stay, and a count that is too high and changes meanwhile is not corrected now.
 * Both sides are read once and joined completely, because the planner has no statistics of a day
 * that was just written. Returns true when some counts were too low and had a latest time that is
 * too late; that time is still wrong and needs a second call.
 */
export async function repairDayCounts(tx: Tx, appId: Uuid, { from, to }: Span): Promise<boolean> {
  const day = tx`(${from}::timestamptz AT TIME ZONE 'UTC')::date`;
  const same = tx`s.app_id = ${appId} AND s.name = w.name AND s.subject_id = w.subject_id AND s.day = ${day}`;
  return getValue(tx`
    WITH wrong AS MATERIALIZED (
      SELECT name, subject_id, c.count, c.last_at, d.count AS wrong_count, d.last_at AS wrong_last_at
      FROM (
        SELECT name, subject_id, count(*)::int AS count, max(at) AS last_at FROM events
        WHERE app_id = ${appId} AND at >= ${from} AND at < ${to} AND (device_id IS NOT NULL OR external_id IS NOT NULL)
        GROUP BY name, subject_id
      ) AS c
      FULL JOIN (
        SELECT name, subject_id, count, last_at FROM subject_events WHERE app_id = ${appId} AND day = ${day}
      ) AS d USING (name, subject_id)
      WHERE (c.count, c.last_at) IS DISTINCT FROM (d.count, d.last_at)
    ), added AS (
      INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
      SELECT ${appId}, name, subject_id, ${day}, count - coalesce(wrong_count, 0), last_at FROM wrong
      WHERE count > coalesce(wrong_count, 0) ORDER BY name, subject_id
      ON CONFLICT (app_id, name, subject_id, day) DO UPDATE SET
        count = subject_events.count + excluded.count, last_at = greatest(subject_events.last_at, excluded.last_at)
    ), corrected AS (
      UPDATE subject_events AS s SET count = w.count, last_at = w.last_at FROM wrong AS w
      WHERE ${same} AND w.count <= w.wrong_count AND s.count = w.wrong_count AND s.last_at = w.wrong_last_at
    ), deleted AS (
      DELETE FROM subject_events AS s USING wrong AS w
      WHERE ${same} AND w.count IS NULL AND s.count = w.wrong_count
    )
    SELECT EXISTS (SELECT FROM wrong WHERE count > wrong_count AND last_at < wrong_last_at) AS is_late`);
}

/**
 * Adds properties of a span's events that the catalog lacks, up to `perNameMax` for each name and
 * without samples.
 */
export async function addMissingProperties(tx: Tx, appId: Uuid, { from, to }: Span, perNameMax: number): Promise<void> {
  await tx`
    INSERT INTO event_properties (app_id, name, key, type)
    SELECT ${appId}, name, key, type
    FROM (
      SELECT name, key, type, row_number() OVER (PARTITION BY name ORDER BY key, type) AS place
      FROM (
        SELECT DISTINCT e.name, p.key, jsonb_typeof(p.value) AS type FROM events e, jsonb_each(e.properties) AS p
        WHERE e.app_id = ${appId} AND e.at >= ${from} AND e.at < ${to}
      ) AS found
    ) AS placed
    WHERE place <= ${perNameMax} ORDER BY name, key, type
    ON CONFLICT DO NOTHING`;
}
