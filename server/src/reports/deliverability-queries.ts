// SQL: the outcomes of deliveries by period, push service, code and latency. The room `delivery`
// owns the sums.
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Range } from './periods.ts';

export interface OutcomeCount {
  readonly period: number;
  readonly channel: number;
  readonly vendor: number;
  /** 0: sent; otherwise the number of the code. */
  readonly code: number;
  readonly step: number;
  readonly count: number;
}

/** Sums up the quarters of an hour that begin in the range. */
export async function sumOutcomes(
  tx: Tx,
  appId: Uuid,
  { fromMs, toMs }: Range,
  periods: readonly Range[],
): Promise<OutcomeCount[]> {
  const starts = periods.map((period) => new Date(period.fromMs).toISOString());
  const inRange = tx`app_id = ${appId} AND bucket >= ${new Date(fromMs)} AND bucket < ${new Date(toMs)}`;
  return tx<OutcomeCount[]>`
    SELECT width_bucket(bucket, ${starts}::timestamptz[]) - 1 AS period, channel, vendor, code, step, sum(count)::bigint AS count
    FROM (
      SELECT bucket, channel, vendor, code, step, count FROM delivery_totals WHERE ${inRange}
      UNION ALL
      SELECT bucket, channel, vendor, code, step, count FROM delivery_deltas WHERE ${inRange}
    ) AS outcomes
    GROUP BY 1, 2, 3, 4, 5`;
}
