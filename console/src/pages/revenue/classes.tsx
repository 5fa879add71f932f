// The sums of a range beside those of the range before.

import type { RevenueRow } from '../../api/objects.ts';
import { tellChange } from '../../components/change.ts';
import { tellBefore } from '../../components/report-text.ts';
import type { ReportView } from '../../components/report-view.ts';
import { count } from '../../format.ts';
import { formatMoney } from '../../money.ts';
import { Figures } from '../../ui/card.tsx';
import { classes, classNames, empty } from './revenue-row.ts';

interface ClassesProps {
  readonly view: ReportView;
  readonly row: RevenueRow;
  /** The rows of the time before; undefined while they are being read. */
  readonly before: readonly RevenueRow[] | undefined;
}

export function Classes({ view, row, before }: ClassesProps) {
  const { currency } = row;
  const past = before && (before.find((each) => each.currency === currency) ?? empty(currency));
  const compare = (now: string, of: (row: RevenueRow) => string): string =>
    past ? tellChange(Number(now), Number(of(past)), tellBefore(view)) : ' ';
  return (
    <section aria-label={`Revenue in ${currency}`}>
      <Figures
        figures={[
          { name: 'Total', value: formatMoney(row.total, currency), note: compare(row.total, ({ total }) => total) },
          ...classes.map((name) => ({
            name: classNames[name],
            value: formatMoney(row[name].amount, currency),
            note: [count(row[name].purchases, 'purchase'), compare(row[name].amount, (each) => each[name].amount)]
              .filter((part) => part !== ' ')
              .join(', '),
          })),
          {
            name: 'Still open',
            value: formatMoney(row.open.amount, currency),
            note: `${count(row.open.purchases, 'purchase')} that may still be credited otherwise`,
          },
        ]}
      />
    </section>
  );
}
