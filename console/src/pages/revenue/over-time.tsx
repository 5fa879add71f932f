// Revenue by day, week or month, as lines and as a table.

import { type Given, readCsv } from '../../api/client.ts';
import type { RevenueReport, RevenueRow } from '../../api/objects.ts';
import { ReportChart } from '../../components/report-chart.tsx';
import { formatPeriod, periodNames } from '../../components/report-text.ts';
import type { Group } from '../../components/report-view.ts';
import { formatNumber } from '../../format.ts';
import { formatExactMoney, formatMoney, formatShortMoney } from '../../money.ts';
import { classes, classNames, empty } from './revenue-row.ts';

interface OverTimeProps {
  readonly asked: Given<'reportRevenue'> & { readonly tz: string; readonly group: Group };
  readonly groups: NonNullable<RevenueReport['groups']>;
  readonly currency: string;
}

export function OverTime({ asked, groups, currency }: OverTimeProps) {
  const { group, tz } = asked;
  const rows = groups.map(({ from, revenue }) => ({
    ...(revenue.find((row) => row.currency === currency) ?? empty(currency)),
    from,
  }));
  const values = (name: (typeof classes)[number]) => rows.map((row) => Number(row[name].amount));
  const firstOpen = rows.findIndex(({ open }) => open.purchases > 0);
  const money = (amount: string) => formatExactMoney(amount, currency);
  return (
    <ReportChart
      title={`Revenue by ${group} in ${currency}`}
      points={rows.map(({ from }) => formatPeriod(from, group, tz))}
      lines={[
        { name: 'Direct', tone: 'accent', dash: 'solid', values: values('direct') },
        { name: 'Influenced', tone: 'good', dash: 'dashed', values: values('influenced') },
        { name: 'Unattributed', tone: 'idle', dash: 'dotted', values: values('unattributed') },
      ]}
      format={(value) => formatMoney(value, currency)}
      formatTick={(value) => formatShortMoney(value, currency)}
      provisionalFrom={firstOpen < 0 ? undefined : firstOpen}
      rows={rows}
      keyOf={({ from }) => from}
      columns={[
        { name: periodNames[group], cell: ({ from }) => formatPeriod(from, group, tz, 'whole') },
        { name: 'Total', isNumber: true, cell: ({ total }) => money(total) },
        { name: 'Purchases', isNumber: true, cell: ({ purchases }) => formatNumber(purchases) },
        ...classes.map((name) => ({
          name: classNames[name],
          isNumber: true,
          cell: (row: RevenueRow) => money(row[name].amount),
        })),
        { name: 'Still open', isNumber: true, cell: ({ open }) => money(open.amount) },
      ]}
      csv={{ name: 'revenue.csv', read: () => readCsv('reportRevenue', asked) }}
    />
  );
}
