// Counts that are classed anew beside counts that stay because deliveries they rest on are gone: no event is credited twice. Which
// events the staying counts are of is not known any more. Pure.

import { zero } from '../platform/decimal.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Tallied } from './tally.ts';

export interface StayingCount {
  readonly period: number;
  readonly messageId: Uuid;
  readonly count: number;
}

/**
 * What of the new counts, which are of one name, is to be added to those that stay. A message whose counts stay gets no further ones.
 * Of a period the staying counts are taken for events that are now credited to nobody; where these are too few, the new influenced
 * ones give way, then the direct ones, in order of messages.
 */
export function besideWhatStays(rows: readonly Tallied[], staying: readonly StayingCount[]): Tallied[] {
  const staysOf = new Set(staying.map(({ period, messageId }) => `${period} ${messageId}`));
  const open = new Map<number, number>();
  for (const { period, count } of staying) open.set(period, (open.get(period) ?? 0) + count);
  const isCredited = ({ period, messageId }: Tallied): boolean =>
    messageId !== null && !staysOf.has(`${period} ${messageId}`);
  for (const row of rows) {
    if (!isCredited(row)) open.set(row.period, Math.max(0, (open.get(row.period) ?? 0) - row.count));
  }
  return rows
    .filter(isCredited)
    .sort(byGivingWay)
    .flatMap((row) => {
      const taken = Math.min(row.count, open.get(row.period) ?? 0);
      open.set(row.period, (open.get(row.period) ?? 0) - taken);
      return taken === row.count ? [] : [{ ...row, count: row.count - taken, amount: zero }];
    });
}

function byGivingWay(a: Tallied, b: Tallied): number {
  if (a.class !== b.class) return a.class === 'influenced' ? -1 : 1;
  return (a.messageId ?? '') < (b.messageId ?? '') ? -1 : 1;
}
