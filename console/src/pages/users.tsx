// The people of an app, by the caller's own ids.
import type { ListedUser } from '../api/objects.ts';
import { useAnswer, usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { FirstUser } from '../components/first-code.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { tellUsers } from '../components/list-answers.ts';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

const columns: readonly Column<ListedUser>[] = [
  {
    name: 'External id',
    width: 'minmax(140px, 2fr)',
    cell: ({ external_id }) => <strong style={{ fontWeight: 500 }}>{external_id}</strong>,
  },
  { name: 'First name', width: 'minmax(100px, 1fr)', cell: ({ first_name }) => first_name },
  { name: 'Country', width: '80px', cell: ({ country }) => country },
  { name: 'Language', width: '88px', cell: ({ language }) => language },
  { name: 'Known since', width: 'minmax(112px, 1fr)', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
];

export function Users() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q']);
  const query = usePages('listUsers', { app, q: filters.q }, from);
  const reach = useAnswer('previewAudience', { app, body: { audience: { all: true } } }, { staleTime: 60_000 }).data;
  return (
    <>
      <PageHead title="Users" answer={tellUsers(reach)} />
      <FoundList
        finds="External id or first name"
        search={field('q')}
        label="Users"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ external_id }) => paths.user(app, external_id)}
        minWidth={560}
        empty={
          filters.q ? (
            <Empty title="No user begins with this text">An external id is compared exactly, letter by letter.</Empty>
          ) : (
            <Empty title="No users yet" action={<FirstUser />}>
              Your server tells Carillon of a user with this request.
            </Empty>
          )
        }
      />
    </>
  );
}
