// Sums of what was classed: exact, by whatever is asked of it. Pure.

import { add, type Decimal, parseDecimal, zero } from '../platform/decimal.ts';
import type { Uuid } from '../platform/ids.ts';
import type { AttributedName, AttributionClass, Credit } from './attribution.ts';

export interface Tallied {
  /** Which period, or which quarter of an hour. */
  readonly period: number;
  readonly name: AttributedName;
  /** Empty where there is no amount. */
  readonly currency: string;
  readonly class: AttributionClass;
  readonly messageId: Uuid | null;
  readonly count: number;
  readonly amount: Decimal;
}

export interface Tally {
  add(period: number, name: AttributedName, event: { currency: string; amount: string }, credit: Credit): void;
  rows(): Tallied[];
}

export function createTally(): Tally {
  const rows = new Map<string, Tallied>();
  return {
    add(period, name, { currency, amount }, credit) {
      const key = `${period} ${name} ${currency} ${credit.class} ${credit.messageId}`;
      const known = rows.get(key);
      const added = amount === '0' ? zero : parseDecimal(amount);
      rows.set(
        key,
        known
          ? { ...known, count: known.count + 1, amount: add(known.amount, added) }
          : { period, name, currency, class: credit.class, messageId: credit.messageId, count: 1, amount: added },
      );
    },
    rows: () => [...rows.values()],
  };
}
