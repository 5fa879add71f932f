// SQL: which apps have something to settle or to class ahead. An app at rest costs a row to read, and nothing is written for it.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface DueApp {
  readonly id: Uuid;
  readonly windowHours: number;
}

/** Longer than it takes from an event's receipt until it can be settled or classed: until then its app is looked at again. */
const restsAfterMinutes = 5;

/**
 * The apps of which something may have changed since they were last looked at: events were counted, the window of one has closed or it
 * is old enough to be classed, a person changed hands, or the window itself was changed. With the server's time, to be handed to
 * `noteChecked`.
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
        OR n.counted_at > k.checked_at - ${restsAfterMinutes}::int * interval '1 minute'
        OR n.last_at >= c.classed_to OR c.window_hours <> o.attribution_window_hours
        OR (n.last_at >= p.settled_at AND EXISTS (
          SELECT FROM events e WHERE e.app_id = n.app_id AND e.name = n.name AND e.at >= p.settled_at
            AND e.at < ${clock.now} - o.attribution_window_hours * interval '1 hour' - interval '2 minutes')))
    ORDER BY a.id`;
  return { apps: rows.map(({ id, windowHours }) => ({ id, windowHours })), at: rows[0]?.at ?? new Date(0) };
}

/** All that could be settled and classed of these apps has been, as things stood at an instant of the server's. */
export async function noteChecked(sql: Sql, apps: readonly DueApp[], at: Date): Promise<void> {
  await sql`
    INSERT INTO attribution_checks AS k (app_id, checked_at)
    SELECT app_id, ${at} FROM unnest(${apps.map(({ id }) => id)}::uuid[]) AS t (app_id) ORDER BY app_id
    ON CONFLICT (app_id) DO UPDATE SET checked_at = greatest(k.checked_at, excluded.checked_at)`;
}
