// The sums of a report by period, name, currency and class. The rest of the total, which no message
// is credited with, is unattributed. So every purchase is in exactly one class. Pure.
import { add, type Decimal, subtract, writeDecimal, zero } from '../../ground/values/decimal.ts';
import type { Part } from './periods.ts';

interface Sum {
  readonly count: number;
  readonly amount: Decimal;
}

/** `open` is the part of the total whose windows are open. */
type Sums = Record<'total' | 'open' | 'direct' | 'influenced', Sum>;

export interface Summand extends Sum {
  /** The index of its part. */
  readonly period: number;
  readonly name: string;
  readonly currency: string;
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

/** Takes the sums of parts, and returns those of periods. */
export interface ClassedSums {
  add(kind: 'total' | 'direct' | 'influenced', sum: Summand): void;
  /** The purchases of some periods together by currency, in alphabetical order. */
  revenueOf(...periods: readonly number[]): RevenueRow[];
  countsOf(period: number, name: string): Record<'count' | 'direct' | 'influenced' | 'unattributed', number>;
}

const nothing: Sum = { count: 0, amount: zero };

/** `parts`: the parts of all periods, cut at the instant from which windows are open. */
export function createClassedSums(parts: readonly Pick<Part, 'period' | 'isAfterCut'>[]): ClassedSums {
  const stored = new Map<string, Map<string, Sums>>();
  const currenciesOf = (period: number, name: string): Map<string, Sums> => {
    const key = `${period} ${name}`;
    const currencies = stored.get(key) ?? new Map<string, Sums>();
    stored.set(key, currencies);
    return currencies;
  };
  return {
    add(kind, sum) {
      const part = parts[sum.period];
      const currencies = currenciesOf(part?.period ?? 0, sum.name);
      const known = currencies.get(sum.currency);
      const sums = known ?? { total: nothing, open: nothing, direct: nothing, influenced: nothing };
      if (known === undefined) currencies.set(sum.currency, sums);
      sums[kind] = plus(sums[kind], sum);
      if (kind === 'total' && part?.isAfterCut) sums.open = plus(sums.open, sum);
    },
    revenueOf(...periods) {
      const found = periods.map((period) => currenciesOf(period, 'purchase'));
      const currencies = [...new Set(found.flatMap((sums) => [...sums.keys()]))].sort();
      return currencies.map((currency) => {
        const sumOf = (kind: keyof Sums): Sum =>
          found.map((sums) => sums.get(currency)?.[kind] ?? nothing).reduce(plus);
        const [total, direct, influenced] = [sumOf('total'), sumOf('direct'), sumOf('influenced')];
        return {
          currency,
          total: writeDecimal(total.amount),
          purchases: total.count,
          direct: show(direct),
          influenced: show(influenced),
          unattributed: show(minus(minus(total, direct), influenced)),
          open: show(sumOf('open')),
        };
      });
    },
    countsOf(period, name) {
      const counts = { count: 0, direct: 0, influenced: 0, unattributed: 0 };
      for (const { total, direct, influenced } of currenciesOf(period, name).values()) {
        counts.count += total.count;
        counts.direct += direct.count;
        counts.influenced += influenced.count;
        counts.unattributed += total.count - direct.count - influenced.count;
      }
      return counts;
    },
  };
}

function plus(a: Sum, b: Sum): Sum {
  return { count: a.count + b.count, amount: add(a.amount, b.amount) };
}

function minus(a: Sum, b: Sum): Sum {
  return { count: a.count - b.count, amount: subtract(a.amount, b.amount) };
}

function show({ count, amount }: Sum): ShownSum {
  return { amount: writeDecimal(amount), purchases: count };
}
