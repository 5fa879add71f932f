// The report of revenue: sums of purchases, and the messages they are credited to.
import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link } from 'react-router';
import { type Given, readCsv } from '../api/client.ts';
import type { RevenueReport, RevenueRow } from '../api/objects.ts';
import { useApp, useAppId } from '../api/session.ts';
import { BySegment } from '../components/by-segment.tsx';
import { tellChange } from '../components/change.ts';
import { FirstEvent } from '../components/first-code.tsx';
import { askedOf, revenueQuestions } from '../components/first-questions.ts';
import { LoadedReport } from '../components/loaded-report.tsx';
import { nameOf } from '../components/message-text.ts';
import { Rebuild } from '../components/rebuild.tsx';
import { CsvButton, ReportChart } from '../components/report-chart.tsx';
import { HandOn, ReportFilters } from '../components/report-filters.tsx';
import { formatPeriod, periodNames, tellBefore } from '../components/report-text.ts';
import { type Group, type ReportView, useReportView } from '../components/report-view.ts';
import { sumRevenue } from '../components/sum-revenue.ts';
import { count, formatNumber, formatShare } from '../format.ts';
import { formatExactMoney, formatMoney, formatShortMoney } from '../money.ts';
import { paths } from '../paths.ts';
import { Card, Figures } from '../ui/card.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';

const windows = [1, 12, 24, 48, 72, 168, 720];
const none = { amount: '0', purchases: 0 };
const empty = (currency: string): RevenueRow => ({
  currency,
  total: '0',
  purchases: 0,
  direct: none,
  influenced: none,
  unattributed: none,
  open: none,
});

export function Revenue() {
  const app = useAppId();
  const { attribution_window_hours: ownWindow } = useApp();
  const { view, change } = useReportView();
  const asked = askedOf(app, view);
  const questions = revenueQuestions(app, view);
  const grouped = useQuery(questions.grouped);
  const before = useQuery(questions.before).data?.revenue;
  const whole = useMemo(() => grouped.data && sumRevenue(grouped.data.groups ?? []), [grouped.data]);
  const currencies = whole?.map(({ currency }) => currency) ?? [];
  const row = whole && chooseCurrency(whole, view.currency);
  return (
    <>
      <PageHead title="Revenue" answer={whole ? tellRevenue(row) : null} actions={<HandOn />} />
      <div className="stack">
        <ReportFilters>
          {currencies.length > 0 && (
            <Select
              label="Currency"
              w={96}
              data={currencies}
              value={row?.currency ?? null}
              onChange={(value) => change({ currency: value })}
            />
          )}
          <Select
            label="Attribution window"
            w={184}
            data={[
              { value: '', label: `The app's: ${formatWindow(ownWindow)}` },
              ...windows.map((hours) => ({ value: String(hours), label: formatWindow(hours) })),
            ]}
            value={view.windowHours ?? ''}
            onChange={(value) => change({ window: value })}
          />
        </ReportFilters>
        <LoadedReport query={grouped}>
          {({ groups = [], tz = view.zone, group = view.group, messages, has_more }) =>
            row === undefined ? (
              <NoPurchases />
            ) : (
              <>
                <Classes view={view} before={before} row={row} />
                <OverTime asked={{ ...asked, tz, group }} groups={groups} currency={row.currency} />
                <ByMessage
                  asked={asked}
                  currency={row.currency}
                  hasMore={has_more}
                  messages={messages.filter(({ currency }) => currency === row.currency)}
                />
                <BySegment asked={asked} currency={row.currency} />
              </>
            )
          }
        </LoadedReport>
        <Rebuild app={app} />
      </div>
    </>
  );
}

function formatWindow(hours: number): string {
  return hours % 24 === 0 && hours > 24 ? count(hours / 24, 'day') : count(hours, 'hour');
}

