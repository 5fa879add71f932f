// The deliveries to one user or device over all messages, the latest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import type { DeliveryOfMessage } from '../api/objects.ts';
import { pagesOf } from '../api/queries.ts';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import type { Column } from '../ui/virtual-rows.tsx';
import { deliveryColumns } from './deliveries.tsx';
import { List, useFilters } from './list.tsx';
import { nameOf } from './message-text.ts';

const { state, reason, channel, when } = deliveryColumns;

const columns: readonly Column<DeliveryOfMessage>[] = [
  state,
  {
    name: 'Message',
    width: 'minmax(160px, 2fr)',
    onCard: 'title',
    cell: ({ message_id, message_name, message_title }) => (
      <strong style={{ fontWeight: 500 }}>
        {nameOf({ id: message_id, name: message_name, title: message_title })}
      </strong>
    ),
  },
  reason,
  channel,
  { name: 'Device', width: '232px', cell: ({ device_id }) => <span className="mono">{device_id}</span> },
  when,
];

type Recipient = { readonly user: string } | { readonly device: string };

export function DeliveryHistory({ app, of }: { app: string; of: Recipient }) {
  const { from } = useFilters([]);
  const query = useInfiniteQuery(
    'user' in of
      ? pagesOf('listUserDeliveries', { app, external_id: of.user }, from)
      : pagesOf('listDeviceDeliveries', { app, id: of.device }, from),
  );
  return (
    <List
      label="Deliveries"
      query={query}
      columns={'user' in of ? columns : columns.filter(({ name }) => name !== 'Device')}
      keyOf={({ message_id, device_id }) => `${message_id} ${device_id}`}
      hrefOf={({ message_id, device_id }) => paths.delivery(app, message_id, device_id)}
      minWidth={780}
      empty={<Empty title="No delivery">No message was ever on its way here.</Empty>}
    />
  );
}
