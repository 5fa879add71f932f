// The pages of an app and of the organisation. Only pages that exist are listed.
import { Tooltip } from '@mantine/core';
import {
  IconActivity,
  IconApps,
  IconChartLine,
  IconCode,
  IconDevices,
  IconFilter,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconPencil,
  IconSend,
  IconSettings,
  IconTags,
  IconUsers,
  IconUsersGroup,
  type TablerIcon,
} from '@tabler/icons-react';
import { NavLink } from 'react-router';
import { type Act, allowedFor } from '../api/can.ts';
import { useSession } from '../api/session.ts';
import { paths } from '../paths.ts';

interface Entry {
  readonly name: string;
  readonly to: string;
  readonly icon: TablerIcon;
  readonly needs?: Act;
  readonly isExact?: boolean;
}

/** The pages of an app, in the order of the navigation. */
export function pagesOfApp(app: string): readonly Entry[] {
  return [
    { name: 'Overview', to: paths.overview(app), icon: IconLayoutDashboard, isExact: true },
    { name: 'Compose', to: paths.compose(app), icon: IconPencil, needs: 'message.send' },
    { name: 'Messages', to: paths.messages(app), icon: IconSend },
    { name: 'Users', to: paths.users(app), icon: IconUsers, needs: 'user.read' },
    { name: 'Devices', to: paths.devices(app), icon: IconDevices, needs: 'device.read' },
    { name: 'Segments', to: paths.segments(app), icon: IconFilter },
    { name: 'Properties', to: paths.properties(app), icon: IconTags },
    { name: 'Events', to: paths.events(app), icon: IconActivity },
    { name: 'Reports', to: paths.reports(app), icon: IconChartLine },
    { name: 'Developers', to: paths.requests(app), icon: IconCode },
    { name: 'Settings', to: paths.settings(app), icon: IconSettings },
  ];
}

export const pagesOfOrganisation: readonly Entry[] = [
  { name: 'Apps', to: paths.home, icon: IconApps, isExact: true },
  { name: 'Team', to: paths.team, icon: IconUsersGroup, needs: 'team.edit' },
  { name: 'Operator tokens', to: paths.tokens, icon: IconKey, needs: 'token.edit' },
  { name: 'Audit', to: paths.organisationAudit, icon: IconHistory, needs: 'audit.read' },
];

/** The pages of Settings. */
export const settingsPages: readonly {
  readonly name: string;
  readonly path: (app: string) => string;
  readonly needs?: Act;
}[] = [
  { name: 'Keys', path: paths.settings, needs: 'key.edit' },
  { name: 'Channels', path: paths.channels },
  { name: 'Webhooks', path: paths.webhooks },
  { name: 'Identity', path: paths.identity },
  { name: 'Plan and usage', path: paths.usage, needs: 'plan.edit' },
  { name: 'Client events', path: paths.clientEvents, needs: 'app.edit' },
  { name: 'General', path: paths.general, needs: 'app.edit' },
  { name: 'Audit', path: paths.audit, needs: 'audit.read' },
  { name: 'Danger zone', path: paths.danger, needs: 'app.suspend' },
];

export function Navigation({ appId, isNarrow }: { appId: string | undefined; isNarrow: boolean }) {
  const { role, organisation } = useSession();
  return (
    <>
      {appId !== undefined && <Links label="App" entries={allowedFor(role, pagesOfApp(appId))} isNarrow={isNarrow} />}
      {isNarrow && <hr style={{ border: 0, borderTop: '1px solid var(--line)', margin: '12px 0' }} />}
      <Links
        label="Organisation"
        heading={isNarrow ? undefined : organisation.name}
        entries={allowedFor(role, pagesOfOrganisation)}
        isNarrow={isNarrow}
      />
    </>
  );
}

interface LinksProps {
  readonly label: string;
  readonly heading?: string | undefined;
  readonly entries: readonly Entry[];
  readonly isNarrow: boolean;
}

function Links({ label, heading, entries, isNarrow }: LinksProps) {
  return (
    <nav aria-label={label} style={{ display: 'grid', gap: 2 }}>
      {heading !== undefined && (
        <span className="muted" style={{ margin: '20px 12px 4px', fontSize: 12 }}>
          {heading}
        </span>
      )}
      {entries.map(({ name, to, icon: Icon, isExact = false }) => (
        <Tooltip key={to} label={name} position="right" disabled={!isNarrow}>
          <NavLink to={to} end={isExact} className="nav-link" aria-label={isNarrow ? name : undefined}>
            <Icon size={18} aria-hidden stroke={1.75} />
            {!isNarrow && name}
          </NavLink>
        </Tooltip>
      ))}
    </nav>
  );
}
