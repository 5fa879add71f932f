// The sums of a report by period, name, currency and class. The rest of the total, which no message
// is credited with, is unattributed. So every purchase is in exactly one class. Pure.
import { add, type Decimal, subtract, writeDecimal, zero } from '../ground/decimal.ts';
import type { Part } from './periods.ts';

interface Sum {
  readonly count: number;
  readonly amount: Decimal;
}

interface Sums {
  total: Sum;
  /** The part of the total whose windows are open. */
  open: Sum;
  direct: Sum;
  influenced: Sum;
}

export interface ShownSum {
  readonly amount: string;
  readonly purchases: number;
}

export interface RevenueRow {
  readonly currency: string;
  readonly total: string;
  readonly purchases: number;
  readonly direct: ShownSum;
  readonly influenced: ShownSum;
  readonly unattributed: ShownSum;
  /** The part of the total whose windows are open, so that its classes are provisional. */
  readonly open: ShownSum;
}

export interface ClassedCount {
  readonly count: number;
  readonly direct: number;
  readonly influenced: number;
  readonly unattributed: number;
}

/** Takes the sums of parts, and returns those of periods. */
export interface ClassedSums {
  addTotal(part: number, name: string, currency: string, count: number, amount: Decimal): void;
  addCredit(
    part: number,
    name: string,
    currency: string,
    ofClass: 'direct' | 'influenced',
    count: number,
    amount: Decimal,
  ): void;
  /** The purchases of a period by currency, in alphabetical order. */
  revenueOf(period: number): RevenueRow[];
  countsOf(period: number, name: string): ClassedCount;
}

const nothing: Sum = { count: 0, amount: zero };

/** `parts`: the parts of all periods, cut at the instant from which windows are open. */
export function createClassedSums(parts: readonly Pick<Part, 'period' | 'isAfterCut'>[]): ClassedSums {
  const periods = new Map<number, Map<string, Map<string, Sums>>>();
  const sumsAt = (part: number, name: string, currency: string): Sums => {
    const period = parts[part]?.period ?? 0;
    const names = periods.get(period) ?? new Map<string, Map<string, Sums>>();
    periods.set(period, names);
    const currencies = names.get(name) ?? new Map<string, Sums>();
    names.set(name, currencies);
    const sums = currencies.get(currency) ?? { total: nothing, open: nothing, direct: nothing, influenced: nothing };
    currencies.set(currency, sums);
    return sums;
  };
  const plus = (sum: Sum, count: number, amount: Decimal): Sum => ({
    count: sum.count + count,
    amount: add(sum.amount, amount),
  });
  return {
    addTotal(part, name, currency, count, amount) {
      const sums = sumsAt(part, name, currency);
      sums.total = plus(sums.total, count, amount);
      if (parts[part]?.isAfterCut) sums.open = plus(sums.open, count, amount);
    },
    addCredit(part, name, currency, ofClass, count, amount) {
      const sums = sumsAt(part, name, currency);
      sums[ofClass] = plus(sums[ofClass], count, amount);
    },
    revenueOf(period) {
      const currencies = [...(periods.get(period)?.get('purchase') ?? [])];
      return currencies
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([currency, sums]) => ({
          currency,
          total: writeDecimal(sums.total.amount),
          purchases: sums.total.count,
          direct: show(sums.direct),
          influenced: show(sums.influenced),
          unattributed: show(restOf(sums)),
          open: show(sums.open),
        }));
    },
    countsOf(period, name) {
      const of = { count: 0, direct: 0, influenced: 0, unattributed: 0 };
      for (const sums of periods.get(period)?.get(name)?.values() ?? []) {
        of.count += sums.total.count;
        of.direct += sums.direct.count;
        of.influenced += sums.influenced.count;
        of.unattributed += restOf(sums).count;
      }
      return of;
    },
  };
}

function restOf({ total, direct, influenced }: Sums): Sum {
  return {
    count: total.count - direct.count - influenced.count,
    amount: subtract(total.amount, add(direct.amount, influenced.amount)),
  };
}

function show({ count, amount }: Sum): ShownSum {
  return { amount: writeDecimal(amount), purchases: count };
}
