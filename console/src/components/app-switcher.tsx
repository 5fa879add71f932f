// The present app, and the way to the others.
import { Menu, Tooltip, VisuallyHidden } from '@mantine/core';
import { IconApps, IconCheck, IconPlus, IconSelector } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ListedApp } from '../api/objects.ts';
import { useAnswer, whole } from '../api/queries.ts';
import { useMay } from '../api/session.ts';
import { paths } from '../paths.ts';

/** `unlimited plan · test`: the plan, and special states of the app. */
function tellApp({ plan, is_test, suspended_at }: ListedApp): string {
  return [`${plan} plan`, ...(is_test ? ['test'] : []), ...(suspended_at === null ? [] : ['suspended'])].join(' · ');
}

export function AppSwitcher({ appId, isNarrow }: { appId: string | undefined; isNarrow: boolean }) {
  const { data: apps = [], has_more: hasMore = false } = useAnswer('listApps', whole).data ?? {};
  // The list may contain only the oldest apps, so the present one is added.
  const own = useAnswer('getApp', { app: appId ?? '' }, { enabled: appId !== undefined }).data;
  const { may } = useMay('app.create');
  const present = own ?? apps.find(({ id }) => id === appId);
  const name = present?.name ?? (appId === undefined ? 'Choose an app' : '…');
  return (
    <Menu position="bottom-start" width={260} withinPortal>
      <Menu.Target>
        <button type="button" className="switcher">
          <VisuallyHidden>App: {isNarrow && name}</VisuallyHidden>
          <Tooltip label={name} disabled={!isNarrow} position="right">
            <span className="switcher-letter" aria-hidden="true">
              {appId === undefined ? <IconApps size={16} /> : name.slice(0, 1).toUpperCase()}
            </span>
          </Tooltip>
          {!isNarrow && (
            <>
              <span style={{ minWidth: 0, flex: 1, textAlign: 'left' }}>
                <span className="cell" style={{ display: 'block', fontWeight: 600 }}>
                  {name}
                </span>
                {present && (
                  <span className="muted" style={{ fontSize: 12 }}>
                    {tellApp(present)}
                  </span>
                )}
              </span>
              <IconSelector size={16} aria-hidden />
            </>
          )}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {apps.map((app) => (
          <Menu.Item
            key={app.id}
            component={Link}
            to={paths.overview(app.id)}
            rightSection={app.id === appId ? <IconCheck size={14} aria-hidden /> : undefined}
          >
            {app.name}
            <span className="muted" style={{ display: 'block', fontSize: 12 }}>
              {tellApp(app)}
            </span>
          </Menu.Item>
        ))}
        {hasMore && (
          <Menu.Item component={Link} to={paths.home}>
            All apps
          </Menu.Item>
        )}
        {may && (
          <>
            {apps.length > 0 && <Menu.Divider />}
            <Menu.Item component={Link} to={paths.newApp} leftSection={<IconPlus size={14} aria-hidden />}>
              New app
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
