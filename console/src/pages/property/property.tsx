// One property: its values, its uses, values that did not fit, and its changes, each with its
// effect.

import { Link, useParams } from 'react-router';
import type { CataloguedProperty } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { HiddenValue, HiddenValuesNote } from '../../components/hidden-values.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { May } from '../../components/not-allowed.tsx';
import { propertyTypeNames } from '../../components/property-text.ts';
import { count } from '../../format.ts';
import { paths } from '../../paths.ts';
import { Card, Facts } from '../../ui/card.tsx';
import { DayBars } from '../../ui/day-bars.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { ChangeType } from './change-type.tsx';
import { Delete } from './delete.tsx';
import { SegmentNames } from './segment-names.tsx';

export function PropertyPage() {
  const app = useAppId();
  const { property = '' } = useParams();
  const query = useAnswer('getProperty', { app, key: property });
  return <Loaded query={query}>{(data) => <Whole app={app} property={data} />}</Loaded>;
}

function Whole({ app, property }: { app: string; property: CataloguedProperty }) {
  const {
    key,
    type,
    users_count: users,
    segments,
    samples,
    conflicts_count: conflicts,
    conflict_days: days,
  } = property;
  return (
    <>
      <PageHead
        above={<Link to={paths.properties(app)}>Properties</Link>}
        title={<span style={{ fontFamily: 'var(--mantine-font-family-monospace)' }}>{key}</span>}
        answer={`${propertyTypeNames[type]}. ${count(users, 'user')} ${users === 1 ? 'has' : 'have'} a value; ${count(segments.length, 'segment')} ${segments.length === 1 ? 'compares' : 'compare'} it.`}
        actions={
          <May act="property.edit">
            <ChangeType app={app} property={property} />
            <Delete app={app} property={property} />
          </May>
        }
      />
      <div className="stack">
        <HiddenValuesNote />
        <Card title="About it">
          <Facts
            facts={[
              [
                'In a filter',
                <code key="field" className="mono">
                  {property.field}
                </code>,
              ],
              ['Samples', samples ? samples.map(String).join(', ') || null : <HiddenValue key="samples" />],
              ['First seen', <RelativeTime key="first" at={property.first_seen_at} none="never: it is declared" />],
              ['Last seen', <RelativeTime key="last" at={property.last_seen_at} none="never" />],
              [
                'Index',
                property.indexed
                  ? 'An index serves it, so counts are quick.'
                  : 'None. Counts are right, and slower in a large app. Segments that compare it get one by themselves.',
              ],
            ]}
          />
        </Card>
        <div className="grid-2">
          <Card title="Values of another type">
            <p style={{ margin: '0 0 12px' }}>
              {conflicts === 0
                ? 'Every value so far had the right type.'
                : `${count(conflicts, 'value')} came with another type and ${conflicts === 1 ? 'was' : 'were'} not stored. Correct the caller that sends such values, or change the type.`}
            </p>
            {days.length > 0 && <DayBars label={`Values of another type for ${key}, by day`} days={days} />}
          </Card>
          <Card title="Used by segments">
            <SegmentNames app={app} segments={segments} none="No segment compares it." />
          </Card>
        </div>
      </div>
    </>
  );
}
