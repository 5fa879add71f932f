// SQL: the sums of changes of devices' states, which the overview and the report of devices read.
import { getValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { DeviceTotal } from './device-totals.ts';

/** Appends what a transaction adds to the sums. */
export async function addDeviceDeltas(tx: Tx, appId: Uuid, totals: readonly DeviceTotal[]): Promise<void> {
  if (totals.length === 0) return;
  await tx`
    INSERT INTO device_deltas (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
    SELECT ${appId}::uuid, to_timestamp(t.bucket_ms / 1000), t.platform, t.registered, t.invalid, t.unsubscribed, t.gained
    FROM ${tx.rows(
      't',
      { float8: ['bucketMs'], text: ['platform'], bigint: ['registered', 'invalid', 'unsubscribed', 'gained'] },
      totals,
    )}`;
}

/**
 * Folds up to `limit` deltas into the sums of their quarters, and returns how many. One statement, so
 * that a reader sees each delta exactly once. A delta that another process folds is skipped.
 */
export async function foldDeviceDeltas(sql: Sql, limit: number): Promise<number> {
  return getValue(sql`
    WITH taken AS (
      DELETE FROM device_deltas WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM device_deltas LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING app_id, bucket, platform, registered, invalid, unsubscribed, gained
    ), folded AS (
      INSERT INTO device_totals (app_id, bucket, platform, registered, invalid, unsubscribed, gained)
      SELECT app_id, bucket, platform, sum(registered), sum(invalid), sum(unsubscribed), sum(gained)
      FROM taken GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (app_id, bucket, platform) DO UPDATE SET
        registered = device_totals.registered + excluded.registered, invalid = device_totals.invalid + excluded.invalid,
        unsubscribed = device_totals.unsubscribed + excluded.unsubscribed, gained = device_totals.gained + excluded.gained
    )
    SELECT count(*) AS folded FROM taken`);
}
