// One message over time: when it was sent, when people displayed and clicked it, and what they
// bought.
import type { Message, MessageFigures } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { channelNames, channels, formatNumber, formatShare } from '../format.ts';
import { formatMoney } from '../money.ts';
import { Card, Figures } from '../ui/card.tsx';
import { writeCsv } from '../ui/csv.ts';
import { DataTable } from '../ui/data-table.tsx';
import { Loaded } from './loaded.tsx';
import { CsvButton, ReportChart } from './report-chart.tsx';

type Series<Kind extends string> = {
  readonly step: 'minute' | 'hour' | 'day';
  readonly points: readonly ({ readonly at: string } & Readonly<Record<Kind, number>>)[];
};

const useFigures = (app: string, { id, status }: Message) =>
  useAnswer('getMessageFigures', { app, id }, { refetchInterval: status === 'sending' ? 5_000 : 60_000 });

/** Sent → displayed → clicked → bought. */
export function Funnel({ app, message }: { app: string; message: Message }) {
  const { report, engagement } = message;
  const figures = useFigures(app, message).data;
  return (
    <section aria-label="Funnel">
      <Figures
        figures={[
          {
            name: 'Sent',
            value: formatNumber(report.sent),
            note: `${formatShare(report.sent, report.accepted)} of the audience`,
          },
          { name: 'Displayed', value: formatNumber(engagement.displayed), note: 'where the platform reports it' },
          {
            name: 'Clicked',
            value: formatNumber(engagement.clicked),
            note: `${formatShare(engagement.clicked, report.sent)} of sent`,
          },
          { name: 'Dismissed', value: formatNumber(engagement.dismissed), note: 'where the platform reports it' },
          {
            name: 'Bought',
            value: figures ? formatNumber(figures.purchases) : '–',
            note: figures ? tellRevenue(figures) : ' ',
          },
        ]}
      />
    </section>
  );
}

function tellRevenue({ revenue }: MessageFigures): string {
  if (revenue.length === 0) return 'no purchase followed it so far';
  return revenue
    .map(({ currency, direct, influenced }) => formatMoney(Number(direct.amount) + Number(influenced.amount), currency))
    .join(', ');
}

export function MessageOverTime({ app, message }: { app: string; message: Message }) {
  const query = useFigures(app, message);
  return (
    <Loaded query={query}>
      {(figures) => (
        <>
          <div className="grid-2">
            <SeriesChart
              title="Sent over time"
              series={figures.outcomes}
              lines={[
                { kind: 'sent', name: 'Sent', tone: 'good', dash: 'solid' },
                { kind: 'failed', name: 'Failed', tone: 'bad', dash: 'dashed' },
              ]}
              note={tellSample(figures)}
            />
            <SeriesChart
              title="Displayed and clicked over time"
              series={figures.marks}
              lines={[
                { kind: 'displayed', name: 'Displayed', tone: 'idle', dash: 'dotted' },
                { kind: 'clicked', name: 'Clicked', tone: 'accent', dash: 'long' },
                { kind: 'dismissed', name: 'Dismissed', tone: 'warn', dash: 'dashed' },
              ]}
              note={tellLater(figures)}
            />
          </div>
          <MarksByChannel figures={figures} />
        </>
      )}
    </Loaded>
  );
}

interface SeriesLine<Kind extends string> {
  readonly kind: Kind;
  readonly name: string;
  readonly tone: 'good' | 'bad' | 'warn' | 'idle' | 'accent';
  readonly dash: 'solid' | 'dashed' | 'dotted' | 'long';
}

interface SeriesChartProps<Kind extends string> {
  readonly title: string;
  readonly series: Series<Kind>;
  readonly lines: readonly SeriesLine<Kind>[];
  readonly note: string | undefined;
}

