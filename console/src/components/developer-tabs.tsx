// The pages of Developers: the log of requests, and the live events.
import { NavLink } from 'react-router';
import { paths } from '../paths.ts';

export function DeveloperTabs({ app }: { app: string }) {
  return (
    <nav aria-label="Developers" className="tabs">
      <NavLink to={paths.requests(app)} end className="tab">
        Requests
      </NavLink>
      <NavLink to={paths.liveEvents(app)} className="tab">
        Live events
      </NavLink>
    </nav>
  );
}
