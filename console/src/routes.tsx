// The map: every page of the console, loaded when it is first visited.
import { createBrowserRouter, type LazyRouteFunction, type RouteObject } from 'react-router';
import { askAhead, type Question } from './api/ask-ahead.ts';
import type { Act } from './api/can.ts';
import { queryOf } from './api/queries.ts';
import { AppFrame } from './components/app-frame.tsx';
import { Entrance } from './components/entrance.tsx';
import {
  audienceQuestions,
  deliverabilityQuestions,
  engagementQuestions,
  ofView,
  overviewQuestions,
  revenueQuestions,
} from './components/first-questions.ts';
import { Frame } from './components/frame.tsx';
import { Gate } from './components/not-allowed.tsx';
import { RouteProblem, WholeProblem } from './components/route-problem.tsx';

type Gated = Omit<React.ComponentProps<typeof Gate>, 'children'>;
type Reader<Name extends string> = () => Promise<Record<Name, React.ComponentType>>;

const lazyOf =
  <Name extends string>(read: Reader<Name>, name: Name, gate?: Gated): LazyRouteFunction<RouteObject> =>
  async () => {
    const Component: React.ComponentType = (await read())[name];
    if (!gate) return { Component };
    const gated = () => (
      <Gate {...gate}>
        <Component />
      </Gate>
    );
    return { Component: gated };
  };
const page = <Name extends string>(path: string, read: Reader<Name>, name: Name, gate?: Gated): RouteObject => ({
  ...(path === '' ? { index: true } : { path }),
  lazy: lazyOf(read, name, gate),
});
/** The act without which a page is not shown, and the name of the page. */
const needs = (act: Act, what: string, isPart = false): Gated => ({ act, what, isPart });

/**
 * Begins to read a page's data while its script is loaded. A loaded page reads its data by itself
 * when its address changes, so filters that change the address wait for nothing.
 */
const ahead = (questionsOf: (app: string, search: URLSearchParams) => readonly Question[]) =>
  ({
    loader({ params: { app = '' }, request }) {
      void askAhead(() => questionsOf(app, new URL(request.url).searchParams));
      return null;
    },
    shouldRevalidate: ({ currentParams, nextParams }) => currentParams['app'] !== nextParams['app'],
  }) satisfies RouteObject;

const settings: RouteObject[] = [
  page('', () => import('./pages/keys.tsx'), 'Keys'),
  page('keys/:key', () => import('./pages/key.tsx'), 'KeyPage', needs('key.edit', 'Key', true)),
  page('channels', () => import('./pages/channels/channels.tsx'), 'Channels'),
  page('webhooks', () => import('./pages/webhooks.tsx'), 'Webhooks'),
  page('webhooks/:webhook', () => import('./pages/webhook/webhook.tsx'), 'WebhookPage'),
  page('identity', () => import('./pages/identity/identity.tsx'), 'IdentityPage'),
  page('usage', () => import('./pages/usage.tsx'), 'UsagePage', needs('plan.edit', 'Plan and usage', true)),
  page(
    'client-events',
    () => import('./pages/client-events.tsx'),
    'ClientEvents',
    needs('app.edit', 'Client events', true),
  ),
  page('general', () => import('./pages/general.tsx'), 'General', needs('app.edit', 'General', true)),
  page('audit', () => import('./pages/audit.tsx'), 'Audit', needs('audit.read', 'Audit', true)),
  page('audit/:entry', () => import('./pages/audit-entry.tsx'), 'AuditEntryPage', needs('audit.read', 'Audit', true)),
  page('danger', () => import('./pages/danger.tsx'), 'Danger', needs('app.suspend', 'Danger zone', true)),
];

const reports: RouteObject[] = [
  { ...page('', () => import('./pages/revenue/revenue.tsx'), 'Revenue'), ...ahead(ofView(revenueQuestions)) },
  {
    ...page('engagement', () => import('./pages/engagement.tsx'), 'Engagement'),
    ...ahead(ofView(engagementQuestions)),
  },
  { ...page('audience', () => import('./pages/audience.tsx'), 'AudienceReport'), ...ahead(ofView(audienceQuestions)) },
  {
    ...page('deliverability', () => import('./pages/deliverability.tsx'), 'Deliverability'),
    ...ahead(ofView(deliverabilityQuestions)),
  },
];

