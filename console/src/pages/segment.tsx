// One segment: who is in it now, what uses it, and everything that can be done with it.
import { Alert } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link, useNavigate, useParams } from 'react-router';
import { call } from '../api/client.ts';
import type { Segment, SegmentUses } from '../api/objects.ts';
import { queryClient, queryOf, refresh, useAnswer } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ComposeLink } from '../components/compose-link.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { nameOfField } from '../components/filter-builder/fields.ts';
import { useLiveCount } from '../components/filter-builder/live-count.tsx';
import { toTree } from '../components/filter-builder/tree.ts';
import { tell } from '../components/filter-builder/words.ts';
import { HiddenValuesNote } from '../components/hidden-values.tsx';
import { Loaded } from '../components/loaded.tsx';
import { count, countUsers } from '../format.ts';
import { SegmentForm } from '../forms/segment.tsx';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

const reasons: Readonly<Record<string, string>> = {
  unknown_property: 'a property of it was deleted',
  operator_not_allowed: 'a property of it has another type now, which lacks this operator',
  value_type_mismatch: 'a property of it has another type now, and the value is of the former one',
};

export function SegmentPage() {
  const app = useAppId();
  const { segment = '' } = useParams();
  const query = useAnswer('getSegment', { app, id: segment });
  // Each segment has its own form.
  return <Loaded query={query}>{(data) => <Whole key={data.id} app={app} segment={data} />}</Loaded>;
}

function Whole({ app, segment }: { app: string; segment: Segment }) {
  const { may, reason } = useMay('segment.edit');
  const uses = useAnswer('getSegmentUses', { app, id: segment.id });
  return (
    <>
      <PageHead
        above={<Link to={paths.segments(app)}>Segments</Link>}
        title={segment.name}
        answer={<InIt app={app} segment={segment} />}
        actions={<Actions app={app} segment={segment} uses={uses.data} />}
      />
      <div className="stack">
        {!segment.valid && (
          <Alert color="yellow" title="This segment needs repair">
            It selects nobody, because {reasons[segment.invalid_reason ?? ''] ?? 'it no longer fits the catalog'}.
            Messages to it are refused. Change the condition that is marked, or bring the property back.
          </Alert>
        )}
        {!may && <p className="muted">{reason}</p>}
        <HiddenValuesNote />
        <SegmentForm
          app={app}
          segment={segment}
          label="Save"
          isReadOnly={!may}
          save={(values, seen) => call('editSegment', { app, id: segment.id, body: { updated_at: seen, ...values } })}
          onSaved={(after) => {
            queryClient.setQueryData(queryOf('getSegment', { app, id: segment.id }).queryKey, after);
            void refresh('listSegments', { app });
            notifications.show({ message: 'Saved. Messages that are sent from now on use it.' });
          }}
        />
        <Card title="Used by">
          <Loaded query={uses}>{(found) => <Uses app={app} uses={found} />}</Loaded>
        </Card>
        <Card title="About it">
          <Facts
            facts={[
              ['Id', <CopyableId key="id" id={segment.id} />],
              ['Compares', segment.fields.length === 0 ? 'events only' : segment.fields.map(nameOfField).join(', ')],
              ['Made', <RelativeTime key="made" at={segment.created_at} />],
              ['Changed', <RelativeTime key="changed" at={segment.updated_at} />],
            ]}
          />
        </Card>
      </div>
    </>
  );
}

/** The number of devices that it selects now, and the filter as a sentence. */
function InIt({ app, segment }: { app: string; segment: Segment }) {
  const { counted, error } = useLiveCount(app, segment.valid ? { segment_id: segment.id } : null);
  const sentence = tell(toTree(segment.filter));
  if (!segment.valid) return <>Nobody now: {sentence}.</>;
  return (
    <>
      <strong>{counted ? count(counted.count, 'device') : error ? 'Not counted now' : 'Counting…'}</strong>
      {counted && ` of ${countUsers(counted)} now`}: {sentence}.
    </>
  );
}

function Uses({ app, uses: { messages, drafts } }: { app: string; uses: SegmentUses }) {
  if (messages.length + drafts.length === 0) {
    return <p style={{ margin: 0 }}>No scheduled message uses it. It can be deleted.</p>;
  }
  return (
    <ul className="plain-list">
      {messages.map(({ id, name, title, run_at, excludes }) => (
        <li key={id}>
          <Link to={paths.message(app, id)}>{name ?? title ?? id}</Link> {excludes ? 'leaves it out' : 'goes to it'}{' '}
          <RelativeTime at={run_at} />
        </li>
      ))}
      {drafts.map(({ id, name, excludes }) => (
        <li key={id}>
          <Link to={paths.compose(app, { draft: id })}>Draft {name === '' ? 'without a name' : `“${name}”`}</Link>{' '}
          {excludes ? 'leaves it out' : 'goes to it'}
        </li>
      ))}
    </ul>
  );
}

function Actions({ app, segment, uses }: { app: string; segment: Segment; uses: SegmentUses | undefined }) {
  const navigate = useNavigate();
  const canDelete = useMay('segment.delete');
  const kept = uses?.messages.length ?? 0;
  const drafts = uses?.drafts.length ?? 0;
  const remove = async () => {
    await call('deleteSegment', { app, id: segment.id });
    await refresh('listSegments', { app });
    await navigate(paths.segments(app));
  };
  return (
    <>
      {segment.valid && <ComposeLink app={app} from={{ segment: segment.id }} label="Compose for this segment" />}
      {canDelete.may && (
        <ConfirmButton
          label="Delete"
          title="Delete this segment?"
          effect={
            kept > 0
              ? `${count(kept, 'scheduled message')} ${kept === 1 ? 'needs' : 'need'} it, so it is kept. Cancel ${kept === 1 ? 'it' : 'them'} first, or send ${kept === 1 ? 'it' : 'them'} to others.`
              : `Its name and its filter go. No scheduled message uses it${drafts > 0 ? `, and ${count(drafts, 'draft')} will need another audience` : ''}. Messages that were sent to it keep their reports. Nothing of any device or user is deleted.`
          }
          isDestructive
          run={remove}
        />
      )}
    </>
  );
}
