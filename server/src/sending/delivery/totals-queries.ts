// SQL: the sums of outcomes that the report of deliverability reads.

import { type Fragment, getValue, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { OutcomeTotal } from './outcome-totals.ts';

/** Appends what a flush adds to the sums. The statement has not run yet. */
export function addDeltas(tx: Tx, appId: Uuid, totals: readonly OutcomeTotal[]): Fragment {
  return tx`
    INSERT INTO delivery_deltas (app_id, bucket, channel, vendor, code, step, count)
    SELECT ${appId}::uuid, to_timestamp(t.bucket_ms / 1000), t.channel, t.vendor, t.code, t.step, t.count
    FROM ${tx.rows('t', { float8: ['bucketMs'], smallint: ['channel', 'vendor', 'code', 'step'], bigint: ['count'] }, totals)}`;
}

/**
 * Folds up to `limit` deltas into the sums, and returns how many. One statement, so that a reader
 * sees each delta exactly once. A row that another process folds at the same time is left to that
 * process.
 */
export async function foldDeltas(sql: Sql, limit: number): Promise<number> {
  return getValue(sql`
    WITH taken AS (
      DELETE FROM delivery_deltas WHERE ctid = ANY(ARRAY(SELECT ctid FROM delivery_deltas LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING app_id, bucket, channel, vendor, code, step, count
    ), folded AS (
      INSERT INTO delivery_totals (app_id, bucket, channel, vendor, code, step, count)
      SELECT app_id, bucket, channel, vendor, code, step, sum(count) FROM taken
      GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
      ON CONFLICT (app_id, bucket, channel, vendor, code, step) DO UPDATE SET count = delivery_totals.count + excluded.count
    )
    SELECT count(*) AS folded FROM taken`);
}

/** Deletes the sums that are more than `days` old. */
export async function deleteTotalsBefore(sql: Sql, clock: Clock, days: number): Promise<void> {
  await sql`DELETE FROM delivery_totals WHERE bucket < ${clock.now} - ${days} * interval '1 day'`;
}
