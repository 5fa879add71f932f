// One person: what is known, which devices they have, and why they got a message or not.

import { Link, useParams } from 'react-router';
import type { ListedDevice, User } from '../../api/objects.ts';
import { useAnswer } from '../../api/queries.ts';
import { useAppId } from '../../api/session.ts';
import { Explain } from '../../components/explain.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { eventTypeNames } from '../../components/property-text.ts';
import { Status } from '../../components/status.tsx';
import { UserHistory, UserSegments } from '../../components/user-history.tsx';
import { count, platformNames } from '../../format.ts';
import { paths } from '../../paths.ts';
import { Card, Facts } from '../../ui/card.tsx';
import { CodeBlock, CopyableId } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { Actions, Edit } from './actions.tsx';

export function UserPage() {
  const app = useAppId();
  const { user: externalId = '' } = useParams();
  const user = useAnswer('getUser', { app, external_id: externalId });
  const devices = useAnswer('listDevices', { app, external_id: externalId, limit: 100 });
  return (
    <Loaded query={user}>
      {(data) => {
        const owned = devices.data?.data;
        return (
          <>
            <PageHead
              above={<Link to={paths.users(app)}>Users</Link>}
              title={data.first_name ?? data.external_id}
              answer={owned && tellDevices(owned)}
              actions={<Actions app={app} user={data} devices={owned?.length ?? 0} />}
            />
            <div className="stack">
              <Explain question={{ app, external_id: externalId }} />
              <div className="grid-2">
                <Card title="Profile" actions={<Edit app={app} user={data} />}>
                  <Facts
                    facts={[
                      ['External id', <CopyableId key="e" id={data.external_id} />],
                      ['Id', <CopyableId key="i" id={data.id} />],
                      ['First name', data.first_name],
                      ['Country', data.country],
                      ['Language', data.language],
                      ['Time zone', data.timezone],
                      ['Known since', <RelativeTime key="c" at={data.created_at} />],
                      ['Changed', <RelativeTime key="u" at={data.updated_at} />],
                    ]}
                  />
                </Card>
                <div className="stack">
                  <Properties properties={data.properties} />
                  <UserSegments app={app} user={externalId} />
                </div>
              </div>
              <Card title="Devices">
                <Loaded query={devices}>
                  {({ data: rows }) => <DeviceRows app={app} user={externalId} devices={rows} />}
                </Loaded>
              </Card>
              <UserHistory app={app} user={externalId} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function tellDevices(devices: readonly ListedDevice[]): string {
  const active = devices.filter(({ status }) => status === 'active').length;
  if (devices.length === 0) return 'No device belongs to this user, so no message can reach them.';
  if (active === 0)
    return `${count(devices.length, 'device')} known and none of them active, so no message can reach them.`;
  return `Reachable on ${count(active, 'active device')}.`;
}

function Properties({ properties }: { properties: User['properties'] }) {
  const entries = Object.entries(properties);
  return (
    <Card title="Properties">
      {entries.length === 0 ? (
        <Empty title="No properties">Your server sets them with POST /v1/users; filters and texts can use them.</Empty>
      ) : (
        <Facts
          facts={entries.map(([key, value]) => [
            key,
            <span key={key}>
              {typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)}{' '}
              <span className="muted">· {(eventTypeNames[typeof value] ?? typeof value).toLowerCase()}</span>
            </span>,
          ])}
        />
      )}
    </Card>
  );
}

function DeviceRows({ app, user, devices }: { app: string; user: string; devices: readonly ListedDevice[] }) {
  if (devices.length === 0) {
    return (
      <Empty
        title="No devices"
        action={
          <CodeBlock
            label="A device of this user"
            code={`await carillon.identify('${user.replaceAll("'", "\\'")}', userToken);`}
          />
        }
      >
        A device joins the user when your page says so, or with device_id in POST /v1/users.
      </Empty>
    );
  }
  return (
    <ul style={{ listStyle: 'none', margin: 0, padding: 0, display: 'grid', gap: 10 }}>
      {devices.map(({ id, platform, status, last_seen_at }) => (
        <li key={id} style={{ display: 'flex', gap: 12, flexWrap: 'wrap', alignItems: 'center' }}>
          <Status status={status} />
          <Link className="mono" to={paths.device(app, id)}>
            {id}
          </Link>
          <span className="muted">
            {platformNames[platform]}, seen <RelativeTime at={last_seen_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
