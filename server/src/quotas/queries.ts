// SQL: what an app has used of its monthly quota.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/**
 * Charges `units` if they fit, in one conditional statement, so that racing callers can never oversell. Returns the
 * use after the charge, or undefined when they do not fit. `limit` null: no limit.
 */
export async function chargeUsage(
  tx: Tx,
  appId: Uuid,
  month: string,
  units: number,
  limit: number | null,
): Promise<number | undefined> {
  const [row] = await tx<{ used: number }[]>`
    INSERT INTO usage (app_id, month, used)
    SELECT ${appId}, ${month}::date, ${units}::bigint WHERE ${limit}::bigint IS NULL OR ${units}::bigint <= ${limit}::bigint
    ON CONFLICT (app_id, month) DO UPDATE SET used = usage.used + excluded.used
      WHERE ${limit}::bigint IS NULL OR usage.used + excluded.used <= ${limit}::bigint
    RETURNING used`;
  return row?.used;
}

/** Gives back what was charged for deliveries that were skipped, to the month that was charged. */
export async function refundUsage(tx: Tx, appId: Uuid, month: Date | string, units: number): Promise<void> {
  await tx`
    UPDATE usage SET used = greatest(0, used - ${units}) WHERE app_id = ${appId} AND month = ${month}::date`;
}

/** What an app has used in a month. */
export async function getUsage(tx: Tx, appId: Uuid, month: string): Promise<number> {
  const [row] = await tx<{ used: number }[]>`SELECT used FROM usage WHERE app_id = ${appId} AND month = ${month}::date`;
  return row?.used ?? 0;
}
