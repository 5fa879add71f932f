// All messages of an app, newest first.
import type { ListedMessage } from '../api/objects.ts';
import { useAnswer, usePages } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { ComposeLink, HowToSend } from '../components/compose-link.tsx';
import { ChoiceField } from '../components/filter-fields.tsx';
import { FirstSend } from '../components/first-code.tsx';
import { FoundList, useFilters } from '../components/list.tsx';
import { tellMessages } from '../components/list-answers.ts';
import { nameOf } from '../components/message-text.ts';
import { browserZone } from '../components/report-view.ts';
import { Status } from '../components/status.tsx';
import { formatNumber, formatShare } from '../format.ts';
import { paths } from '../paths.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import type { Column } from '../ui/virtual-rows.tsx';

/** The audience of a scheduled message is counted when it starts. */
const ofStarted = (figure: (message: ListedMessage) => string) => (message: ListedMessage) =>
  message.status === 'scheduled' ? null : figure(message);

const columns: readonly Column<ListedMessage>[] = [
  {
    name: 'Message',
    width: 'minmax(160px, 3fr)',
    cell: (message) => <strong style={{ fontWeight: 500 }}>{nameOf(message)}</strong>,
  },
  { name: 'State', width: '116px', onCard: 'aside', cell: ({ status }) => <Status status={status} /> },
  {
    name: 'Devices',
    width: '88px',
    isRight: true,
    cell: ofStarted(({ report }) => formatNumber(report.accepted)),
  },
  {
    name: 'Sent',
    width: '72px',
    isRight: true,
    cell: ofStarted(({ report }) => formatShare(report.sent, report.accepted)),
  },
  { name: 'Failed', width: '72px', isRight: true, cell: ofStarted(({ report }) => formatNumber(report.failed)) },
  {
    name: 'Clicked',
    width: '72px',
    isRight: true,
    cell: ofStarted(({ engagement, report }) => formatShare(engagement.clicked, report.sent)),
  },
  {
    name: 'When',
    width: 'minmax(112px, 1fr)',
    cell: ({ run_at, created_at }) => <RelativeTime at={run_at ?? created_at} />,
  },
];

const states = [
  ['scheduled', 'Scheduled'],
  ['sending', 'Sending'],
  ['sent', 'Sent'],
  ['failed', 'Failed'],
  ['canceled', 'Canceled'],
] as const;

export function Messages() {
  const app = useAppId();
  const { filters, field, from } = useFilters(['q', 'status']);
  const query = usePages('listMessages', { app, ...filters }, from);
  const overview = useAnswer('getOverview', { app, tz: browserZone }).data;
  const isFiltered = filters.q !== undefined || filters.status !== undefined;
  return (
    <>
      <PageHead
        title="Messages"
        answer={tellMessages(overview)}
        actions={<ComposeLink app={app} label="Compose" isMain />}
      />
      <FoundList
        finds="Id, or the beginning of a name"
        search={field('q')}
        filters={<ChoiceField label="State" {...field('status')} choices={states} all="Any state" />}
        label="Messages"
        query={query}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => paths.message(app, id)}
        minWidth={760}
        empty={
          isFiltered ? (
            <Empty title="No message matches">Change the text or the state above.</Empty>
          ) : (
            <Empty title="Nothing sent yet" action={<FirstSend />}>
              <HowToSend app={app} />
            </Empty>
          )
        }
      />
    </>
  );
}
