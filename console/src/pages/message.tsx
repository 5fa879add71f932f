// One message: its results, the reasons of failures, and every delivery.
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { messageCan } from '../api/can.ts';
import { call } from '../api/client.ts';
import type { Message } from '../api/objects.ts';
import { queryClient, queryOf } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ApiCall } from '../components/api-call.tsx';
import { ComposeLink } from '../components/compose-link.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { ContentAsSent } from '../components/content-as-sent.tsx';
import { Deliveries } from '../components/deliveries.tsx';
import { FailureTable } from '../components/failure-table.tsx';
import { toTree } from '../components/filter-builder/tree.ts';
import { tell } from '../components/filter-builder/words.ts';
import { useIsLive } from '../components/live-feed.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Funnel, MessageOverTime } from '../components/message-over-time.tsx';
import { tellMessage } from '../components/message-text.ts';
import { Status } from '../components/status.tsx';
import { channelNames, count, formatNumber, formatShare } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';
import { type Part, Parts } from '../ui/state.tsx';

export function MessagePage() {
  const app = useAppId();
  const { message = '' } = useParams();
  const isLive = useIsLive();
  const query = useQuery({
    ...queryOf('getMessage', { app, id: message }),
    // Without the live feed, changing numbers are read once a second, and a scheduled message is
    // read rarely.
    refetchInterval: ({ state: { data } }) =>
      !isLive && data && messageCan(data.status, 'watch') ? (data.status === 'sending' ? 1000 : 30_000) : false,
  });
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
        {report.accepted > 0 && <Deliveries app={app} message={message.id} isMoving={messageCan(status, 'watch')} />}
      </div>
    </>
  );
}

function Actions({ app, message }: { app: string; message: Message }) {
  const { may, reason } = useMay('message.cancel');
  const cancel = useMutation({
    mutationFn: () => call('cancelMessage', { app, id: message.id }),
    onSuccess: (after) => {
      queryClient.setQueryData(queryOf('getMessage', { app, id: message.id }).queryKey, after);
      notifications.show({ message: 'The message is canceled.' });
    },
  });
  if (!messageCan(message.status, 'cancel')) return null;
  if (!may) {
    return (
      <span className="muted" style={{ fontSize: 13 }}>
        {reason}
      </span>
    );
  }
  const open = message.report.pending ?? 0;
  const effect =
    message.status === 'scheduled'
      ? 'The message is scheduled. Nothing of it will be sent.'
      : `${count(open, 'device')} still to come will not be rung, and the quota for them is given back. What is sent stays sent.`;
  return (
    <ConfirmButton
      label="Cancel message"
      title="Cancel this message?"
      effect={effect}
      isDestructive
      run={() => cancel.mutateAsync()}
    />
  );
}

function Progress({ message: { report, status } }: { message: Message }) {
  const parts: readonly Part[] = [
    { name: 'Sent', value: report.sent, tone: 'good' },
    { name: 'Failed', value: report.failed, tone: 'bad' },
    { name: 'Skipped', value: report.skipped, tone: 'idle' },
    { name: 'To go', value: report.pending ?? 0, tone: 'warn' },
  ];
  return (
    <Card>
      <Parts
        parts={parts}
        label={parts.map(({ name, value }) => `${name} ${formatNumber(value)}`).join(', ')}
        isMoving={status === 'sending'}
      />
      <ul className="key-dots">
        {parts
          .filter(({ value, name }) => value > 0 || name === 'Sent')
          .map(({ name, value, tone }) => (
            <li key={name}>
              <span className={`dot tone-${tone}`} aria-hidden="true" />
              {name} <strong>{formatNumber(value)}</strong>
              <span className="muted">{formatShare(value, report.accepted)}</span>
            </li>
          ))}
      </ul>
    </Card>
  );
}

