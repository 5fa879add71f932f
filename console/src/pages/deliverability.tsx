// How push services took what was sent: outcomes and latency by channel and provider.
import { useQuery } from '@tanstack/react-query';
import { readCsv } from '../api/client.ts';
import type { ServiceFigures } from '../api/objects.ts';
import { useAppId } from '../api/session.ts';
import { deliverabilityQuestions } from '../components/first-questions.ts';
import { CsvButton, ReportChart } from '../components/report-chart.tsx';
import { ReportPage } from '../components/report-page.tsx';
import { formatPeriod, periodNames, providerNames } from '../components/report-text.ts';
import { rangeOf, useReportView } from '../components/report-view.ts';
import { codeTitle } from '../failure-codes.ts';
import { channelNames, count, formatDuration, formatNumber, formatShare } from '../format.ts';
import { Card } from '../ui/card.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Empty } from '../ui/empty.tsx';

const dashes = ['solid', 'dashed', 'dotted', 'long'] as const;
const tones = ['accent', 'idle'] as const;

const outcomes = [
  { kind: 'sent', name: 'Sent', tone: 'good', dash: 'solid' },
  { kind: 'failed', name: 'Failed', tone: 'bad', dash: 'dashed' },
] as const;

const keyOf = ({ channel, provider }: ServiceFigures): string => `${channel} ${provider}`;
const nameOf = ({ channel, provider }: ServiceFigures): string =>
  channel === 'webpush' ? `Web, ${providerNames[provider]}` : channelNames[channel];
const duration = (ms: number | null): string => (ms === null ? '–' : formatDuration(ms));

export function Deliverability() {
  const app = useAppId();
  const { view } = useReportView();
  const asked = { app, ...rangeOf(view) };
  const questions = deliverabilityQuestions(app, view);
  const query = useQuery(questions.grouped);
  const before = useQuery(questions.before).data?.services ?? [];
  const found = query.data?.services;
  return (
    <ReportPage
      title="Deliverability"
      answer={found ? tell(sumOf(found, 'sent'), sumOf(found, 'failed')) : null}
      query={query}
    >
      {({ services, groups = [], tz = view.zone, group: by = view.group }) => {
        const points = groups.map(({ from }) => formatPeriod(from, by, tz));
        const from = {
          name: periodNames[by],
          cell: (group: { from: string }) => formatPeriod(group.from, by, tz, 'whole'),
        };
        const of = (group: (typeof groups)[number], service: ServiceFigures) =>
          group.services.find((each) => keyOf(each) === keyOf(service));
        const common = {
          points,
          rows: groups,
          keyOf: (group: { from: string }) => group.from,
          csv: {
            name: 'deliverability.csv',
            read: () => readCsv('reportDeliverability', { ...asked, group: view.group }),
          },
        };
        return services.length === 0 ? (
          <Card>
            <Empty title="Nothing was delivered in this range">
              Choose other days, or send a message: this page shows how each push service took it. Deliveries from
              before Carillon counted them are not shown.
            </Empty>
          </Card>
        ) : (
          <>
            <Card
              title="By push service"
              isFlush
              actions={
                <CsvButton
                  what="push services"
                  name="push-services.csv"
                  read={() => readCsv('reportDeliverability', asked)}
                />
              }
            >
              <DataTable
                label="Deliverability by push service"
                rows={services}
                keyOf={keyOf}
                columns={[
                  { name: 'Service', cell: nameOf },
                  { name: 'Sent', isNumber: true, cell: (row) => formatNumber(row.sent) },
                  { name: 'Failed', isNumber: true, cell: (row) => formatNumber(row.failed) },
                  {
                    name: 'Failure rate',
                    isNumber: true,
                    cell: (row) => formatShare(row.failed, row.sent + row.failed),
                  },
                  {
                    name: 'Rate before',
                    isNumber: true,
                    cell: (row) => {
                      const past = before.find((each) => keyOf(each) === keyOf(row));
                      return past ? formatShare(past.failed, past.sent + past.failed) : '–';
                    },
                  },
                  { name: 'Half within', isNumber: true, cell: (row) => duration(row.p50_ms) },
                  { name: '95% within', isNumber: true, cell: (row) => duration(row.p95_ms) },
                  {
                    name: 'Most frequent failure',
                    isLong: true,
                    cell: (row) => <Mostly counts={row.error_counts} />,
                  },
                ]}
              />
            </Card>
            <ReportChart
              {...common}
              title={`Outcomes by ${view.group}`}
              format={formatNumber}
              lines={outcomes.map(({ kind, ...line }) => ({
                ...line,
                values: groups.map((group) => sumOf(group.services, kind)),
              }))}
              columns={[
                from,
                ...outcomes.map(({ kind, name }) => ({
                  name,
                  isNumber: true,
                  cell: (group: (typeof groups)[number]) => formatNumber(sumOf(group.services, kind)),
                })),
              ]}
            />
            <ReportChart
              {...common}
              title={`Latency by ${view.group}, 95% within`}
              format={formatDuration}
              lines={services
                .filter(({ p95_ms }) => p95_ms !== null)
                .map((service, i) => ({
                  name: nameOf(service),
                  tone: tones[Math.floor(i / dashes.length) % tones.length] ?? 'idle',
                  dash: dashes[i % dashes.length] ?? 'solid',
                  values: groups.map((group) => of(group, service)?.p95_ms ?? null),
                }))}
              columns={[
                from,
                ...services.map((service) => ({
                  name: nameOf(service),
                  isNumber: true,
                  cell: (group: (typeof groups)[number]) => duration(of(group, service)?.p95_ms ?? null),
                })),
              ]}
              note="From our request to the answer of the push service. The times are approximate: they are counted in steps of 41%."
            />
          </>
        );
      }}
    </ReportPage>
  );
}

function Mostly({ counts }: { counts: ServiceFigures['error_counts'] }) {
  const [most] = Object.entries(counts).sort(([, a], [, b]) => b - a);
  if (!most) return <span className="muted">–</span>;
  const [code, times] = most;
  return (
    <span title={code}>
      {codeTitle(code)} ({formatNumber(times)})
    </span>
  );
}

function sumOf(services: readonly ServiceFigures[], name: 'sent' | 'failed'): number {
  return services.reduce((sum, service) => sum + service[name], 0);
}

function tell(sent: number, failed: number): string {
  if (sent + failed === 0) return 'No delivery ended in this range.';
  if (failed === 0) return `${count(sent, 'push', 'pushes')} sent, and none failed.`;
  return `${formatShare(failed, sent + failed)} of ${count(sent + failed, 'delivery', 'deliveries')} failed.`;
}
