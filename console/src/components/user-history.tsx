// The history of one user: deliveries and events, one list at a time, chosen in the address; and
// the segments that select the user now.
import { Button } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import type { EventOfUser } from '../api/objects.ts';
import { usePages } from '../api/queries.ts';
import { count } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import type { Column } from '../ui/virtual-rows.tsx';
import { DeliveryHistory } from './delivery-history.tsx';
import { List, useFilters } from './list.tsx';
import { ProblemPanel } from './problem.tsx';
import { ValuesAsSent } from './values-as-sent.tsx';

const lists = [
  ['deliveries', 'Deliveries'],
  ['events', 'Events'],
] as const;

export function UserHistory({ app, user }: { app: string; user: string }) {
  const [search] = useSearchParams();
  const shown = search.get('show') === 'events' ? 'events' : 'deliveries';
  return (
    <Card title="History" isFlush>
      <nav aria-label="History" className="tabs" style={{ margin: '0 16px' }}>
        {lists.map(([list, name]) => (
          <Link
            key={list}
            to={`?show=${list}`}
            replace
            preventScrollReset
            className={`tab${shown === list ? ' active' : ''}`}
            aria-current={shown === list ? 'page' : undefined}
          >
            {name}
          </Link>
        ))}
      </nav>
      {shown === 'events' ? <Events app={app} user={user} /> : <DeliveryHistory app={app} of={{ user }} />}
    </Card>
  );
}

const columns: readonly Column<EventOfUser>[] = [
  { name: 'When', width: '116px', onCard: 'aside', cell: ({ occurred_at }) => <RelativeTime at={occurred_at} /> },
  { name: 'Event', width: 'minmax(140px, 1fr)', onCard: 'title', cell: ({ name }) => <strong>{name}</strong> },
  {
    name: 'Values',
    width: 'minmax(200px, 3fr)',
    cell: ({ properties }) => <ValuesAsSent values={properties} />,
  },
  {
    name: 'Tracked by',
    width: '248px',
    cell: ({ device_id, before_sign_in }) =>
      before_sign_in ? (
        <span title="A device sent it before it belonged to this user">
          <State tone="idle" mark="none" text="Before the log-in" />
        </span>
      ) : (
        (device_id && <span className="mono">{device_id}</span>) || 'your server'
      ),
  },
];

function Events({ app, user }: { app: string; user: string }) {
  const { from } = useFilters([]);
  const query = usePages('listUserEvents', { app, external_id: user }, from);
  return (
    <List
      label="Events"
      query={query}
      columns={columns}
      keyOf={({ id }) => id}
      minWidth={760}
      empty={
        <Empty
          title="No event"
          action={<CodeBlock label="An event" code="await carillon.track('article_read', { section: 'news' });" />}
        >
          Events that this user's devices or your server track are listed here.
        </Empty>
      }
    />
  );
}

/** Segments are tested one after another, because each needs its own query. */
export function UserSegments({ app, user }: { app: string; user: string }) {
  const { data, error, hasNextPage, isFetching, fetchNextPage } = usePages('listUserSegments', {
    app,
    external_id: user,
  });
  const selecting = data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Card title="Segments">
      {error && <ProblemPanel error={error} />}
      {selecting.length > 0 ? (
        <ul style={{ listStyle: 'none', margin: 0, padding: 0, display: 'grid', gap: 8 }}>
          {selecting.map(({ id, name, devices }) => (
            <li key={id}>
              <Link to={paths.segment(app, id)}>{name}</Link>{' '}
              <span className="muted">selects {count(devices, 'device')}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p className="muted" style={{ margin: 0 }}>
          {isFetching
            ? 'Checking the segments of the app…'
            : hasNextPage
              ? 'None so far.'
              : 'No segment of the app selects this user now.'}
        </p>
      )}
      {hasNextPage && (
        <Button variant="default" size="xs" mt="sm" loading={isFetching} onClick={() => void fetchNextPage()}>
          Check older segments
        </Button>
      )}
    </Card>
  );
}
