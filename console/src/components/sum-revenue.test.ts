import { expect, test } from 'vitest';
import { sumRevenue } from './sum-revenue.ts';

const sum = (amount: string, purchases: number) => ({ amount, purchases });
const row = (currency: string, direct: string, influenced: string, total: string) => ({
  currency,
  total,
  purchases: 3,
  direct: sum(direct, 1),
  influenced: sum(influenced, 1),
  unattributed: sum('0', 1),
  open: sum('0.1', 2),
});
const day = (from: string, revenue: ReturnType<typeof row>[]) => ({ from, to: from, revenue });

test('the days of a range come to exactly its revenue, currency by currency', () => {
  const rows = sumRevenue([
    day('2026-11-01T00:00:00.000Z', [row('USD', '0.1', '7', '7.1')]),
    day('2026-11-02T00:00:00.000Z', []),
    day('2026-11-03T00:00:00.000Z', [
      row('EUR', '5', '0', '5'),
      row('USD', '0.2', '9007199254740993.25', '9007199254740993.45'),
    ]),
  ]);
  expect(rows).toEqual([
    row('EUR', '5', '0', '5'),
    {
      currency: 'USD',
      total: '9007199254741000.55',
      purchases: 6,
      direct: sum('0.3', 2),
      influenced: sum('9007199254741000.25', 2),
      unattributed: sum('0', 2),
      open: sum('0.2', 4),
    },
  ]);
  expect(sumRevenue([])).toEqual([]);
});
