// The report of engagement: the messages that began in a range, sent, displayed, clicked,
// dismissed.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { readCsv } from '../api/client.ts';
import { useAppId } from '../api/session.ts';
import { tellChange } from '../components/change.ts';
import { engagementQuestions, reportRows } from '../components/first-questions.ts';
import { nameOf } from '../components/message-text.ts';
import { CsvButton, ReportChart } from '../components/report-chart.tsx';
import { ReportPage } from '../components/report-page.tsx';
import { formatPeriod, periodNames, tellBefore } from '../components/report-text.ts';
import { rangeOf, useReportView } from '../components/report-view.ts';
import { count, formatDay, formatNumber, formatShare } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, Figures } from '../ui/card.tsx';
import { DataTable, type TableColumn } from '../ui/data-table.tsx';
import { Empty } from '../ui/empty.tsx';

interface Funnel {
  readonly accepted: number;
  readonly sent: number;
  readonly displayed: number;
  readonly clicked: number;
  readonly dismissed: number;
  readonly purchases: number;
}

const steps = ['sent', 'displayed', 'clicked', 'dismissed'] as const;
const stepNames = { sent: 'Sent', displayed: 'Displayed', clicked: 'Clicked', dismissed: 'Dismissed' } as const;
const lineOf = {
  sent: { tone: 'good', dash: 'solid' },
  displayed: { tone: 'idle', dash: 'dotted' },
  clicked: { tone: 'accent', dash: 'long' },
  dismissed: { tone: 'warn', dash: 'dashed' },
} as const;

const columnsOf = <Row extends Funnel>(): readonly TableColumn<Row>[] => [
  ...steps.map((name) => ({ name: stepNames[name], isNumber: true, cell: (row: Row) => formatNumber(row[name]) })),
  { name: 'Click rate', isNumber: true, cell: (row: Row) => formatShare(row.clicked, row.sent) },
  { name: 'Purchases', isNumber: true, cell: (row: Row) => formatNumber(row.purchases) },
];

export function Engagement() {
  const app = useAppId();
  const { view } = useReportView();
  const asked = { app, ...rangeOf(view), limit: reportRows };
  const questions = engagementQuestions(app, view);
  const query = useQuery(questions.grouped);
  const before = useQuery(questions.before).data?.groups;
  const whole = query.data && sumOf(query.data.groups ?? []);
  const past = before && sumOf(before);
  return (
    <ReportPage title="Engagement" answer={whole ? tellEngagement(whole) : null} query={query}>
      {({ groups = [], messages, has_more, tz = view.zone, group: by = view.group }) =>
        whole === undefined || whole.accepted === 0 ? (
          <Card>
            <Empty title="No messages in this range">
              Choose other days, or <Link to={paths.compose(app)}>compose one</Link>.
            </Empty>
          </Card>
        ) : (
          <>
            <section aria-label="Engagement of the range">
              <Figures
                figures={steps.map((name) => ({
                  name: stepNames[name],
                  value: formatNumber(whole[name]),
                  note: past ? tellChange(whole[name], past[name], tellBefore(view)) : ' ',
                }))}
              />
            </section>
            <ReportChart
              title={`Engagement by ${view.group}`}
              points={groups.map(({ from }) => formatPeriod(from, by, tz))}
              lines={steps.map((name) => ({
                name: stepNames[name],
                ...lineOf[name],
                values: groups.map((group) => group[name]),
              }))}
              format={formatNumber}
              rows={groups}
              keyOf={({ from }) => from}
              columns={[
                { name: periodNames[by], cell: ({ from }) => formatPeriod(from, by, tz, 'whole') },
                ...columnsOf<(typeof groups)[number]>(),
              ]}
              csv={{
                name: 'engagement.csv',
                read: () => readCsv('reportEngagement', { ...asked, group: view.group }),
              }}
              note="Each message counts on the day on which it began, with all of its clicks."
            />
            <Card
              title="By message"
              isFlush
              actions={
                <CsvButton what="messages" name="messages.csv" read={() => readCsv('reportEngagement', asked)} />
              }
            >
              <DataTable
                label="Engagement by message"
                rows={messages}
                keyOf={({ message_id }) => message_id}
                columns={[
                  {
                    name: 'Message',
                    cell: ({ message_id, name, title }) => (
                      <Link to={paths.message(app, message_id)}>{nameOf({ id: message_id, name, title })}</Link>
                    ),
                  },
                  { name: 'Began', cell: ({ started_at }) => formatDay(started_at) },
                  ...columnsOf<(typeof messages)[number]>(),
                ]}
              />
              {has_more && (
                <p className="muted" style={{ margin: 0, padding: '8px 16px', fontSize: 13 }}>
                  The newest 200 messages. A shorter range shows older ones.
                </p>
              )}
            </Card>
          </>
        )
      }
    </ReportPage>
  );
}

function sumOf(groups: readonly Funnel[]): Funnel {
  const of = (name: keyof Funnel): number => groups.reduce((sum, group) => sum + group[name], 0);
  return {
    accepted: of('accepted'),
    sent: of('sent'),
    displayed: of('displayed'),
    clicked: of('clicked'),
    dismissed: of('dismissed'),
    purchases: of('purchases'),
  };
}

function tellEngagement({ accepted, sent, clicked }: Funnel): string {
  if (accepted === 0) return 'Nothing was sent in this range.';
  return `${count(clicked, 'click')} on ${count(sent, 'sent push', 'sent pushes')}: ${formatShare(clicked, sent)}.`;
}
