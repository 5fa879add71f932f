// The revenue of a whole range, summed from its days, weeks or months, so that one request is
// enough. Pure.
import type { RevenueReport, RevenueRow } from '../api/objects.ts';
import { addAmounts } from '../money.ts';

type ClassSum = RevenueRow['open'];

const add = (one: ClassSum, other: ClassSum): ClassSum => ({
  amount: addAmounts(one.amount, other.amount),
  purchases: one.purchases + other.purchases,
});

/** One row for each currency, in alphabetical order. */
export function sumRevenue(groups: NonNullable<RevenueReport['groups']>): RevenueRow[] {
  const sums = new Map<string, RevenueRow>();
  for (const row of groups.flatMap(({ revenue }) => revenue)) {
    const sum = sums.get(row.currency);
    if (!sum) {
      sums.set(row.currency, row);
      continue;
    }
    sums.set(row.currency, {
      currency: row.currency,
      total: addAmounts(sum.total, row.total),
      purchases: sum.purchases + row.purchases,
      direct: add(sum.direct, row.direct),
      influenced: add(sum.influenced, row.influenced),
      unattributed: add(sum.unattributed, row.unattributed),
      open: add(sum.open, row.open),
    });
  }
  return [...sums.values()].toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
}
