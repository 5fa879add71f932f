// The report of revenue: sums of purchases, and the messages they are credited to.

import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { RevenueRow } from '../../api/objects.ts';
import { useApp, useAppId } from '../../api/session.ts';
import { FirstEvent } from '../../components/first-code.tsx';
import { askedOf, revenueQuestions } from '../../components/first-questions.ts';
import { Rebuild } from '../../components/rebuild.tsx';
import { ReportPage } from '../../components/report-page.tsx';
import { useReportView } from '../../components/report-view.ts';
import { sumRevenue } from '../../components/sum-revenue.ts';
import { count } from '../../format.ts';
import { formatMoney } from '../../money.ts';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ByMessage } from './by-message.tsx';
import { BySegment } from './by-segment.tsx';
import { Classes } from './classes.tsx';
import { OverTime } from './over-time.tsx';
import { empty } from './revenue-row.ts';

const windows = [1, 12, 24, 48, 72, 168, 720];

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
    <ReportPage
      title="Revenue"
      answer={whole ? tellRevenue(row) : null}
      query={grouped}
      filters={
        <>
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
        </>
      }
      below={<Rebuild app={app} />}
    >
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
    </ReportPage>
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
