// SQL: messages that are not kept any longer.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface RemovalRange {
  readonly appId: Uuid;
  /** Messages after the one and before the other: ids sort by when they were accepted. */
  readonly afterId: Uuid;
  readonly beforeId: Uuid;
  /** The weeks whose deliveries exist. */
  readonly weeks: readonly { readonly from: Uuid; readonly to: Uuid }[];
  readonly keepDays: number;
  readonly limit: number;
}

/**
 * Which apps have messages that were accepted before this one? Steps from app to app through the key, so that those with none cost a
 * look at an index.
 */
export async function listAppsWithMessagesBefore(sql: Sql, beforeId: Uuid): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    WITH RECURSIVE sending AS (
      (SELECT app_id FROM messages ORDER BY app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT m.app_id FROM messages m WHERE m.app_id > sending.app_id ORDER BY m.app_id LIMIT 1)
      FROM sending WHERE sending.app_id IS NOT NULL
    )
    SELECT app_id FROM sending
    WHERE EXISTS (SELECT FROM messages m WHERE m.app_id = sending.app_id AND m.id < ${beforeId}) ORDER BY app_id`;
  return rows.map((row) => row.appId);
}

/**
 * Messages that ended so many days ago and have no delivery left. A scheduled one counts from its instant, also where it was
 * canceled before: until then and a month after, its request may be repeated.
 */
export async function listRemovable(sql: Sql, clock: Clock, range: RemovalRange): Promise<Uuid[]> {
  const { appId, afterId, beforeId, weeks, keepDays, limit } = range;
  const rows = await sql<{ id: Uuid }[]>`
    SELECT m.id FROM messages m
    WHERE m.app_id = ${appId} AND m.id > ${afterId} AND m.id < ${beforeId} AND m.finished_at IS NOT NULL
      AND greatest(m.finished_at, m.run_at) < ${clock.now} - make_interval(days => ${keepDays})
      AND NOT EXISTS (
        SELECT FROM unnest(${weeks.map((week) => week.from)}::uuid[], ${weeks.map((week) => week.to)}::uuid[]) AS w (from_id, to_id)
        WHERE w.from_id <= m.last_batch_id AND w.to_id > m.first_batch_id)
    ORDER BY m.id LIMIT ${limit}`;
  return rows.map(({ id }) => id);
}

/** Removes a message, and with it its idempotency key; false while a batch of it is left. */
export async function deleteMessage(sql: Sql, appId: Uuid, id: Uuid): Promise<boolean> {
  const result = await sql`
    DELETE FROM messages m WHERE m.app_id = ${appId} AND m.id = ${id}
      AND NOT EXISTS (SELECT FROM batches b WHERE b.message_id = m.id)`;
  return result.count === 1;
}
