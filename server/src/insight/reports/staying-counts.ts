// Merges counts that are classed again with counts that stay because their deliveries are deleted,
// so that no event is credited twice. The events behind the staying counts are no longer known.
// Pure.

import { zero } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Tallied } from './tally.ts';

export interface StayingCount {
  readonly period: number;
  readonly messageId: Uuid;
  readonly count: number;
}

/**
 * Returns the part of the new counts, all of one name, to add to the staying ones. A message with
 * staying counts gets no new ones. In each period the staying counts are assumed to come from
 * events that are now unattributed. When there are too few of those, new influenced counts are
 * reduced, then direct ones, in the order of messages.
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
