// The deliveries of a message: one row per device, filtered in the address.
import { messageCan } from '../api/can.ts';
import type { Delivery } from '../api/objects.ts';
import { usePages } from '../api/queries.ts';
import { codeTitle, codeTitles } from '../failure-codes.ts';
import { channelNames, formatDuration } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { Filters } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import type { Column } from '../ui/virtual-rows.tsx';
import { DeliveryCsv } from './delivery-csv.tsx';
import { ChoiceField } from './filter-fields.tsx';
import { HiddenValue } from './hidden-values.tsx';
import { List, useFilters } from './list.tsx';
import { Status } from './status.tsx';

/** The most telling state of a delivery: a click says more than a sent push. */
export function stateOf({ status, clicked_at, displayed_at }: Delivery): string {
  if (clicked_at) return 'clicked';
  return displayed_at ? 'displayed' : status;
}

function latencyOf({ timeline }: Delivery): string {
  const attempt = timeline.findLast((entry) => entry.type === 'attempt');
  return attempt ? formatDuration(attempt.latency_ms) : '–';
}

/** The columns of every list of deliveries. */
export const deliveryColumns = {
  state: { name: 'State', width: '116px', onCard: 'aside', cell: (delivery) => <Status status={stateOf(delivery)} /> },
  reason: {
    name: 'Reason',
    width: 'minmax(120px, 1.5fr)',
    cell: ({ error_code, explained }) =>
      error_code === null ? null : <span title={explained?.action}>{codeTitle(error_code)}</span>,
  },
  channel: { name: 'Channel', width: '104px', cell: ({ channel }) => channelNames[channel] },
  when: {
    name: 'When',
    width: '116px',
    cell: ({ sent_at, failed_at, queued_at }) => <RelativeTime at={sent_at ?? failed_at ?? queued_at} />,
  },
} satisfies Readonly<Record<string, Column<Delivery>>>;
const { state, reason, channel, when } = deliveryColumns;

const columns: readonly Column<Delivery>[] = [
  state,
  {
    name: 'Device',
    width: 'minmax(220px, 2fr)',
    onCard: 'title',
    cell: ({ device_id }) => <span className="mono">{device_id}</span>,
  },
  {
    name: 'User',
    width: 'minmax(80px, 1fr)',
    cell: ({ external_id }) => (external_id === undefined ? <HiddenValue /> : external_id),
  },
  reason,
  channel,
  { name: 'Answered in', width: '80px', isRight: true, cell: latencyOf },
  when,
];

const states = [
  ['sent', 'Sent'],
  ['failed', 'Failed'],
  ['retrying', 'Retrying'],
  ['skipped', 'Skipped'],
] as const;
const channels = Object.entries(channelNames) as [string, string][];

export function Deliveries({ app, message }: { app: string; message: string }) {
  const { filters, field, from } = useFilters(['status', 'channel', 'code']);
  const { code: error_code, ...rest } = filters;
  const query = usePages('listDeliveries', { app, id: message, ...rest, error_code }, from, {
    // The list itself says whether outcomes follow, so its last read is never too early.
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ status }) => messageCan(status, 'watch')) ? 3000 : false,
  });
  return (
    <div id="deliveries">
      <Card
        title="Deliveries"
        isFlush
        actions={<DeliveryCsv app={app} message={message} filters={{ ...rest, error_code }} />}
      >
        <Filters>
          <ChoiceField label="State" all="Any state" choices={states} {...field('status')} />
          <ChoiceField label="Channel" all="Any channel" choices={channels} {...field('channel')} />
          <ChoiceField label="Reason" all="Any reason" choices={codeTitles} {...field('code')} />
        </Filters>
        <List
          label="Deliveries"
          query={query}
          columns={columns}
          keyOf={({ device_id }) => device_id}
          hrefOf={({ device_id }) => paths.delivery(app, message, device_id)}
          minWidth={860}
          empty={
            <Empty title="No delivery to show">
              {Object.values(filters).some(Boolean)
                ? 'No delivery matches these filters.'
                : 'The first outcomes arrive within a second of the send.'}
            </Empty>
          }
        />
      </Card>
    </div>
  );
}
