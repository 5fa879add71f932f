// The names of events that were tracked, with how often and when.
import type { CataloguedEvent } from '../api/objects.ts';
import { usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { FirstEvent } from '../components/first-code.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { readRows, tellEvents } from '../components/list-answers.ts';
import { formatNumber } from '../format.ts';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const sum = (days: CataloguedEvent['days']): number => days.reduce((all, { count }) => all + count, 0);

const columns: readonly Column<CataloguedEvent>[] = [
  {
    name: 'Event',
    width: 'minmax(140px, 2fr)',
    cell: ({ name }) => <strong style={{ fontWeight: 500 }}>{name}</strong>,
  },
  { name: 'In all', width: '88px', isRight: true, cell: ({ count }) => formatNumber(count) },
  { name: '14 days', width: '80px', isRight: true, cell: ({ days }) => formatNumber(sum(days)) },
  {
    name: '',
    width: '104px',
    isWideOnly: true,
    cell: ({ days }) => <Sparkline values={days.map(({ count }) => count)} />,
  },
  { name: 'Latest', width: 'minmax(112px, 1fr)', cell: ({ last_seen_at }) => <RelativeTime at={last_seen_at} /> },
  {
    name: 'Properties',
    width: 'minmax(120px, 2fr)',
    cell: ({ properties }) =>
      properties.length === 0 ? (
        <span className="muted">none</span>
      ) : (
        [...new Set(properties.map(({ key }) => key))].join(', ')
      ),
  },
];

export function Events() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q']);
  const query = usePages('listEventNames', { app, q: filters.q }, from);
  return (
    <>
      <PageHead
        title="Events"
        answer={filters.q === undefined ? tellEvents(readRows(query.data)) : 'Those whose name begins with the text.'}
      />
      <FoundList
        finds="The beginning of a name"
        search={field('q')}
        label="Events"
        query={query}
        columns={columns}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => paths.event(app, name)}
        minWidth={760}
        empty={
          filters.q ? (
            <Empty title="No event begins with this text">Letter case makes no difference.</Empty>
          ) : (
            <Empty title="No events yet" action={<FirstEvent />}>
              Track what a user does, from your server or with the SDK in the browser.
            </Empty>
          )
        }
      />
    </>
  );
}