function SeriesChart<Kind extends string>({ title, series: { step, points }, lines, note }: SeriesChartProps<Kind>) {
  const [first] = points;
  if (!first) return null;
  if (points.length === 1) return <OnePoint title={title} step={step} point={first} lines={lines} note={note} />;
  return (
    <ReportChart
      title={title}
      points={points.map(({ at }) => formatMoment(at, step))}
      lines={lines.map(({ kind, ...line }) => ({ ...line, values: points.map((point) => point[kind]) }))}
      format={formatNumber}
      rows={points}
      keyOf={({ at }) => at}
      columns={[
        { name: step === 'day' ? 'Day' : `Each ${step} from`, cell: ({ at }) => formatMoment(at, step) },
        ...lines.map(({ kind, name }) => ({
          name,
          isNumber: true,
          cell: (point: (typeof points)[number]) => formatNumber(point[kind]),
        })),
      ]}
      csv={{
        name: 'message.csv',
        read: async () =>
          writeCsv(
            ['at', ...lines.map(({ kind }) => kind)],
            points.map((point) => [point.at, ...lines.map(({ kind }) => point[kind])]),
          ),
      }}
      note={note}
    />
  );
}

interface OnePointProps<Kind extends string> {
  readonly title: string;
  readonly step: 'minute' | 'hour' | 'day';
  readonly point: Series<Kind>['points'][number];
  readonly lines: readonly SeriesLine<Kind>[];
  readonly note: string | undefined;
}

/** A single moment makes no line. Its numbers are enough. */
function OnePoint<Kind extends string>({ title, step, point, lines, note }: OnePointProps<Kind>) {
  const when =
    step === 'day' ? `On ${formatMoment(point.at, step)}` : `In the ${step} from ${formatMoment(point.at, step)}`;
  const told = lines
    .filter(({ kind }) => point[kind] > 0)
    .map(({ kind, name }) => `${formatNumber(point[kind])} ${name.toLowerCase()}`);
  return (
    <Card title={title}>
      <p style={{ margin: 0 }}>
        {when}: {told.length === 0 ? 'nothing yet' : told.join(', ')}.
      </p>
      {note !== undefined && <p className="muted">{note}</p>}
    </Card>
  );
}

function formatMoment(at: string, step: 'minute' | 'hour' | 'day'): string {
  const time: Intl.DateTimeFormatOptions = step === 'day' ? {} : { hour: 'numeric', minute: '2-digit' };
  const day: Intl.DateTimeFormatOptions = step === 'minute' ? {} : { day: 'numeric', month: 'short' };
  return new Intl.DateTimeFormat(undefined, { ...day, ...time }).format(new Date(at));
}

function tellSample({ read, accepted }: MessageFigures): string | undefined {
  if (read >= accepted) return undefined;
  return `Drawn from ${formatNumber(read)} of ${formatNumber(accepted)} deliveries, scaled to the exact totals.`;
}

function tellLater({ later_marks: { displayed, clicked, dismissed } }: MessageFigures): string | undefined {
  if (displayed + clicked + dismissed === 0) return undefined;
  return `After the first week: ${formatNumber(displayed)} displayed, ${formatNumber(clicked)} clicked, ${formatNumber(dismissed)} dismissed.`;
}

const moments = ['sent', 'failed', 'displayed', 'clicked', 'dismissed'] as const;

function MarksByChannel({ figures: { by_channel } }: { figures: MessageFigures }) {
  const used = channels.filter((channel) => by_channel[channel].sent + by_channel[channel].failed > 0);
  // With one channel the figures above already show the same.
  if (used.length < 2) return null;
  const column = (name: (typeof moments)[number], text: string) => ({
    name: text,
    isNumber: true,
    cell: (channel: (typeof channels)[number]) => formatNumber(by_channel[channel][name]),
  });
  return (
    <Card
      title="Clicked by channel"
      isFlush
      actions={
        <CsvButton
          what="Clicked by channel"
          name="channels.csv"
          read={async () =>
            writeCsv(
              ['channel', ...moments],
              used.map((channel) => [channel, ...moments.map((name) => by_channel[channel][name])]),
            )
          }
        />
      }
    >
      <DataTable
        label="Clicked by channel"
        rows={used}
        keyOf={(channel) => channel}
        columns={[
          { name: 'Channel', cell: (channel) => channelNames[channel] },
          column('sent', 'Sent'),
          column('failed', 'Failed'),
          column('displayed', 'Displayed'),
          column('clicked', 'Clicked'),
          {
            name: 'Click rate',
            isNumber: true,
            cell: (channel) => formatShare(by_channel[channel].clicked, by_channel[channel].sent),
          },
          column('dismissed', 'Dismissed'),
        ]}
      />
    </Card>
  );
}
