// The segments of an app: filters with a name, each as a sentence.
import { Button } from '@mantine/core';
import { Link } from 'react-router';
import type { Segment } from '../api/objects.ts';
import { usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { toTree } from '../components/filter-builder/tree.ts';
import { tell } from '../components/filter-builder/words.ts';
import { HiddenValuesNote } from '../components/hidden-values.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { readRows, tellSegments } from '../components/list-answers.ts';
import { May } from '../components/not-allowed.tsx';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const columns: readonly Column<Segment>[] = [
  {
    name: 'Segment',
    width: 'minmax(140px, 1fr)',
    cell: ({ name }) => <strong style={{ fontWeight: 500 }}>{name}</strong>,
  },
  { name: 'Who is in it', width: 'minmax(200px, 3fr)', cell: ({ filter }) => tell(toTree(filter)) },
  {
    name: 'State',
    width: '124px',
    onCard: 'aside',
    cell: ({ valid }) =>
      valid ? <State tone="good" mark="done" text="Ready" /> : <State tone="warn" mark="alert" text="Needs repair" />,
  },
  { name: 'Changed', width: 'minmax(112px, 140px)', cell: ({ updated_at }) => <RelativeTime at={updated_at} /> },
];

export function Segments() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q']);
  const query = usePages('listSegments', { app, q: filters.q }, from);
  const make = (
    <May act="segment.edit">
      <Button component={Link} to={paths.newSegment(app)}>
        New segment
      </Button>
    </May>
  );
  return (
    <>
      <PageHead
        title="Segments"
        answer={filters.q === undefined ? tellSegments(readRows(query.data)) : 'Those whose name begins with the text.'}
        actions={make}
      />
      <HiddenValuesNote />
      <FoundList
        finds="Id, or the beginning of a name"
        search={field('q')}
        label="Segments"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => paths.segment(app, id)}
        minWidth={680}
        empty={
          filters.q ? (
            <Empty title="No segment begins with this text">Letter case makes no difference.</Empty>
          ) : (
            <Empty title="No segments yet" action={<div style={{ textAlign: 'center' }}>{make}</div>}>
              Say who belongs together, such as “country is DE and plan is not free”, and send to them by name.
            </Empty>
          )
        }
      />
    </>
  );
}
