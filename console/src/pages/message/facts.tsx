// The facts of a message: its audience, its times and its maker.

import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Message } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { toTree } from '../../components/filter-builder/tree.ts';
import { tell } from '../../components/filter-builder/words.ts';
import { count } from '../../format.ts';
import { paths } from '../../paths.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';

export function factsOf(app: string, message: Message) {
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
  const name = useAnswer('getSegment', { app, id }, { retry: false }).data?.name;
  return (
    <>
      Segment{' '}
      <Link className={name === undefined ? 'mono' : undefined} to={paths.segment(app, id)}>
        {name ?? id}
      </Link>
    </>
  );
}
