// One name of events: how often, with which properties, and the latest ones.
import { Button } from '@mantine/core';
import { Link, useParams } from 'react-router';
import type { CataloguedEvent, RecentEvent } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { HiddenValue } from '../components/hidden-values.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Gate } from '../components/not-allowed.tsx';
import { eventTypeNames } from '../components/property-text.ts';
import { CsvButton } from '../components/report-chart.tsx';
import { ValuesAsSent } from '../components/values-as-sent.tsx';
import { count, formatNumber } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { writeCsv } from '../ui/csv.ts';
import { DataTable } from '../ui/data-table.tsx';
import { DayBars } from '../ui/day-bars.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

export function EventPage() {
  const app = useAppId();
  const { event = '' } = useParams();
  const query = useAnswer('getEventName', { app, name: event }, { refetchInterval: 10_000 });
  return <Loaded query={query}>{(data) => <Whole app={app} event={data} />}</Loaded>;
}

function Whole({ app, event }: { app: string; event: CataloguedEvent }) {
  const canBuild = useMay('segment.edit');
  const today = event.days.at(-1)?.count ?? 0;
  return (
    <>
      <PageHead
        above={<Link to={paths.events(app)}>Events</Link>}
        title={event.name}
        answer={
          <>
            {count(event.count, 'event')} in all, {formatNumber(today)} today (UTC). The latest came{' '}
            <RelativeTime at={event.last_seen_at} />.
          </>
        }
        actions={
          canBuild.may && (
            <Button component={Link} to={paths.newSegment(app, event.name)} variant="default">
              New segment of these users
            </Button>
          )
        }
      />
      <div className="stack">
        <div className="grid-2">
          <Card
            title="The last 14 days"
            actions={
              <CsvButton
                what="the last 14 days"
                name={`${event.name}.csv`}
                read={async () =>
                  writeCsv(
                    ['day', 'count'],
                    event.days.map((each) => [each.day, each.count]),
                  )
                }
              />
            }
          >
            <DayBars label={`${event.name} by day in UTC`} days={event.days} />
          </Card>
          <Card title="Properties" isFlush>
            <PropertyTable event={event} />
          </Card>
        </div>
        <Gate act="event.read" what="The latest events" isPart>
          <Recent app={app} name={event.name} />
        </Gate>
      </div>
    </>
  );
}

function PropertyTable({ event }: { event: CataloguedEvent }) {
  if (event.properties.length === 0) return <p style={{ margin: '0 16px 16px' }}>Its events carry no properties.</p>;
  return (
    <DataTable
      label="Properties of the event"
      rows={event.properties}
      keyOf={({ key, type }) => `${key} ${type}`}
      columns={[
        { name: 'Key', cell: ({ key }) => <span className="mono">{key}</span> },
        { name: 'Type', cell: ({ type }) => eventTypeNames[type] ?? type },
        {
          name: 'Samples',
          isLong: true,
          cell: ({ samples }) =>
            samples ? samples.map(String).join(', ') || <span className="muted">–</span> : <HiddenValue />,
        },
      ]}
    />
  );
}

const shownMax = 50;
const lookEveryMs = 10_000;

/** The newest events. A separate page follows events as they arrive. */
function Recent({ app, name }: { app: string; name: string }) {
  const query = useAnswer('listRecentEvents', { app, name, limit: shownMax }, { refetchInterval: lookEveryMs });
  return (
    <Card title="The latest events" isFlush actions={<Link to={paths.liveEvents(app, name)}>Follow them live</Link>}>
      <Loaded query={query}>{({ data }) => <Rows app={app} events={data} />}</Loaded>
    </Card>
  );
}

function Rows({ app, events }: { app: string; events: readonly RecentEvent[] }) {
  if (events.length === 0) return <p style={{ margin: '0 16px 16px' }}>None is kept any more.</p>;
  return (
    <DataTable
      label="The latest events, as rows"
      rows={events}
      keyOf={({ id }) => id}
      columns={[
        { name: 'When', cell: ({ at }) => <RelativeTime at={at} /> },
        { name: 'Who', cell: (event) => <Who app={app} event={event} /> },
        { name: 'Values', isLong: true, cell: ({ properties }) => <ValuesAsSent values={properties} /> },
      ]}
    />
  );
}

function Who({ app, event: { external_id, device_id } }: { app: string; event: RecentEvent }) {
  if (external_id !== null) return <Link to={paths.user(app, external_id)}>{external_id}</Link>;
  if (device_id === null) return <span className="muted">nobody</span>;
  return (
    <Link to={paths.device(app, device_id)} className="mono">
      {device_id}
    </Link>
  );
}
