// The frame of the reports: their tabs keep the filters of the address.
import { NavLink, Outlet } from 'react-router';
import { useAppId } from '../api/session.ts';
import { useReportView } from '../components/report-view.ts';
import { useShownTab } from '../components/use-shown-tab.ts';
import { paths } from '../paths.ts';

export function Reports() {
  const app = useAppId();
  const { search } = useReportView();
  const place = useShownTab();
  const tabs = [
    { name: 'Revenue', to: paths.reports(app) },
    { name: 'Engagement', to: paths.engagement(app) },
    { name: 'Audience', to: paths.audience(app) },
    { name: 'Deliverability', to: paths.deliverability(app) },
  ];
  return (
    <>
      <nav className="tabs no-print" aria-label="Reports" ref={place}>
        {tabs.map(({ name, to }) => (
          <NavLink key={to} end to={{ pathname: to, search: search.toString() }} className="tab">
            {name}
          </NavLink>
        ))}
      </nav>
      <Outlet />
    </>
  );
}
