// A segment before it is made. An address may name an event to begin with.
import { useNavigate, useSearchParams } from 'react-router';
import { call } from '../api/client.ts';
import { refresh } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { SegmentForm } from '../forms/segment.tsx';
import { paths } from '../paths.ts';
import { PageHead } from '../ui/page-head.tsx';

export function NewSegment() {
  const app = useAppId();
  const navigate = useNavigate();
  const [search] = useSearchParams();
  const event = search.get('event');
  return (
    <>
      <PageHead title="New segment" answer="Say who is in it. The count changes with every condition." />
      <SegmentForm
        app={app}
        {...(event !== null && { filter: { and: [{ event }] } })}
        label="Make the segment"
        save={(values) => call('createSegment', { app, body: values })}
        onSaved={async ({ id }) => {
          await refresh('listSegments', { app });
          await navigate(paths.segment(app, id), { replace: true });
        }}
      />
    </>
  );
}
