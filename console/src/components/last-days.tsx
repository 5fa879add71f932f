// The figures of an app for yesterday, 7 and 30 days, each with its trend and the time before.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { readCsv } from '../api/client.ts';
import type { OverviewFigures, Overview as OverviewReport } from '../api/objects.ts';
import { formatNumber } from '../format.ts';
import { formatMoney } from '../money.ts';
import { paths } from '../paths.ts';
import { Card, Figures } from '../ui/card.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import { tellChange } from './change.ts';
import { overviewQuestions } from './first-questions.ts';
import { Loaded } from './loaded.tsx';
import { CsvButton } from './report-chart.tsx';
import { formatPeriod } from './report-text.ts';
import { browserZone } from './report-view.ts';
import { useAddress } from './use-address.ts';

const spans = {
  yesterday: { name: 'Yesterday', before: 'the day before' },
  last_7_days: { name: '7 days', before: 'in the 7 days before' },
  last_30_days: { name: '30 days', before: 'in the 30 days before' },
} as const;
type SpanName = keyof typeof spans;
const spanDefault: SpanName = 'last_7_days';

const counts = ['accepted', 'sent', 'failed', 'clicked', 'active_devices'] as const;
const names = {
  accepted: 'Accepted',
  sent: 'Sent',
  failed: 'Failed',
  clicked: 'Clicked',
  active_devices: 'Active devices',
} as const;

export function LastDays({ app }: { app: string }) {
  const overview = useQuery(overviewQuestions(app).figures);
  return <Loaded query={overview}>{(data) => <Days app={app} overview={data} />}</Loaded>;
}

function Days({ app, overview: { spans: found, days } }: { app: string; overview: OverviewReport }) {
  const { search, change } = useAddress();
  const chosen = (Object.keys(spans) as SpanName[]).find((name) => name === search.get('span')) ?? spanDefault;
  const isTable = search.get('view') === 'table';
  const span = found.find(({ name }) => name === chosen);
  const isEmpty = found.every(({ now, before }) => isNothing(now) && isNothing(before));
  if (!span || isEmpty) return null;
  const { now, before } = span;
  const shown = chosen === 'last_30_days' ? days : days.slice(-14);
  const currency = mainCurrency([...days, now, before]);
  const revenue = (figures: OverviewFigures): string =>
    figures.revenue.find((row) => row.currency === currency)?.total ?? '0';
  const value = (text: string, values: readonly number[], tone: 'bad' | 'idle') => (
    <span style={{ display: 'flex', justifyContent: 'space-between', alignItems: 'center', gap: 8 }}>
      {text}
      <Sparkline values={values} tone={tone} />
    </span>
  );
  return (
    <section aria-label="The last days" className="stack" style={{ gap: 8 }}>
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, justifyContent: 'space-between' }}>
        <fieldset className="presets" aria-label="Span">
          {(Object.keys(spans) as SpanName[]).map((name) => (
            <Button
              key={name}
              size="xs"
              variant={name === chosen ? 'light' : 'default'}
              aria-pressed={name === chosen}
              onClick={() => change({ span: name === spanDefault ? null : name })}
            >
              {spans[name].name}
            </Button>
          ))}
        </fieldset>
        <span className="no-print" style={{ display: 'flex', gap: 8, alignItems: 'center' }}>
          <Button size="xs" variant="default" onClick={() => change({ view: isTable ? null : 'table' })}>
            {isTable ? 'Hide the table' : 'Table of the days'}
          </Button>
          <CsvButton
            what="the days"
            name="overview.csv"
            read={() => readCsv('getOverview', { app, tz: browserZone })}
          />
          <Link to={paths.reports(app)}>All reports</Link>
        </span>
      </div>
      <Figures
        figures={[
          ...counts.map((name) => ({
            name: names[name],
            value: value(
              formatNumber(now[name]),
              shown.map((day) => day[name]),
              name === 'failed' ? 'bad' : 'idle',
            ),
            note: tellChange(now[name], before[name], spans[chosen].before),
          })),
          ...(currency === undefined
            ? []
            : [
                {
                  name: 'Revenue',
                  value: value(
                    formatMoney(revenue(now), currency),
                    shown.map((day) => Number(revenue(day))),
                    'idle',
                  ),
                  note: tellChange(Number(revenue(now)), Number(revenue(before)), spans[chosen].before),
                },
              ]),
        ]}
      />
      {isTable && (
        <Card title="The last 30 days" isFlush>
          <DataTable
            label="The last 30 days"
            rows={days.toReversed()}
            keyOf={({ from }) => from}
            columns={[
              { name: 'Day', cell: ({ from }) => formatPeriod(from, 'day', browserZone, 'whole') },
              ...counts.map((name) => ({
                name: names[name],
                isNumber: true,
                cell: (day: OverviewFigures) => formatNumber(day[name]),
              })),
              ...(currency === undefined
                ? []
                : [
                    {
                      name: 'Revenue',
                      isNumber: true,
                      cell: (day: OverviewFigures) => formatMoney(revenue(day), currency),
                    },
                  ]),
            ]}
          />
        </Card>
      )}
    </section>
  );
}

function isNothing({ accepted, active_devices, revenue }: OverviewFigures): boolean {
  return accepted + active_devices === 0 && revenue.length === 0;
}

/** The currency with the most days; undefined if nothing was bought. */
function mainCurrency(figures: readonly OverviewFigures[]): string | undefined {
  const times = new Map<string, number>();
  for (const { revenue } of figures)
    for (const { currency } of revenue) times.set(currency, (times.get(currency) ?? 0) + 1);
  return [...times].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))[0]?.[0];
}
