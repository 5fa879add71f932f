// How the audience grew and shrank: devices that registered, were active, and went.
import { useQuery } from '@tanstack/react-query';
import { readCsv } from '../api/client.ts';
import { useAppId } from '../api/session.ts';
import { tellChange } from '../components/change.ts';
import { FirstDevice } from '../components/first-code.tsx';
import { audienceQuestions } from '../components/first-questions.ts';
import { ReportChart } from '../components/report-chart.tsx';
import { ReportPage } from '../components/report-page.tsx';
import { formatPeriod, periodNames, tellBefore } from '../components/report-text.ts';
import { rangeOf, useReportView } from '../components/report-view.ts';
import { channels, count, formatNumber } from '../format.ts';
import { Card, Figures } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';

const platforms = { webpush: 'Web', apns: 'iOS', fcm: 'Android' } as const;
const dashOf = { webpush: 'solid', apns: 'dashed', fcm: 'dotted' } as const;

interface Counts {
  readonly registered: number;
  readonly active: number;
  readonly invalid: number;
  readonly unsubscribed: number;
}
const changes = [
  { kind: 'registered', name: 'Registered', tone: 'accent', dash: 'solid' },
  { kind: 'unsubscribed', name: 'Unsubscribed', tone: 'warn', dash: 'dashed' },
  { kind: 'invalid', name: 'Invalid', tone: 'bad', dash: 'dotted' },
] as const;
type Devices = Readonly<Record<(typeof channels)[number], Counts>>;

const all = (devices: Devices, name: keyof Counts): number =>
  channels.reduce((sum, channel) => sum + devices[channel][name], 0);

export function AudienceReport() {
  const app = useAppId();
  const { view } = useReportView();
  const grouped = { ...rangeOf(view), group: view.group };
  const questions = audienceQuestions(app, view);
  const query = useQuery(questions.grouped);
  const before = useQuery(questions.before).data?.devices;
  const found = query.data?.groups ?? [];
  const last = found.at(-1)?.devices;
  const sum = (name: keyof Counts): number => found.reduce((total, { devices }) => total + all(devices, name), 0);
  const active = last ? all(last, 'active') : 0;
  const [registered, lost] = [sum('registered'), sum('unsubscribed') + sum('invalid')];
  return (
    <ReportPage title="Audience" answer={query.data ? tellAudience(active, registered, lost) : null} query={query}>
      {({ groups = [], tz = view.zone, group: by = view.group }) => {
        const compare = (now: number, name: keyof Counts): string =>
          before ? tellChange(now, all(before, name), tellBefore(view)) : ' ';
        const points = groups.map(({ from }) => formatPeriod(from, by, tz));
        const columns = [
          {
            name: periodNames[by],
            cell: ({ from }: { from: string }) => formatPeriod(from, by, tz, 'whole'),
          },
          ...channels.map((channel) => ({
            name: `Active, ${platforms[channel]}`,
            isNumber: true,
            cell: ({ devices }: { devices: Devices }) => formatNumber(devices[channel].active),
          })),
          ...changes.map(({ kind, name }) => ({
            name,
            isNumber: true,
            cell: ({ devices }: { devices: Devices }) => formatNumber(all(devices, kind)),
          })),
        ];
        const common = {
          points,
          format: formatNumber,
          rows: groups,
          keyOf: ({ from }: { from: string }) => from,
          columns,
        };
        const csv = { name: 'audience.csv', read: () => readCsv('reportDevices', { app, ...grouped }) };
        return active + registered + lost === 0 ? (
          <Card>
            <Empty title="No devices in this range" action={<FirstDevice />}>
              Choose other days, or put these lines on a page of your site.
            </Empty>
          </Card>
        ) : (
          <>
            <section aria-label="Audience of the range">
              <Figures
                figures={[
                  { name: 'Active', value: formatNumber(active), note: compare(active, 'active') },
                  ...changes.map(({ kind, name }) => ({
                    name,
                    value: formatNumber(sum(kind)),
                    note: compare(sum(kind), kind),
                  })),
                ]}
              />
            </section>
            <ReportChart
              {...common}
              csv={csv}
              title="Active devices by platform"
              lines={channels
                .filter((channel) => groups.some(({ devices }) => devices[channel].active > 0))
                .map((channel) => ({
                  name: platforms[channel],
                  tone: 'good' as const,
                  dash: dashOf[channel],
                  values: groups.map(({ devices }) => devices[channel].active),
                }))}
            />
            <ReportChart
              {...common}
              csv={csv}
              title="Gained and lost"
              lines={changes.map(({ kind, ...line }) => ({
                ...line,
                values: groups.map(({ devices }) => all(devices, kind)),
              }))}
            />
          </>
        );
      }}
    </ReportPage>
  );
}

function tellAudience(active: number, registered: number, lost: number): string {
  if (active + registered + lost === 0) return 'No device was active in this range.';
  return `${count(active, 'active device')} at the end: ${formatNumber(registered)} registered, ${formatNumber(lost)} lost.`;
}
