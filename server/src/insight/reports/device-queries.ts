// SQL: how many devices registered, came and went, from the sums of their changes and, for a part
// of a quarter of an hour, from the history itself.

import type { Fragment, Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { DeviceStatus } from '../../people/devices/device.ts';
import type { Platform } from '../../sending/channels/channel.ts';

/** Changes of the devices of a platform in a period. */
export interface DeviceSums {
  readonly period: number;
  readonly platform: Platform;
  readonly registered: number;
  readonly invalid: number;
  readonly unsubscribed: number;
  /** How many more devices were active at the end of the period than before it. */
  readonly gained: number;
}

/**
 * The sums and the deltas that are not folded in yet. A change is in exactly one of both tables.
 */
const changes = (tx: Tx, appId: Uuid, since: string | null): Fragment => {
  const columns = tx`bucket, platform, registered, invalid, unsubscribed, gained`;
  const wanted = tx`app_id = ${appId} AND bucket >= ${since}::timestamptz AND bucket < 'infinity'`;
  return tx`(SELECT ${columns} FROM device_totals WHERE ${wanted} UNION ALL
    SELECT ${columns} FROM device_deltas WHERE ${wanted}) AS changes`;
};

/**
 * Sums up the quarters of an hour that begin in each period. Period `i` begins at `starts[i]`, and
 * the last one has no end.
 */
export async function sumDeviceTotals(tx: Tx, appId: Uuid, starts: readonly string[]): Promise<DeviceSums[]> {
  return tx`
    SELECT width_bucket(bucket, ${starts}::timestamptz[]) - 1 AS period, platform,
      sum(registered)::bigint AS registered, sum(invalid)::bigint AS invalid,
      sum(unsubscribed)::bigint AS unsubscribed, sum(gained)::bigint AS gained
    FROM ${changes(tx, appId, starts[0] ?? null)} GROUP BY 1, 2`;
}

/** Counts the active devices of each platform. A platform without one is left out. */
export async function countActive(tx: Tx, appId: Uuid): Promise<{ platform: Platform; active: number }[]> {
  return tx`
    SELECT platform, count(*) AS active FROM audience WHERE app_id = ${appId} AND active GROUP BY platform`;
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
  return tx`
    SELECT platform, status, former, count(*) AS count
    FROM (
      SELECT platform, status, at, lag(status) OVER (PARTITION BY device_id ORDER BY at, id) AS former FROM device_changes
      WHERE app_id = ${appId} AND device_id IN (SELECT device_id FROM device_changes WHERE app_id = ${appId} AND ${inRange})
    ) AS changes
    WHERE ${inRange} GROUP BY 1, 2, 3`;
}
