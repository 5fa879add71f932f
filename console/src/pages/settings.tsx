// The settings of one app: their navigation, and the page that is open.
import { Link, NavLink, Outlet, useMatch } from 'react-router';
import { allowedFor } from '../api/can.ts';
import { useApp, useAppId, useSession } from '../api/session.ts';
import { settingsPages } from '../components/navigation.tsx';
import { useShownTab } from '../components/use-shown-tab.ts';
import { PageHead } from '../ui/page-head.tsx';

export function Settings() {
  const app = useAppId();
  const { name } = useApp();
  const { role } = useSession();
  const tabs = useShownTab();
  // Keys have the address of Settings itself, and a key's page stands beside that of other
  // settings.
  const isOneKey = useMatch('/apps/:app/settings/keys/:key') !== null;
  return (
    <>
      <PageHead title={`Settings of ${name}`} />
      <nav aria-label="Settings" className="tabs" ref={tabs}>
        {allowedFor(role, settingsPages).map(({ name: page, path }) =>
          page === 'Keys' && isOneKey ? (
            <Link key={page} to={path(app)} className="tab active" aria-current="page">
              {page}
            </Link>
          ) : (
            <NavLink key={page} to={path(app)} end={page === 'Keys'} className="tab">
              {page}
            </NavLink>
          ),
        )}
      </nav>
      <div className="stack">
        <Outlet />
      </div>
    </>
  );
}
