// An address of the console that leads nowhere, and the ways on from it.
import { Link, useLocation } from 'react-router';
import { useAnswer, whole } from '../api/queries.ts';
import { commandKey } from '../components/palette.tsx';
import { paths } from '../paths.ts';
import { Card } from '../ui/card.tsx';
import { PageHead } from '../ui/page-head.tsx';

const shownApps = 8;

export function NotFound() {
  const { pathname } = useLocation();
  const apps = useAnswer('listApps', whole).data?.data ?? [];
  const named = apps.find(({ id }) => pathname.startsWith(paths.overview(id)));
  return (
    <>
      <PageHead
        title="There is no such page"
        answer={
          <>
            The address <span className="mono">{pathname}</span> may be mistyped, or the page has moved.
          </>
        }
      />
      <div className="grid-2">
        {named && (
          <Card title={named.name}>
            <ul className="plain-list">
              <li>
                <Link to={paths.overview(named.id)}>Overview</Link>
              </li>
              <li>
                <Link to={paths.messages(named.id)}>Messages</Link>
              </li>
              <li>
                <Link to={paths.users(named.id)}>Users</Link>
              </li>
              <li>
                <Link to={paths.settings(named.id)}>Settings</Link>
              </li>
            </ul>
          </Card>
        )}
        <Card title="Your apps">
          <ul className="plain-list">
            {apps.slice(0, shownApps).map(({ id, name }) => (
              <li key={id}>
                <Link to={paths.overview(id)}>{name}</Link>
              </li>
            ))}
            <li>
              <Link to={paths.home}>All apps</Link>
            </li>
          </ul>
          <p className="muted" style={{ margin: '12px 0 0' }}>
            The search ({commandKey} K) finds a page, or an object by its id or the beginning of its name.
          </p>
        </Card>
      </div>
    </>
  );
}
