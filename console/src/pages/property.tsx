// One property: its values, its uses, values that did not fit, and its changes, each with its
// effect.
import { Button, Modal, Select, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { call } from '../api/client.ts';
import type { CataloguedProperty, SegmentName } from '../api/objects.ts';
import { forget, queryOf, refresh } from '../api/queries.ts';
import { useAppId, useMay } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { HiddenValue, HiddenValuesNote } from '../components/hidden-values.tsx';
import { Loaded } from '../components/loaded.tsx';
import { ProblemPanel } from '../components/problem.tsx';
import { propertyTypeNames } from '../components/property-text.ts';
import { count } from '../format.ts';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { DayBars } from '../ui/day-bars.tsx';
import { PageHead } from '../ui/page-head.tsx';
import { RelativeTime } from '../ui/relative-time.tsx';

type Type = CataloguedProperty['type'];

export function PropertyPage() {
  const app = useAppId();
  const { property = '' } = useParams();
  const query = useQuery(queryOf('getProperty', { app, key: property }));
  return <Loaded query={query}>{(data) => <Whole app={app} property={data} />}</Loaded>;
}

function Whole({ app, property }: { app: string; property: CataloguedProperty }) {
  const { may, reason } = useMay('property.edit');
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
          may ? (
            <>
              <ChangeType app={app} property={property} />
              <Delete app={app} property={property} />
            </>
          ) : (
            <span className="muted">{reason}</span>
          )
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

function SegmentNames({ app, segments, none }: { app: string; segments: readonly SegmentName[]; none: string }) {
  if (segments.length === 0) return <p style={{ margin: 0 }}>{none}</p>;
  return (
    <ul className="plain-list">
      {segments.map(({ id, name }) => (
        <li key={id}>
          <Link to={paths.segment(app, id)}>{name}</Link>
        </li>
      ))}
    </ul>
  );
}

/** The values that a change removes, counted at this moment. */
function Consequences({ app, property, then }: { app: string; property: string; then: string }) {
  const query = useQuery(queryOf('getPropertyConsequences', { app, key: property }));
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

const answersAbout = ['getProperty', 'getPropertyConsequences'] as const;

async function refreshAll(app: string): Promise<void> {
  await refresh(['listProperties', ...answersAbout, 'listSegments', 'getSegment', 'getSegmentUses'], { app });
}

function ChangeType({ app, property }: { app: string; property: CataloguedProperty }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const others = (Object.keys(propertyTypeNames) as Type[]).filter((each) => each !== property.type);
  const [type, setType] = useState<Type>(others[0] ?? 'string');
  const change = useMutation({
    mutationFn: () => call('changeProperty', { app, key: property.key, body: { type } }),
    onSuccess: async () => {
      close();
      await refreshAll(app);
      notifications.show({ message: `${property.key} is a ${propertyTypeNames[type].toLowerCase()} now.` });
    },
  });
  return (
    <>
      <Button variant="default" onClick={open}>
        Change type
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={`Change the type of ${property.key}?`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack>
          <Select
            label="New type"
            data={others.map((value) => ({ value, label: propertyTypeNames[value] }))}
            value={type}
            onChange={(chosen) => chosen !== null && setType(chosen)}
          />
          <div>
            <Consequences
              app={app}
              property={property.key}
              then="Nothing is converted. New values come in with the new type."
            />
          </div>
          {change.error && <ProblemPanel error={change.error} />}
          <div className="row-actions" style={{ justifyContent: 'flex-end' }}>
            <Button variant="default" onClick={close}>
              Keep as it is
            </Button>
            <Button color="red" loading={change.isPending} onClick={() => change.mutate()}>
              Change the type
            </Button>
          </div>
        </Stack>
      </Modal>
    </>
  );
}

function Delete({ app, property }: { app: string; property: CataloguedProperty }) {
  const navigate = useNavigate();
  const remove = async () => {
    await call('deleteProperty', { app, key: property.key });
    await navigate(paths.properties(app));
    forget(answersAbout, { app, key: property.key });
    await refreshAll(app);
  };
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${property.key}?`}
      effect={
        <Consequences
          app={app}
          property={property.key}
          then="The next value that a caller sends makes the key again."
        />
      }
      act="Delete the property"
      typed={property.key}
      isDestructive
      run={remove}
    />
  );
}
