// The latest requests of callers, and their answers.
import { Link } from 'react-router';
import type { RequestEntry } from '../api/objects.ts';
import { useAnswer } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { DeveloperTabs } from '../components/developer-tabs.tsx';
import { ChoiceField, SearchField } from '../components/filter-fields.tsx';
import { useFilters } from '../components/list.tsx';
import { tellRequests } from '../components/list-answers.ts';
import { Loaded } from '../components/loaded.tsx';
import { formatDuration } from '../format.ts';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { Filters, PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { State } from '../ui/state.tsx';
import { type Column, VirtualRows } from '../ui/virtual-rows.tsx';

const columnsOf = (app: string): readonly Column<RequestEntry>[] => [
  { name: 'When', width: '116px', cell: ({ at }) => <RelativeTime at={at} /> },
  {
    name: 'Answer',
    width: '80px',
    onCard: 'aside',
    cell: ({ status }) => (
      <State
        tone={status < 400 ? 'good' : status < 500 ? 'warn' : 'bad'}
        mark={status < 400 ? 'done' : 'failed'}
        text={String(status)}
      />
    ),
  },
  {
    name: 'Request',
    width: 'minmax(170px, 2fr)',
    onCard: 'title',
    cell: ({ method, path }) => (
      <span className="mono">
        {method} {path}
      </span>
    ),
  },
  {
    name: 'Refused for',
    width: 'minmax(110px, 2fr)',
    cell: ({ error, issue }) =>
      (issue ?? error) === null ? null : <span title={issue ?? undefined}>{issue ?? error}</span>,
  },
  {
    name: 'Key',
    width: 'minmax(64px, 1fr)',
    cell: ({ key_id, key_name }) => <Link to={paths.key(app, key_id)}>{key_name}</Link>,
  },
  { name: 'Took', width: '64px', isRight: true, cell: ({ ms }) => formatDuration(ms) },
  { name: 'Request id', width: '244px', cell: ({ request_id }) => <CopyableId id={request_id} /> },
];

const answers = [
  ['accepted', 'Accepted'],
  ['refused', 'Refused'],
  ['400', '400 invalid'],
  ['401', '401 key'],
  ['403', '403 refused'],
  ['404', '404 not found'],
  ['429', '429 limited'],
  ['500', '500 fault'],
  ['503', '503 busy'],
] as const;

export function Requests() {
  const app = useAppId();
  const { filters, field } = useFilters(['status', 'path', 'key']);
  const query = useAnswer('listRequests', { app, ...filters });
  const isFiltered = Object.values(filters).some(Boolean);
  const isNoneFound = isFiltered && query.data?.data.length === 0;
  return (
    <>
      <PageHead title="Developers" answer={isNoneFound ? 'No request matches.' : tellRequests(query.data?.data)} />
      <DeveloperTabs app={app} />
      <Card isFlush>
        <Filters>
          <SearchField label="Path" placeholder="/v1/messages" {...field('path')} />
          <ChoiceField label="Answer" all="Any answer" choices={answers} {...field('status')} />
          {filters.key !== undefined && (
            <ChoiceField label="Key" all="Any key" choices={[[filters.key, filters.key]]} {...field('key')} />
          )}
        </Filters>
        <Loaded query={query}>
          {({ data }) =>
            isNoneFound ? (
              <Empty title="No request matches">Change the path or the answer above.</Empty>
            ) : data.length === 0 ? (
              <Empty title="No requests yet">
                Requests with a key of this app appear here within a second.{' '}
                <Link to={paths.settings(app)}>Find its keys</Link>
              </Empty>
            ) : (
              <VirtualRows
                label="Requests"
                rows={data}
                columns={columnsOf(app)}
                keyOf={({ request_id }) => request_id}
                renderRow={(_row, attributes, cells) => <div {...attributes}>{cells}</div>}
                minWidth={980}
              />
            )
          }
        </Loaded>
        <p className="muted" style={{ margin: 0, padding: '12px 16px', fontSize: 12 }}>
          Newest first: at most the last 1,000 refused and the last 1,000 accepted requests, for 7 days. Bodies, tokens
          and query values are never kept. A crash of the service may lose the newest second.
        </p>
      </Card>
    </>
  );
}