const ofApp: RouteObject[] = [
  {
    ...page('', () => import('./pages/overview.tsx'), 'Overview'),
    ...ahead((app) => Object.values(overviewQuestions(app))),
  },
  page('compose', () => import('./pages/compose.tsx'), 'Compose', needs('message.send', 'Compose')),
  page('messages', () => import('./pages/messages.tsx'), 'Messages'),
  page('messages/:message', () => import('./pages/message/message.tsx'), 'MessagePage'),
  page('messages/:message/deliveries/:device', () => import('./pages/delivery.tsx'), 'DeliveryPage'),
  page('users', () => import('./pages/users.tsx'), 'Users', needs('user.read', 'Users')),
  page('users/:user', () => import('./pages/user/user.tsx'), 'UserPage', needs('user.read', 'User')),
  page('devices', () => import('./pages/devices.tsx'), 'Devices', needs('device.read', 'Devices')),
  page('devices/:device', () => import('./pages/device/device.tsx'), 'DevicePage', needs('device.read', 'Device')),
  page('segments', () => import('./pages/segments.tsx'), 'Segments'),
  page('segments/new', () => import('./pages/new-segment.tsx'), 'NewSegment', needs('segment.edit', 'New segments')),
  page('segments/:segment', () => import('./pages/segment.tsx'), 'SegmentPage'),
  page('properties', () => import('./pages/properties.tsx'), 'Properties'),
  page('properties/:property', () => import('./pages/property/property.tsx'), 'PropertyPage'),
  page('events', () => import('./pages/events.tsx'), 'Events'),
  page('events/:event', () => import('./pages/event.tsx'), 'EventPage'),
  { path: 'reports', lazy: lazyOf(() => import('./pages/reports.tsx'), 'Reports'), children: reports },
  page('developers', () => import('./pages/requests.tsx'), 'Requests'),
  page('developers/events', () => import('./pages/live-events.tsx'), 'LiveEvents', needs('event.read', 'Live events')),
  { path: 'settings', lazy: lazyOf(() => import('./pages/settings.tsx'), 'Settings'), children: settings },
];

export const router = createBrowserRouter(
  [
    {
      ErrorBoundary: WholeProblem,
      children: [
        {
          Component: Entrance,
          children: [
            page('sign-in', () => import('./pages/sign-in/sign-in.tsx'), 'SignIn'),
            page('setup', () => import('./pages/set-up.tsx'), 'SetUp'),
            page('join', () => import('./pages/accept-invite.tsx'), 'AcceptInvite'),
            page('reset', () => import('./pages/reset-password.tsx'), 'ResetPassword'),
          ],
        },
        {
          Component: Frame,
          children: [
            page('', () => import('./pages/home.tsx'), 'Home'),
            page('apps/new', () => import('./pages/new-app.tsx'), 'NewApp', needs('app.create', 'New app')),
            {
              path: 'apps/:app',
              ...ahead((app) => [queryOf('getApp', { app })]),
              Component: AppFrame,
              ErrorBoundary: RouteProblem,
              children: ofApp,
            },
            page('account', () => import('./pages/account/account.tsx'), 'Account'),
            page('team', () => import('./pages/team/team.tsx'), 'TeamPage', needs('team.edit', 'Team')),
            page('audit', () => import('./pages/audit.tsx'), 'OrganisationAudit', needs('audit.read', 'Audit')),
            page(
              'audit/:entry',
              () => import('./pages/audit-entry.tsx'),
              'OrganisationAuditEntry',
              needs('audit.read', 'Audit'),
            ),
            page('tokens', () => import('./pages/tokens.tsx'), 'Tokens', needs('token.edit', 'Operator tokens')),
            page('*', () => import('./pages/not-found.tsx'), 'NotFound'),
          ],
        },
      ],
    },
  ],
  { basename: '/console' },
);
