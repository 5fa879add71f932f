// SQL: finds due work of all apps and rooms, by one statement a second for any number of apps and
// webhooks.

import { getRow, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';

/** The work that is due now or before the next look, and the time of this look. */
export interface Due {
  readonly batches: boolean;
  readonly schedules: boolean;
  readonly webhooks: boolean;
  readonly isPaused: boolean;
  /** The server's time of the look, in milliseconds. A process of an earlier version sends none. */
  readonly atMs?: number;
  /**
   * The version of the receipt keys, as in `ReceiptKeys.version`. A process of an earlier version
   * sends none.
   */
  readonly receiptKeys?: string | null;
}

/**
 * Finds what is due now. Scheduled messages and webhooks are also found when they are due within
 * `aheadMs`, because their loops wait for the moment themselves. The statement steps from app to
 * app among the apps that have open batches.
 */
export async function findDue(sql: Sql, clock: Clock, aheadMs: number): Promise<Due> {
  const read = clock.beginReading();
  const soon = sql`${clock.now} + ${aheadMs}::float8 * interval '1 millisecond'`;
  const isOpen = sql`b.state <> 'done' AND b.per_second IS NULL`;
  const isPacedOpen = sql`b.state <> 'done' AND b.per_second IS NOT NULL`;
  const due = await getRow(sql<Due[]>`
    WITH RECURSIVE apps_open AS (
      (SELECT b.app_id FROM batches b WHERE ${isOpen} ORDER BY b.app_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.app_id FROM batches b WHERE ${isOpen} AND b.app_id > apps_open.app_id ORDER BY b.app_id LIMIT 1)
      FROM apps_open WHERE apps_open.app_id IS NOT NULL
    )
    SELECT
      EXISTS (SELECT FROM apps_open WHERE EXISTS (
        SELECT FROM batches b WHERE ${isOpen} AND b.app_id = apps_open.app_id AND b.available_at <= ${clock.now}))
      OR EXISTS (SELECT FROM batches b WHERE ${isPacedOpen} AND b.available_at <= ${clock.now}) AS batches,
      EXISTS (SELECT FROM messages WHERE status = 'scheduled' AND next_start_at <= ${soon}) AS schedules,
      EXISTS (SELECT FROM webhook_work WHERE next_at <= ${soon}) AS webhooks,
      EXISTS (SELECT FROM instance WHERE id = 1 AND paused_at IS NOT NULL) AS is_paused,
      (SELECT receipt_keys_forgotten || '/' || cardinality(receipt_keys) FROM instance WHERE id = 1) AS receipt_keys,
      (extract(epoch FROM now()) * 1000)::float8 AS at_ms`);
  if (due.atMs !== undefined) read(due.atMs);
  return due;
}
