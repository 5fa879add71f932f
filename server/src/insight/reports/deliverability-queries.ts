// SQL: the outcomes of deliveries by period, push service, code and latency. The room `delivery`
// owns the sums.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Range } from './periods.ts';
import { periodOf, within } from './queries.ts';

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
  range: Range,
  periods: readonly Range[],
): Promise<OutcomeCount[]> {
  const inRange = tx`app_id = ${appId} AND ${within(tx, tx`bucket`, range)}`;
  return tx`
    SELECT ${periodOf(tx, tx`bucket`, periods)} AS period, channel, vendor, code, step, sum(count)::bigint AS count
    FROM (
      SELECT bucket, channel, vendor, code, step, count FROM delivery_totals WHERE ${inRange}
      UNION ALL
      SELECT bucket, channel, vendor, code, step, count FROM delivery_deltas WHERE ${inRange}
    ) AS outcomes
    GROUP BY 1, 2, 3, 4, 5`;
}
