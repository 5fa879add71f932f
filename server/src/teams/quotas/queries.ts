// SQL: the use of each app's monthly quota, and the bucket of each key's rate limit.

import { type Fragment, findRow, findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * Charges `units` if they fit, in one conditional statement, so that racing callers never oversell
 * (R-68). Returns the use after the charge, or undefined when the units do not fit. `limit` null:
 * no limit.
 */
export async function chargeUsage(
  tx: Tx,
  appId: Uuid,
  month: string,
  units: number,
  limit: number | null,
): Promise<number | undefined> {
  return findValue(tx`
    INSERT INTO usage (app_id, month, used)
    SELECT ${appId}, ${month}::date, ${units}::bigint WHERE ${limit}::bigint IS NULL OR ${units}::bigint <= ${limit}::bigint
    ON CONFLICT (app_id, month) DO UPDATE SET used = usage.used + excluded.used
      WHERE ${limit}::bigint IS NULL OR usage.used + excluded.used <= ${limit}::bigint
    RETURNING used`);
}

/**
 * Builds the statement that refunds skipped deliveries to the month that was charged. `owed` is a
 * query for the `month` and the number of `units`, or for no row. The statement is returned and not
 * run: it locks the app's row of the month, which every sender needs, so the caller runs it last.
 */
export function refundUsage(tx: Tx, appId: Uuid, owed: Fragment): Fragment {
  return tx`
    UPDATE usage SET used = greatest(0, used - owed.units) FROM (${owed}) AS owed
    WHERE usage.app_id = ${appId} AND usage.month = owed.month`;
}

/** Returns the units that an app has used in a month. */
export async function getUsage(tx: Tx, appId: Uuid, month: string): Promise<number> {
  const [row] = await tx<{ used: number }[]>`SELECT used FROM usage WHERE app_id = ${appId} AND month = ${month}::date`;
  return row?.used ?? 0;
}

/** Lists what an app has used in its last months, newest first; `month` is such as `2026-11`. */
export async function listUsage(sql: Sql, appId: Uuid, limit: number): Promise<{ month: string; used: number }[]> {
  return sql`
    SELECT to_char(month, 'YYYY-MM') AS month, used FROM usage WHERE app_id = ${appId} ORDER BY usage.month DESC LIMIT ${limit}`;
}

/** The key whose bucket the rate limiter reads. */
export interface BucketKey {
  readonly appId: Uuid;
  readonly keyId: Uuid;
}

// Microseconds until a bucket is full again; a bucket is empty at one second. A time further ahead
// was written before the database's clock was set back, and is ignored.
function aheadOf(sql: Sql, clock: Clock): Fragment {
  return sql`
    (CASE WHEN bucket.full_at BETWEEN ${clock.now} AND ${clock.now} + interval '2 seconds'
      THEN extract(epoch FROM bucket.full_at - ${clock.now}) * 1000000 ELSE 0 END)`;
}

/**
 * Takes up to `wanted` requests out of a bucket that fills at `rate` a second, in one statement
 * that is safe under concurrency. Returns undefined and writes nothing when the bucket has less
 * than one request.
 */
export async function takeFromBucket(
  sql: Sql,
  clock: Clock,
  { appId, keyId }: BucketKey,
  { wanted, rate }: { wanted: number; rate: number },
): Promise<{ granted: number; aheadUs: number } | undefined> {
  const fromFull = Math.min(wanted, rate);
  const ahead = aheadOf(sql, clock);
  const room = sql`floor((1000000 - ${ahead}) * ${rate}::bigint / 1000000)`;
  const granted = sql`least(${wanted}::bigint, ${room})`;
  const costOf = (requests: Fragment): Fragment =>
    sql`floor(${requests} * 1000000 / ${rate}::bigint) * interval '1 microsecond'`;
  return findRow(sql`
    INSERT INTO rate_limits AS bucket (app_id, key_id, full_at, granted)
    VALUES (${appId}, ${keyId}, ${clock.now} + ${costOf(sql`${fromFull}::bigint`)}, ${fromFull})
    ON CONFLICT (app_id, key_id) DO UPDATE SET
      full_at = ${clock.now} + ${ahead} * interval '1 microsecond' + ${costOf(granted)}, granted = ${granted}
      WHERE ${room} >= 1
    RETURNING granted, (extract(epoch FROM full_at - ${clock.now}) * 1000000)::float8 AS ahead_us`);
}

/** Returns the microseconds until a bucket is full again. */
export async function getBucket(sql: Sql, clock: Clock, { appId, keyId }: BucketKey): Promise<number> {
  const [row] = await sql<{ aheadUs: number }[]>`
    SELECT ${aheadOf(sql, clock)}::float8 AS ahead_us FROM rate_limits bucket
    WHERE app_id = ${appId} AND key_id = ${keyId}`;
  return row?.aheadUs ?? 0;
}

/** Deletes buckets that have been full for a minute. A key without a row has a full bucket. */
export async function deleteFullBuckets(sql: Sql, clock: Clock): Promise<void> {
  await sql`DELETE FROM rate_limits WHERE full_at < ${clock.now} - interval '1 minute'`;
}
