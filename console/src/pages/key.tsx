// One key: what it may do, who made it, whether it is in use, and its end.
import { Link, useNavigate, useParams } from 'react-router';
import type { Key } from '../api/objects.ts';
import { refresh, useAnswer } from '../api/queries.ts';
import { useAppId } from '../api/session.ts';
import { tellAuthor } from '../components/author.ts';
import { KeyActs, keyStateOf } from '../components/key-acts.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Status } from '../components/status.tsx';
import { paths } from '../paths.ts';
import { Card, Facts } from '../ui/card.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { RelativeTime, useNow } from '../ui/relative-time.tsx';

export function KeyPage() {
  const app = useAppId();
  const { key = '' } = useParams();
  const query = useAnswer(
    'listKeys',
    { app, q: key, limit: 1 },
    { select: ({ data }) => data.find(({ id }) => id === key) ?? null },
  );
  return (
    <Loaded query={query}>
      {(found) =>
        found === null ? (
          <Card>
            <Empty title="There is no such key">
              Its app may be another one. <Link to={paths.settings(app)}>See all keys of this app</Link>
            </Empty>
          </Card>
        ) : (
          <Whole app={app} value={found} />
        )
      }
    </Loaded>
  );
}

function Whole({ app, value: key }: { app: string; value: Key }) {
  const navigate = useNavigate();
  const state = keyStateOf(key, useNow());
  return (
    <>
      <div className="crumbs">
        <Link to={paths.settings(app)}>Keys</Link>
      </div>
      <Card
        title={key.name}
        actions={
          <KeyActs
            value={key}
            state={state}
            onRotated={({ id }) => navigate(paths.key(app, id))}
            onChanged={() => refresh('listKeys', { app })}
          />
        }
      >
        <p className="headline" style={{ marginBottom: 16 }}>
          <Status status={state} /> {tellUse(state)} <LastUse value={key} />
        </p>
        <Facts
          facts={[
            ['Id', <CopyableId key="id" id={key.id} />],
            [
              'Key',
              <span key="key" className="mono">
                {key.start}…{key.last4}
              </span>,
            ],
            [
              'Allowed',
              key.scope === 'server' ? 'Everything in the API' : 'Register its own device, identify it, track events',
            ],
            ['Made by', tellAuthor(key.created_by)],
            ['Made', <RelativeTime key="made" at={key.created_at} />],
            ...(key.expires_at === null ? [] : [['Ends', <RelativeTime key="ends" at={key.expires_at} />] as const]),
            ...(key.revoked_at === null
              ? []
              : [['Revoked', <RelativeTime key="revoked" at={key.revoked_at} />] as const]),
            [
              'Requests',
              <Link key="requests" to={paths.requests(app, key.id)}>
                See its latest requests
              </Link>,
            ],
          ]}
        />
      </Card>
    </>
  );
}

function tellUse(state: string): string {
  if (state === 'revoked' || state === 'expired') return 'Requests with it are refused.';
  return state === 'expiring' ? 'It works until its end.' : 'It works.';
}

function LastUse({ value: { last_used_at } }: { value: Key }) {
  if (last_used_at === null) return 'It was never used.';
  return (
    <>
      It was last used <RelativeTime at={last_used_at} />.
    </>
  );
}
