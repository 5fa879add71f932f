// Exact sums of classed events, by every dimension that reports ask for. Pure.

import { add, type Decimal, parseDecimal, zero } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AttributedName, AttributionClass, Credit } from './attribution.ts';

export interface Tallied {
  /** The index of a period, or of a quarter of an hour. */
  readonly period: number;
  readonly name: AttributedName;
  /** Empty when there is no amount. */
  readonly currency: string;
  readonly class: AttributionClass;
  readonly messageId: Uuid | null;
  readonly count: number;
  readonly amount: Decimal;
}

export interface Tally {
  add(period: number, name: AttributedName, event: { currency: string; amount: string }, credit: Credit): void;
  /** Adds a sum that was computed before. */
  addSum(sum: Tallied): void;
  rows(): Tallied[];
}

export function createTally(): Tally {
  const rows = new Map<string, Tallied>();
  const addSum = (sum: Tallied): void => {
    const key = `${sum.period} ${sum.name} ${sum.currency} ${sum.class} ${sum.messageId}`;
    const known = rows.get(key);
    rows.set(key, known ? { ...known, count: known.count + sum.count, amount: add(known.amount, sum.amount) } : sum);
  };
  return {
    addSum,
    add(period, name, { currency, amount }, credit) {
      addSum({ ...credit, period, name, currency, count: 1, amount: amount === '0' ? zero : parseDecimal(amount) });
    },
    rows: () => [...rows.values()],
  };
}
