// The frame of every page for a person who is signed in: navigation at the left, search, state and
// account at the top. A person without a session is led to the sign-in page and back.
import { ActionIcon, Drawer, Tooltip, useMantineColorScheme } from '@mantine/core';
import { useDisclosure, useLocalStorage, useMediaQuery } from '@mantine/hooks';
import { IconLayoutSidebar, IconMenu2, IconMoon, IconSun } from '@tabler/icons-react';
import { Suspense, useEffect } from 'react';
import { Navigate, Outlet, ScrollRestoration, useLocation, useMatch, useNavigation } from 'react-router';
import { onSessionEnd, Problem } from '../api/client.ts';
import { keyOf, queryClient, useAnswer } from '../api/queries.ts';
import { paths } from '../paths.ts';
import { Bell } from '../ui/bell.tsx';
import { AccountMenu } from './account-menu.tsx';
import { AppSwitcher } from './app-switcher.tsx';
import { Health } from './health.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette.tsx';
import { PausedBar } from './paused-bar.tsx';
import { ProblemPanel } from './problem.tsx';
import { SecretsOnce } from './secret-once.tsx';

/** The window of secrets stands outside, because it must outlive a session that cannot be read. */
export function Frame() {
  return (
    <>
      <Inside />
      <SecretsOnce />
    </>
  );
}

function Inside() {
  const location = useLocation();
  const session = useAnswer('getSession', {});
  // The session's own request is refused too. It must not be repeated for its own refusal, or the
  // requests would never end.
  useEffect(
    () =>
      onSessionEnd(
        () => void queryClient.invalidateQueries({ queryKey: keyOf('getSession') }, { cancelRefetch: false }),
      ),
    [],
  );

  const isSignedOut = session.error instanceof Problem && session.error.status === 401;
  if (isSignedOut) {
    const back = location.pathname === '/' ? '' : `?to=${encodeURIComponent(location.pathname + location.search)}`;
    return <Navigate to={paths.signIn + back} replace />;
  }
  if (session.error) {
    return (
      <main className="main">
        <ProblemPanel error={session.error} onRetry={() => void session.refetch()} />
      </main>
    );
  }
  if (!session.data) return null;
  if (session.data.must_set_up_two_factor && location.pathname !== paths.account) {
    return <Navigate to={paths.account} replace />;
  }
  return <SignedIn />;
}

function SignedIn() {
  const app = useMatch('/apps/:app/*')?.params.app;
  const appId = app === 'new' ? undefined : app;
  const [isNarrow, setNarrow] = useLocalStorage({ key: 'carillon-narrow-navigation', defaultValue: false });
  const [isOpen, drawer] = useDisclosure(false);
  const isPhone = useMediaQuery('(max-width: 900px)', false, { getInitialValueInEffect: false });
  const { pathname } = useLocation();
  const isMoving = useNavigation().state === 'loading';
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes whenever the address changes
  useEffect(drawer.close, [pathname]);

  const navigation = (narrow: boolean) => (
    <>
      <AppSwitcher appId={appId} isNarrow={narrow} />
      <Navigation appId={appId} isNarrow={narrow} />
    </>
  );
  return (
    <div className="frame" data-phone={isPhone || undefined} data-narrow={isNarrow || undefined}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="frame-header frame-top">
        {isPhone ? (
          <ActionIcon variant="subtle" color="gray" onClick={drawer.open} aria-label="Open navigation">
            <IconMenu2 size={20} aria-hidden />
          </ActionIcon>
        ) : (
          <Tooltip label={isNarrow ? 'Show names' : 'Show icons only'}>
            <ActionIcon
              variant="subtle"
              color="gray"
              onClick={() => setNarrow(!isNarrow)}
              aria-label="Names in the navigation"
              aria-pressed={!isNarrow}
            >
              <IconLayoutSidebar size={20} aria-hidden />
            </ActionIcon>
          </Tooltip>
        )}
        <Bell />
        <span className="frame-name">Carillon</span>
        <span style={{ flex: 1 }} />
        <Palette appId={appId} />
        {appId !== undefined && <Health appId={appId} />}
        <ThemeSwitch />
        <AccountMenu />
      </header>
      {isPhone ? (
        <Drawer
          opened={isOpen}
          onClose={drawer.close}
          title="Navigation"
          size={280}
          closeButtonProps={{ 'aria-label': 'Close navigation' }}
        >
          {navigation(false)}
        </Drawer>
      ) : (
        <div className={`frame-nav${isNarrow ? ' is-narrow' : ''}`}>
          <div className="frame-nav-inner">{navigation(isNarrow)}</div>
        </div>
      )}
      <div className="frame-content">
        <PausedBar />
        <main id="main" className="main" tabIndex={-1} aria-busy={isMoving}>
          <Suspense>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <ScrollRestoration />
    </div>
  );
}

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const prefersDark = useMediaQuery('(prefers-color-scheme: dark)', false, { getInitialValueInEffect: false });
  const isDark = colorScheme === 'dark' || (colorScheme === 'auto' && prefersDark);
  return (
    <Tooltip label={isDark ? 'Light theme' : 'Dark theme'}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={isDark ? 'Use the light theme' : 'Use the dark theme'}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <IconSun size={18} aria-hidden /> : <IconMoon size={18} aria-hidden />}
      </ActionIcon>
    </Tooltip>
  );
}
