// The apps of the organisation. With one app there is nothing to choose.
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ListedApp } from '../api/objects.ts';
import { usePages } from '../api/queries.ts';
import { useMay, useSession } from '../api/session.ts';
import { SearchField } from '../components/filter-fields.tsx';
import { List, useFilters } from '../components/list.tsx';
import { Status } from '../components/status.tsx';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { Empty } from '../ui/empty.tsx';
import { Filters, PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const columns: readonly Column<ListedApp>[] = [
  {
    name: 'Name',
    width: 'minmax(0, 2fr)',
    cell: ({ name, is_test }) => (
      <>
        <strong>{name}</strong> {is_test && <span className="muted">test</span>}
      </>
    ),
  },
  { name: 'Plan', width: 'minmax(0, 1fr)', cell: ({ plan }) => plan },
  {
    name: 'State',
    width: '120px',
    onCard: 'aside',
    cell: ({ suspended_at }) => <Status status={suspended_at === null ? 'active' : 'suspended'} />,
  },
  { name: 'Made', width: 'minmax(0, 1fr)', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
];

/** Fewer apps are seen at a glance, and need no search. */
const searchedFrom = 12;

export function Home() {
  const { organisation } = useSession();
  const { may, reason } = useMay('app.create');
  const { filters, field, from } = useFilters(['q']);
  const query = usePages('listApps', { q: filters.q }, from);
  const rows = query.data?.pages.reduce((sum, { data }) => sum + data.length, 0) ?? 0;
  const create = may && (
    <Button component={Link} to={paths.newApp} leftSection={<IconPlus size={16} aria-hidden />}>
      New app
    </Button>
  );
  return (
    <>
      <PageHead
        title="Apps"
        answer={`Each app of ${organisation.name} has devices, users, keys and messages of its own.`}
        actions={create}
      />
      <Card isFlush>
        {(filters.q !== undefined || rows >= searchedFrom) && (
          <Filters>
            <SearchField label="Find" placeholder="Id, or the beginning of a name" {...field('q')} />
          </Filters>
        )}
        <List
          label="Apps"
          query={query}
          columns={columns}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => paths.overview(id)}
          minWidth={480}
          empty={
            filters.q === undefined ? (
              <Empty title="No app yet" action={create || undefined}>
                {may
                  ? 'An app is what sends: a shop, a newsroom, a test of it. Make the first one; it comes with its keys.'
                  : `Ask an admin to make the first app. ${reason}`}
              </Empty>
            ) : (
              <Empty title="No app has this name">Change the text above.</Empty>
            )
          }
        />
      </Card>
    </>
  );
}
