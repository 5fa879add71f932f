// The classes of credited revenue, and the row of a currency without purchases.
import type { RevenueRow } from '../../api/objects.ts';

const none = { amount: '0', purchases: 0 };

export const empty = (currency: string): RevenueRow => ({
  currency,
  total: '0',
  purchases: 0,
  direct: none,
  influenced: none,
  unattributed: none,
  open: none,
});

export const classes = ['direct', 'influenced', 'unattributed'] as const;
export const classNames = { direct: 'Direct', influenced: 'Influenced', unattributed: 'Unattributed' } as const;
