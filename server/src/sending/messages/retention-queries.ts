// SQL that finds and deletes messages that are no longer kept.

import { listValues, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface RemovalRange {
  readonly appId: Uuid;
  /** Messages between these two ids. Ids have the order in which messages were accepted. */
  readonly afterId: Uuid;
  readonly beforeId: Uuid;
  /** The weeks whose deliveries still exist. */
  readonly weeks: readonly { readonly from: Uuid; readonly to: Uuid }[];
  readonly keepDays: number;
  readonly limit: number;
}

/**
 * The apps with messages accepted before this id. Steps from app to app through the key, so that an
 * app without such messages costs one index look-up.
 */
export async function listAppsWithMessagesBefore(sql: Sql, beforeId: Uuid): Promise<Uuid[]> {
  return listValues(sql`
    WITH RECURSIVE sending AS (
      (SELECT app_id FROM messages ORDER BY app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT m.app_id FROM messages m WHERE m.app_id > sending.app_id ORDER BY m.app_id LIMIT 1)
      FROM sending WHERE sending.app_id IS NOT NULL
    )
    SELECT app_id FROM sending
    WHERE EXISTS (SELECT FROM messages m WHERE m.app_id = sending.app_id AND m.id < ${beforeId}) ORDER BY app_id`);
}

/**
 * Messages that ended more than `keepDays` ago and have no delivery left. A scheduled message
 * counts from its `run_at`, even when it was canceled earlier: until a month after that, its
 * request may be repeated.
 */
export async function listRemovable(sql: Sql, clock: Clock, range: RemovalRange): Promise<Uuid[]> {
  const { appId, afterId, beforeId, weeks, keepDays, limit } = range;
  return listValues(sql`
    SELECT m.id FROM messages m
    WHERE m.app_id = ${appId} AND m.id > ${afterId} AND m.id < ${beforeId} AND m.finished_at IS NOT NULL
      AND greatest(m.finished_at, m.run_at) < ${clock.now} - make_interval(days => ${keepDays})
      AND NOT EXISTS (
        SELECT FROM unnest(${weeks.map((week) => week.from)}::uuid[], ${weeks.map((week) => week.to)}::uuid[]) AS w (from_id, to_id)
        WHERE w.from_id <= m.last_batch_id AND w.to_id > m.first_batch_id)
    ORDER BY m.id LIMIT ${limit}`);
}

/** Deletes a message and with it its idempotency key. False while it still has a batch. */
export async function deleteMessage(sql: Sql, appId: Uuid, id: Uuid): Promise<boolean> {
  const result = await sql`
    DELETE FROM messages m WHERE m.app_id = ${appId} AND m.id = ${id}
      AND NOT EXISTS (SELECT FROM batches b WHERE b.message_id = m.id)`;
  return result.count === 1;
}
