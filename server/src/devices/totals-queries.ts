// SQL: the sums of changes of devices' states, which the overview and the report of devices read.
import { advisoryLocks } from '../database/advisory-locks.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { DeviceTotal } from './device-totals.ts';

/** Appends what a transaction adds to the sums. */
export async function addDeviceDeltas(tx: Tx, appId: Uuid, totals: readonly DeviceTotal[]): Promise<void> {
  if (totals.length === 0) return;
  const column = <Value>(pick: (total: DeviceTotal) => Value): Value[] => totals.map(pick);
  await tx`
    INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
    SELECT ${appId}::uuid, to_timestamp(t.bucket_ms / 1000), t.platform, t.registered, t.invalid, t.unsubscribed, t.gained
    FROM unnest(
      ${column(({ bucketMs }) => bucketMs)}::float8[], ${column(({ platform }) => platform)}::text[],
      ${column(({ registered }) => registered)}::bigint[], ${column(({ invalid }) => invalid)}::bigint[],
      ${column(({ unsubscribed }) => unsubscribed)}::bigint[], ${column(({ gained }) => gained)}::bigint[]
    ) AS t (bucket_ms, platform, registered, invalid, unsubscribed, gained)`;
}

/**
 * Folds up to `limit` deltas into the sums of their quarters and into the sum of all quarters, and
 * returns how many. Returns 0 while another process holds the lock of the sums. One statement, so
 * that a reader sees each delta exactly once. The lock is taken after the snapshot; a delta that a
 * recount has deleted in between is skipped, because its row can no longer be locked.
 */
export async function foldDeviceDeltas(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ folded: number }[]>`
    WITH taken AS (
      DELETE FROM device_deltas WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM device_deltas WHERE (SELECT pg_try_advisory_xact_lock(${advisoryLocks.deviceTotals}))
        LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING app_id, bucket, platform, registered, invalid, unsubscribed, gained
    ), folded AS (
      INSERT INTO device_totals (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
      SELECT app_id, b.bucket, platform, sum(registered), sum(invalid), sum(unsubscribed), sum(gained)
      FROM taken CROSS JOIN LATERAL (VALUES (taken.bucket), ('infinity'::timestamptz)) AS b (bucket)
      GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (app_id, bucket, platform) DO UPDATE SET
        registered = device_totals.registered + excluded.registered, invalid = device_totals.invalid + excluded.invalid,
        unsubscribed = device_totals.unsubscribed + excluded.unsubscribed, gained = device_totals.gained + excluded.gained
    )
    SELECT count(*) AS folded FROM taken`;
  return row?.folded ?? 0;
}

/**
 * Waits for a fold or comparison that is under way, and keeps others away until the transaction
 * ends.
 */
export async function lockDeviceTotals(tx: Tx): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${advisoryLocks.deviceTotals})`;
}

/** Takes the same lock unless it is held; returns whether it did. */
export async function tryLockDeviceTotals(tx: Tx): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(${advisoryLocks.deviceTotals}) AS locked`;
  return row?.locked ?? false;
}

/**
 * Counts the history of an app's devices again, in place of its sums. One statement, so that a
 * change that is committed meanwhile is counted by its own delta alone. The caller holds
 * `lockDeviceTotals`.
 */
export async function recountDeviceTotals(tx: Tx, appId: Uuid): Promise<void> {
  await tx`
    WITH totals AS (DELETE FROM device_totals WHERE app_id = ${appId}),
      deltas AS (DELETE FROM device_deltas WHERE app_id = ${appId})
    INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
    SELECT ${appId}::uuid, date_bin('15 minutes', at, 'epoch'), platform, count(*) FILTER (WHERE former IS NULL),
      count(*) FILTER (WHERE status = 'invalid'), count(*) FILTER (WHERE status = 'unsubscribed'),
      sum((status = 'active')::int - coalesce((former = 'active')::int, 0))
    FROM (
      SELECT at, platform, status, lag(status) OVER (PARTITION BY device_id ORDER BY at, id) AS former
      FROM device_changes WHERE app_id = ${appId}
    ) AS changes
    GROUP BY 2, 3`;
}

/**
 * Appends the difference between an app's active devices and their sum, as a change of the present
 * quarter, and notes the comparison. One statement, so that a change that is committed meanwhile is
 * in both numbers or in neither. The caller holds the lock of the sums.
 */
export async function correctDeviceTotals(tx: Tx, clock: Clock, appId: Uuid): Promise<void> {
  await tx`
    WITH noted AS (
      INSERT INTO device_counts (app_id, counted_at) VALUES (${appId}, ${clock.now})
      ON CONFLICT (app_id) DO UPDATE SET counted_at = excluded.counted_at
    )
    INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
    SELECT ${appId}::uuid, date_bin('15 minutes', ${clock.now}, 'epoch'), platform, 0, 0, 0, sum(missing)
    FROM (
      SELECT platform, count(*) AS missing FROM audience WHERE app_id = ${appId} AND active GROUP BY platform
      UNION ALL
      SELECT platform, -gained FROM device_totals WHERE app_id = ${appId} AND bucket = 'infinity'
      UNION ALL
      SELECT platform, -gained FROM device_deltas WHERE app_id = ${appId}
    ) AS parts
    GROUP BY platform HAVING sum(missing) <> 0`;
}

/**
 * Lists the apps whose sums were last compared more than a day ago, and whose devices have changed
 * since. An hour more makes up for slow commits and for clocks. Each app is looked up by itself: with
 * EXISTS the planner may read the changes of all apps instead.
 */
export async function listAppsToCorrect(sql: Sql, clock: Clock): Promise<Uuid[]> {
  const rows = await sql<{ id: Uuid }[]>`
    SELECT a.id FROM apps a LEFT JOIN device_counts k ON k.app_id = a.id
    WHERE a.deleted_at IS NULL AND (k.counted_at IS NULL OR k.counted_at <= ${clock.now} - interval '1 day')
      AND (SELECT true FROM device_changes c
        WHERE c.app_id = a.id AND c.at >= coalesce(k.counted_at - interval '1 hour', '-infinity') LIMIT 1)
    ORDER BY a.id`;
  return rows.map(({ id }) => id);
}

/**
 * Makes a comparison due for every app whose devices have changed lately. At a start: a process of
 * the version before may have changed devices without adding to the sums.
 */
export async function forgetComparisons({ sql, clock }: { sql: Sql; clock: Clock }): Promise<void> {
  await sql`
    UPDATE device_counts SET counted_at = counted_at - interval '1 day'
    WHERE counted_at > ${clock.now} - interval '1 day'`;
}
