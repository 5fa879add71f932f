// The values that a change of a property removes, and the answers that it makes stale.

import { refresh, useAnswer } from '../../api/queries.ts';
import { Loaded } from '../../components/loaded.tsx';
import { count } from '../../format.ts';
import { SegmentNames } from './segment-names.tsx';

/** The values that a change removes, counted at this moment. */
export function Consequences({ app, property, then }: { app: string; property: string; then: string }) {
  const query = useAnswer('getPropertyConsequences', { app, key: property });
  return (
    <Loaded query={query}>
      {({ values, segments }) => (
        <>
          <p style={{ margin: '0 0 8px' }}>
            The values of <strong>{count(values.users, 'user')}</strong> and of{' '}
            <strong>{count(values.devices, 'device')}</strong> are no longer seen from that moment on. {then}
          </p>
          {segments.length > 0 && (
            <>
              <p style={{ margin: '0 0 4px' }}>
                {count(segments.length, 'segment')} {segments.length === 1 ? 'compares' : 'compare'} it, and may select
                nobody until repaired:
              </p>
              <SegmentNames app={app} segments={segments} none="" />
            </>
          )}
        </>
      )}
    </Loaded>
  );
}

export const answersAbout = ['getProperty', 'getPropertyConsequences'] as const;

export async function refreshAll(app: string): Promise<void> {
  await refresh(['listProperties', ...answersAbout, 'listSegments', 'getSegment', 'getSegmentUses'], { app });
}
