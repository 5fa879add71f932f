// SQL: how many devices registered, came and went, from the sums of their changes and, for a part
// of a quarter of an hour, from the history itself.
import type { Platform } from '../channels/channel.ts';
import type { Tx } from '../database/db.ts';
import type { DeviceStatus } from '../devices/device.ts';
import type { Uuid } from '../ground/ids.ts';

/** Changes of the devices of a platform in a period. */
export interface DeviceSums {
  /** Null: at any time. */
  readonly period: number | null;
  readonly platform: Platform;
  readonly registered: number;
  readonly invalid: number;
  readonly unsubscribed: number;
  /** How many more devices were active at the end of the period than before it. */
  readonly gained: number;
}

/**
 * Sums up the quarters of an hour that begin in each period, and all quarters. Period `i` begins at
 * `starts[i]`, and the last one has no end.
 */
export async function sumDeviceTotals(tx: Tx, appId: Uuid, starts: readonly string[]): Promise<DeviceSums[]> {
  const sums = tx`sum(registered)::bigint AS registered, sum(invalid)::bigint AS invalid,
    sum(unsubscribed)::bigint AS unsubscribed, sum(gained)::bigint AS gained`;
  const since = tx`${starts[0] ?? null}::timestamptz`;
  const columns = tx`platform, registered, invalid, unsubscribed, gained`;
  // A delta counts in its quarter and in the sum of all quarters. The deltas are read once, because
  // they have no index.
  return tx<DeviceSums[]>`
    SELECT CASE WHEN bucket < 'infinity' THEN width_bucket(bucket, ${starts as string[]}::timestamptz[]) - 1 END AS period,
      platform, ${sums}
    FROM (
      SELECT bucket, ${columns} FROM device_totals WHERE app_id = ${appId} AND bucket >= ${since}
      UNION ALL
      SELECT b.bucket, ${columns} FROM device_deltas CROSS JOIN LATERAL (VALUES (device_deltas.bucket), ('infinity')) AS b (bucket)
      WHERE app_id = ${appId} AND b.bucket >= ${since}
    ) AS parts GROUP BY 1, 2`;
}

export interface ChangeCount {
  readonly platform: Platform;
  readonly status: DeviceStatus;
  /** The status before; null: the registration. */
  readonly former: DeviceStatus | null;
  readonly count: number;
}

/** Counts the changes of a range, change by change. Reads only devices that changed in it. */
export async function countChanges(tx: Tx, appId: Uuid, from: string, to: string): Promise<ChangeCount[]> {
  const inRange = tx`at >= ${from}::timestamptz AND at < ${to}::timestamptz`;
  return tx<ChangeCount[]>`
    SELECT platform, status, former, count(*) AS count
    FROM (
      SELECT platform, status, at, lag(status) OVER (PARTITION BY device_id ORDER BY at, id) AS former FROM device_changes
      WHERE app_id = ${appId} AND device_id IN (SELECT device_id FROM device_changes WHERE app_id = ${appId} AND ${inRange})
    ) AS changes
    WHERE ${inRange} GROUP BY 1, 2, 3`;
}
