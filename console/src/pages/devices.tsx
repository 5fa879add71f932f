// Every browser and phone that the app can reach, or could.
import type { ListedDevice } from '../api/objects.ts';
import { useAnswer, usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { ChoiceField } from '../components/filter-fields.tsx';
import { FirstDevice } from '../components/first-code.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { tellDevices } from '../components/list-answers.ts';
import { browserZone } from '../components/report-view.ts';
import { Status } from '../components/status.tsx';
import { platformNames } from '../format.ts';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const columns: readonly Column<ListedDevice>[] = [
  { name: 'State', width: '128px', onCard: 'aside', cell: ({ status }) => <Status status={status} /> },
  {
    name: 'Device',
    width: 'minmax(220px, 2fr)',
    onCard: 'title',
    cell: ({ id }) => <span className="mono">{id}</span>,
  },
  { name: 'Platform', width: '88px', cell: ({ platform }) => platformNames[platform] },
  { name: 'User', width: 'minmax(80px, 1fr)', cell: ({ external_id }) => external_id },
  { name: 'System', width: 'minmax(80px, 1fr)', cell: ({ os, model }) => model ?? os },
  { name: 'App version', width: '96px', cell: ({ app_version }) => app_version },
  { name: 'Last seen', width: '116px', cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} /> },
];
const platforms = Object.entries(platformNames) as [string, string][];
const states = [
  ['active', 'Active'],
  ['invalid', 'Invalid'],
  ['unsubscribed', 'Unsubscribed'],
] as const;

export function Devices() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q', 'platform', 'status']);
  const query = usePages('listDevices', { app, ...filters }, from);
  const overview = useAnswer('getOverview', { app, tz: browserZone }).data;
  return (
    <>
      <PageHead title="Devices" answer={tellDevices(overview)} />
      <FoundList
        finds="Device id or external id"
        search={field('q')}
        filters={
          <>
            <ChoiceField label="Platform" all="Any platform" choices={platforms} {...field('platform')} />
            <ChoiceField label="State" all="Any state" choices={states} {...field('status')} />
          </>
        }
        label="Devices"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => paths.device(app, id)}
        minWidth={860}
        empty={
          Object.values(filters).some(Boolean) ? (
            <Empty title="No device matches">Change the text, the platform or the state above.</Empty>
          ) : (
            <Empty title="No devices yet" action={<FirstDevice />}>
              Put these lines on a page of your site. An app on a phone registers with the same key.
            </Empty>
          )
        }
      />
    </>
  );
}