/** The currency of the address, or else the one with the most purchases. */
function chooseCurrency(rows: readonly RevenueRow[], currency: string | undefined): RevenueRow | undefined {
  const [most] = [...rows].sort((a, b) => b.purchases - a.purchases);
  if (currency === undefined) return most;
  return rows.find((row) => row.currency === currency) ?? (most && empty(currency));
}

function tellRevenue(row: RevenueRow | undefined): string {
  if (!row) return 'Nothing was bought in this range.';
  const { currency, total, purchases, direct, influenced } = row;
  const whole = `${formatMoney(total, currency)} in ${count(purchases, 'purchase')}.`;
  if (direct.purchases + influenced.purchases === 0) return `${whole} None of it followed a push.`;
  return `${whole} ${formatMoney(direct.amount, currency)} followed a click, ${formatMoney(influenced.amount, currency)} a push that was not clicked.`;
}

function NoPurchases() {
  return (
    <Card>
      <Empty title="No purchases in this range" action={<FirstEvent />}>
        An event <span className="mono">purchase</span> with <span className="mono">amount</span> and{' '}
        <span className="mono">currency</span> is credited to the message whose push it followed.
      </Empty>
    </Card>
  );
}

const classes = ['direct', 'influenced', 'unattributed'] as const;
const classNames = { direct: 'Direct', influenced: 'Influenced', unattributed: 'Unattributed' } as const;

interface ClassesProps {
  readonly view: ReportView;
  readonly row: RevenueRow;
  /** The rows of the time before; undefined while they are being read. */
  readonly before: readonly RevenueRow[] | undefined;
}

function Classes({ view, row, before }: ClassesProps) {
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

interface OverTimeProps {
  readonly asked: Given<'reportRevenue'> & { readonly tz: string; readonly group: Group };
  readonly groups: NonNullable<RevenueReport['groups']>;
  readonly currency: string;
}

function OverTime({ asked, groups, currency }: OverTimeProps) {
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

interface ByMessageProps {
  readonly asked: Given<'reportRevenue'>;
  readonly currency: string;
  readonly hasMore: boolean;
  readonly messages: RevenueReport['messages'];
}

function ByMessage({ asked, currency, messages, hasMore }: ByMessageProps) {
  if (messages.length === 0) return null;
  const most = Math.max(...messages.map(({ direct, influenced }) => Number(direct.amount) + Number(influenced.amount)));
  return (
    <Card
      title="By message"
      isFlush
      actions={<CsvButton what="messages" name="messages.csv" read={() => readCsv('reportRevenue', asked)} />}
    >
      <DataTable
        label="Revenue by message"
        rows={messages}
        keyOf={({ message_id }) => message_id}
        columns={[
          {
            name: 'Message',
            cell: ({ message_id, name, title }) => (
              <Link to={paths.message(asked.app, message_id)}>{nameOf({ id: message_id, name, title })}</Link>
            ),
          },
          {
            name: 'Share of the highest',
            cell: ({ direct, influenced }) => {
              const amount = Number(direct.amount) + Number(influenced.amount);
              return (
                <span className="share" title={`${formatShare(amount, most)} of the highest`}>
                  <span style={{ width: `${(100 * amount) / (most || 1)}%` }} />
                </span>
              );
            },
          },
          { name: 'Direct', isNumber: true, cell: ({ direct }) => formatExactMoney(direct.amount, currency) },
          {
            name: 'Influenced',
            isNumber: true,
            cell: ({ influenced }) => formatExactMoney(influenced.amount, currency),
          },
          {
            name: 'Purchases',
            isNumber: true,
            cell: ({ direct, influenced }) => formatNumber(direct.purchases + influenced.purchases),
          },
        ]}
      />
      {hasMore && (
        <p className="muted" style={{ margin: 0, padding: '8px 16px', fontSize: 13 }}>
          The 200 rows with the most direct revenue. A shorter range shows others.
        </p>
      )}
    </Card>
  );
}
