// SQL: the numbers of devices that existed, came and went, from the history of their states, which
// is appended and never changed.
import { platformUnits } from '../audience/platform-units.ts';
import { type Platform, platforms } from '../channels/channel.ts';
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';

/** Counts the active devices now. Groups by the platform's unit, because indexes carry it. */
export async function countActive(tx: Tx, appId: Uuid): Promise<{ platform: Platform; count: number }[]> {
  const rows = await tx<{ unit: number; count: number }[]>`
    SELECT platform_unit AS unit, count(*) AS count FROM audience
    WHERE app_id = ${appId} AND active GROUP BY platform_unit`;
  const countOf = new Map(rows.map(({ unit, count }) => [unit, count]));
  return platforms.map((platform) => ({ platform, count: countOf.get(platformUnits[platform]) ?? 0 }));
}

/**
 * Counts devices by the period of their first registration. Period `i` begins at `starts[i]`;
 * devices from before `starts[0]` are not counted.
 */
export async function countRegistered(
  tx: Tx,
  appId: Uuid,
  starts: readonly string[],
): Promise<{ period: number; platform: string; count: number }[]> {
  return tx<{ period: number; platform: string; count: number }[]>`
    SELECT width_bucket(created_at, ${starts as string[]}::timestamptz[]) - 1 AS period, platform, count(*) AS count
    FROM audience WHERE app_id = ${appId} AND created_at >= ${starts[0] ?? null}::timestamptz GROUP BY 1, 2`;
}

export interface ChangeCount {
  readonly period: number;
  readonly platform: string;
  readonly status: 'active' | 'invalid' | 'unsubscribed';
  /** The status before; null for the first known status of a device. */
  readonly former: 'active' | 'invalid' | 'unsubscribed' | null;
  readonly count: number;
}

/**
 * Counts changes of status since `starts[0]`, by period and former status. Reads only devices that
 * changed since then.
 */
export async function countChanges(tx: Tx, appId: Uuid, starts: readonly string[]): Promise<ChangeCount[]> {
  const since = tx`${starts[0] ?? null}::timestamptz`;
  return tx<ChangeCount[]>`
    SELECT width_bucket(at, ${starts as string[]}::timestamptz[]) - 1 AS period, platform, status, former, count(*) AS count
    FROM (
      SELECT platform, status, at, lag(status) OVER (PARTITION BY device_id ORDER BY at, id) AS former FROM device_changes
      WHERE app_id = ${appId}
        AND device_id IN (SELECT device_id FROM device_changes WHERE app_id = ${appId} AND at >= ${since})
    ) AS changes
    WHERE at >= ${since}
    GROUP BY 1, 2, 3, 4`;
}
