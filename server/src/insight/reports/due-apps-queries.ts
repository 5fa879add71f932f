// SQL: the apps with events to settle or to class ahead. For an app at rest one row is read and
// nothing is written.

import type { Fragment, Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface DueApp {
  readonly id: Uuid;
  readonly windowHours: number;
}

/**
 * Minutes; longer than it takes from the receipt of an event until it can be settled or classed. An
 * app with new events is looked at again until then.
 */
const restsAfterMinutes = 5;

/**
 * Lists the apps in which something may have changed after they were last processed:
 * - new events were counted;
 * - an event's window has closed, or an event is old enough to be classed;
 * - a device changed its user, or the window itself was changed.
 *
 * Also returns the server's time, which the caller passes to `noteChecked`.
 */
export async function listAppsToSettle(sql: Sql, clock: Clock): Promise<{ apps: DueApp[]; at: Date }> {
  const rows = await sql<(DueApp & { at: Date })[]>`
    WITH changed AS MATERIALIZED (
      -- Steps from app to app through the key.
      WITH RECURSIVE apps_changed AS (
        (SELECT app_id FROM people_changes ORDER BY app_id LIMIT 1)
        UNION ALL
        SELECT (SELECT c.app_id FROM people_changes c WHERE c.app_id > apps_changed.app_id ORDER BY c.app_id LIMIT 1)
        FROM apps_changed WHERE apps_changed.app_id IS NOT NULL
      )
      SELECT app_id FROM apps_changed WHERE app_id IS NOT NULL
    ), named AS MATERIALIZED (
      SELECT n.app_id, n.name, n.last_at, n.counted_at FROM event_names n
      WHERE n.name IN ('purchase', 'install', 'session_start')
    )
    SELECT a.id, a.attribution_window_hours AS window_hours, now() AS at FROM apps a
    WHERE a.id IN (SELECT app_id FROM changed) OR a.id IN (
      SELECT n.app_id FROM named n JOIN apps o ON o.id = n.app_id
        LEFT JOIN attribution_checks k ON k.app_id = n.app_id
        LEFT JOIN attribution_progress p ON p.app_id = n.app_id AND p.name = n.name
        LEFT JOIN open_progress c ON c.app_id = n.app_id
      WHERE k.checked_at IS NULL OR p.settled_at IS NULL OR c.classed_to IS NULL
        OR n.counted_at > k.checked_at - ${restsAfterMinutes}::int * interval '1 minute' OR ${isAhead(sql)}
        OR n.last_at >= c.classed_to OR c.window_hours <> o.attribution_window_hours
        OR (n.last_at >= p.settled_at AND EXISTS (
          SELECT FROM events e WHERE e.app_id = n.app_id AND e.name = n.name AND e.at >= p.settled_at
            AND e.at < ${clock.now} - o.attribution_window_hours * interval '1 hour' - interval '2 minutes')))
    ORDER BY a.id`;
  return { apps: rows.map(({ id, windowHours }) => ({ id, windowHours })), at: rows[0]?.at ?? new Date(0) };
}

/** Whether a check `k` is of the future: the database's clock was set back since. */
const isAhead = (sql: Sql): Fragment => sql`k.checked_at > now() + interval '1 minute'`;

/** Records that everything due in these apps, as of a server instant, was settled and classed. */
export async function noteChecked(sql: Sql, apps: readonly DueApp[], at: Date): Promise<void> {
  await sql`
    INSERT INTO attribution_checks AS k (app_id, checked_at)
    SELECT t.id, ${at} FROM ${sql.rows('t', { uuid: ['id'] }, apps)} ORDER BY t.id
    ON CONFLICT (app_id) DO UPDATE
    SET checked_at = CASE WHEN ${isAhead(sql)} THEN excluded.checked_at
      ELSE greatest(k.checked_at, excluded.checked_at) END`;
}
