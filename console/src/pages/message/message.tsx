// One message: its results, the reasons of failures, and every delivery.

import { Link, useParams } from 'react-router';
import { messageCan } from '../../api/can.ts';
import type { Message } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { ApiCall } from '../../components/api-call.tsx';
import { ComposeLink } from '../../components/compose-link.tsx';
import { ContentAsSent } from '../../components/content-as-sent.tsx';
import { Deliveries } from '../../components/deliveries.tsx';
import { FailureTable } from '../../components/failure-table.tsx';
import { useIsLive } from '../../components/live-feed.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Funnel, MessageOverTime } from '../../components/message-over-time.tsx';
import { tellMessage } from '../../components/message-text.ts';
import { Status } from '../../components/status.tsx';
import { paths } from '../../paths.ts';
import { Card, Facts } from '../../ui/card.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Actions } from './actions.tsx';
import { factsOf } from './facts.tsx';
import { ByChannel, Progress } from './progress.tsx';

export function MessagePage() {
  const app = useAppId();
  const { message = '' } = useParams();
  const isLive = useIsLive();
  const query = useAnswer(
    'getMessage',
    { app, id: message },
    {
      // Without the live feed, changing numbers are read once a second, and a scheduled message is
      // read rarely.
      refetchInterval: ({ state: { data } }) =>
        !isLive && data && messageCan(data.status, 'watch') ? (data.status === 'sending' ? 1000 : 30_000) : false,
    },
  );
  return <Loaded query={query}>{(data) => <Whole app={app} message={data} />}</Loaded>;
}

function Whole({ app, message }: { app: string; message: Message }) {
  const { report, status } = message;
  const title = message.name ?? message.content.title ?? 'Message without a title';
  return (
    <>
      <PageHead
        above={<Link to={paths.messages(app)}>Messages</Link>}
        title={
          <>
            {title} <Status status={status} />
          </>
        }
        answer={<span aria-live="polite">{tellMessage(message)}</span>}
        actions={
          <>
            <ComposeLink app={app} from={{ message: message.id }} label="Duplicate" />
            <Actions app={app} message={message} />
          </>
        }
      />
      <div className="stack">
        {report.accepted > 0 && <Progress message={message} />}
        {report.sent > 0 && <Funnel app={app} message={message} />}
        {report.sent + report.failed > 0 && <MessageOverTime app={app} message={message} />}
        <FailureTable app={app} message={message} />
        <div className="grid-2">
          <div className="stack">
            <ContentAsSent content={message.content} />
            <ApiCall message={message} />
          </div>
          <div className="stack">
            <Card title="Facts">
              <Facts facts={factsOf(app, message)} />
            </Card>
            {message.metadata !== null && Object.keys(message.metadata).length > 0 && (
              <Card title="Metadata">
                <Facts facts={Object.entries(message.metadata).map(([key, value]) => [key, String(value)] as const)} />
              </Card>
            )}
            <ByChannel message={message} />
          </div>
        </div>
        {report.accepted > 0 && <Deliveries app={app} message={message.id} />}
      </div>
    </>
  );
}