function ByChannel({ message: { by_channel } }: { message: Message }) {
  const used = Object.entries(by_channel).filter(([, { accepted }]) => accepted > 0);
  if (used.length === 0) return null;
  return (
    <Card title="By channel">
      <div style={{ display: 'grid', gap: 12 }}>
        {used.map(([channel, { accepted, sent, failed, skipped }]) => (
          <div key={channel}>
            <div style={{ display: 'flex', justifyContent: 'space-between', marginBottom: 4 }}>
              <span>{channelNames[channel as keyof typeof channelNames]}</span>
              <span className="muted">
                {formatNumber(sent)} of {formatNumber(accepted)} sent
              </span>
            </div>
            <Parts
              label={`${formatNumber(sent)} sent, ${formatNumber(failed)} failed, ${formatNumber(skipped)} skipped`}
              parts={[
                { name: 'Sent', value: sent, tone: 'good' },
                { name: 'Failed', value: failed, tone: 'bad' },
                { name: 'Skipped', value: skipped, tone: 'idle' },
                { name: 'To go', value: accepted - sent - failed - skipped, tone: 'warn' },
              ]}
            />
          </div>
        ))}
      </div>
    </Card>
  );
}

function factsOf(app: string, message: Message) {
  const { created_by: by, audience, exclude_segment_id: excluded, per_second: rate, local_send_at: local } = message;
  return [
    ['Id', <CopyableId key="id" id={message.id} />],
    ['Audience', describeAudience(app, audience)],
    ...(excluded === null ? [] : [['Left out', <SegmentLink key="excluded" app={app} id={excluded} />] as const]),
    ...(local === null ? [] : [['Local time', tellLocalTime(local, message.local_time_past)] as const]),
    ...(rate === null ? [] : [['Pace', `at most ${count(rate, 'push', 'pushes')} a second`] as const]),
    ...(message.audience_unmatched > 0
      ? [['Not matched', `${count(message.audience_unmatched, 'id')} named no active device`] as const]
      : []),
    [
      'Made by',
      by.type === 'key' && by.id !== null ? (
        <Link key="by" to={paths.key(app, by.id)}>{`key “${by.name}”`}</Link>
      ) : (
        by.name
      ),
    ],
    ['Accepted', <RelativeTime key="at" at={message.created_at} />],
    ['Started', <RelativeTime key="start" at={message.started_at ?? message.run_at} />],
    ['Finished', <RelativeTime key="end" at={message.finished_at} none="not yet" />],
    ...(message.idempotency_key === null
      ? []
      : [
          [
            'Idempotency key',
            <span key="idem" className="mono">
              {message.idempotency_key}
            </span>,
          ] as const,
        ]),
  ] as const;
}

const pastNames = {
  refuse: '',
  now: '; at once where that is past already',
  skip: '; nobody where that is past already',
} as const;

/** `2026-12-01 at 09:00 on each person's clock` */
function tellLocalTime(sendAt: string, past: Message['local_time_past']): string {
  return `${sendAt.slice(0, 10)} at ${sendAt.slice(11, 16)} on each person's clock${pastNames[past ?? 'refuse']}`;
}

function describeAudience(app: string, audience: Message['audience']): ReactNode {
  if ('all' in audience && audience.all) return 'All active devices';
  if (audience.device_ids) return count(audience.device_ids.length, 'named device');
  if (audience.external_ids) return count(audience.external_ids.length, 'named user');
  if (audience.segment_id) return <SegmentLink app={app} id={audience.segment_id} />;
  if (audience.filter) return `A filter: ${tell(toTree(audience.filter))}`;
  return 'Users by their external ids, for members';
}

/** The segment by its name; by its id while the name is read, and when the segment is deleted. */
function SegmentLink({ app, id }: { app: string; id: string }) {
  const name = useQuery({ ...queryOf('getSegment', { app, id }), retry: false }).data?.name;
  return (
    <>
      Segment{' '}
      <Link className={name === undefined ? 'mono' : undefined} to={paths.segment(app, id)}>
        {name ?? id}
      </Link>
    </>
  );
}
