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

type Page = LazyRouteFunction<RouteObject>;
const page =
  <Name extends string>(
    read: () => Promise<Record<Name, React.ComponentType>>,
    name: Name,
    gate?: Omit<React.ComponentProps<typeof Gate>, 'children'>,
  ): Page =>
  async () => {
    const { [name]: Component } = await read();
    if (!gate) return { Component };
    const gated = () => (
      <Gate {...gate}>
        <Component />
      </Gate>
    );
    return { Component: gated };
  };
/** The act without which a page is not shown, and the name of the page. */
const needs = (act: Act, what: string, isPart = false) => ({ act, what, isPart });

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
  { index: true, lazy: page(() => import('./pages/keys.tsx'), 'Keys') },
  { path: 'keys/:key', lazy: page(() => import('./pages/key.tsx'), 'KeyPage', needs('key.edit', 'Key', true)) },
  { path: 'channels', lazy: page(() => import('./pages/channels/channels.tsx'), 'Channels') },
  { path: 'webhooks', lazy: page(() => import('./pages/webhooks.tsx'), 'Webhooks') },
  { path: 'webhooks/:webhook', lazy: page(() => import('./pages/webhook/webhook.tsx'), 'WebhookPage') },
  { path: 'identity', lazy: page(() => import('./pages/identity/identity.tsx'), 'IdentityPage') },
  {
    path: 'usage',
    lazy: page(() => import('./pages/usage.tsx'), 'UsagePage', needs('plan.edit', 'Plan and usage', true)),
  },
  {
    path: 'client-events',
    lazy: page(() => import('./pages/client-events.tsx'), 'ClientEvents', needs('app.edit', 'Client events', true)),
  },
  { path: 'general', lazy: page(() => import('./pages/general.tsx'), 'General', needs('app.edit', 'General', true)) },
  { path: 'audit', lazy: page(() => import('./pages/audit.tsx'), 'Audit', needs('audit.read', 'Audit', true)) },
  {
    path: 'audit/:entry',
    lazy: page(() => import('./pages/audit-entry.tsx'), 'AuditEntryPage', needs('audit.read', 'Audit', true)),
  },
  {
    path: 'danger',
    lazy: page(() => import('./pages/danger.tsx'), 'Danger', needs('app.suspend', 'Danger zone', true)),
  },
];

const report = (questionsOf: Parameters<typeof ofView>[0], lazy: Page) => ({ ...ahead(ofView(questionsOf)), lazy });
const reports: RouteObject[] = [
  {
    index: true,
    ...report(
      revenueQuestions,
      page(() => import('./pages/revenue/revenue.tsx'), 'Revenue'),
    ),
  },
  {
    path: 'engagement',
    ...report(
      engagementQuestions,
      page(() => import('./pages/engagement.tsx'), 'Engagement'),
    ),
  },
  {
    path: 'audience',
    ...report(
      audienceQuestions,
      page(() => import('./pages/audience.tsx'), 'AudienceReport'),
    ),
  },
  {
    path: 'deliverability',
    ...report(
      deliverabilityQuestions,
      page(() => import('./pages/deliverability.tsx'), 'Deliverability'),
    ),
  },
];

const ofApp: RouteObject[] = [
  {
    index: true,
    ...ahead((app) => Object.values(overviewQuestions(app))),
    lazy: page(() => import('./pages/overview.tsx'), 'Overview'),
  },
  { path: 'compose', lazy: page(() => import('./pages/compose.tsx'), 'Compose', needs('message.send', 'Compose')) },
  { path: 'messages', lazy: page(() => import('./pages/messages.tsx'), 'Messages') },
  { path: 'messages/:message', lazy: page(() => import('./pages/message/message.tsx'), 'MessagePage') },
  { path: 'messages/:message/deliveries/:device', lazy: page(() => import('./pages/delivery.tsx'), 'DeliveryPage') },
  { path: 'users', lazy: page(() => import('./pages/users.tsx'), 'Users', needs('user.read', 'Users')) },
  { path: 'users/:user', lazy: page(() => import('./pages/user/user.tsx'), 'UserPage', needs('user.read', 'User')) },
  { path: 'devices', lazy: page(() => import('./pages/devices.tsx'), 'Devices', needs('device.read', 'Devices')) },
  {
    path: 'devices/:device',
    lazy: page(() => import('./pages/device/device.tsx'), 'DevicePage', needs('device.read', 'Device')),
  },
  { path: 'segments', lazy: page(() => import('./pages/segments.tsx'), 'Segments') },
  {
    path: 'segments/new',
    lazy: page(() => import('./pages/new-segment.tsx'), 'NewSegment', needs('segment.edit', 'New segments')),
  },
  { path: 'segments/:segment', lazy: page(() => import('./pages/segment.tsx'), 'SegmentPage') },
  { path: 'properties', lazy: page(() => import('./pages/properties.tsx'), 'Properties') },
  { path: 'properties/:property', lazy: page(() => import('./pages/property/property.tsx'), 'PropertyPage') },
  { path: 'events', lazy: page(() => import('./pages/events.tsx'), 'Events') },
  { path: 'events/:event', lazy: page(() => import('./pages/event.tsx'), 'EventPage') },
  { path: 'reports', lazy: page(() => import('./pages/reports.tsx'), 'Reports'), children: reports },
  { path: 'developers', lazy: page(() => import('./pages/requests.tsx'), 'Requests') },
  {
    path: 'developers/events',
    lazy: page(() => import('./pages/live-events.tsx'), 'LiveEvents', needs('event.read', 'Live events')),
  },
  { path: 'settings', lazy: page(() => import('./pages/settings.tsx'), 'Settings'), children: settings },
];

export const router = createBrowserRouter(
  [
    {
      ErrorBoundary: WholeProblem,
      children: [
        {
          Component: Entrance,
          children: [
            { path: 'sign-in', lazy: page(() => import('./pages/sign-in/sign-in.tsx'), 'SignIn') },
            { path: 'setup', lazy: page(() => import('./pages/set-up.tsx'), 'SetUp') },
            { path: 'join', lazy: page(() => import('./pages/accept-invite.tsx'), 'AcceptInvite') },
            { path: 'reset', lazy: page(() => import('./pages/reset-password.tsx'), 'ResetPassword') },
          ],
        },
        {
          Component: Frame,
          children: [
            { index: true, lazy: page(() => import('./pages/home.tsx'), 'Home') },
            {
              path: 'apps/new',
              lazy: page(() => import('./pages/new-app.tsx'), 'NewApp', needs('app.create', 'New app')),
            },
            {
              path: 'apps/:app',
              ...ahead((app) => [queryOf('getApp', { app })]),
              Component: AppFrame,
              ErrorBoundary: RouteProblem,
              children: ofApp,
            },
            { path: 'account', lazy: page(() => import('./pages/account/account.tsx'), 'Account') },
            { path: 'team', lazy: page(() => import('./pages/team/team.tsx'), 'TeamPage', needs('team.edit', 'Team')) },
            {
              path: 'audit',
              lazy: page(() => import('./pages/audit.tsx'), 'OrganisationAudit', needs('audit.read', 'Audit')),
            },
            {
              path: 'audit/:entry',
              lazy: page(
                () => import('./pages/audit-entry.tsx'),
                'OrganisationAuditEntry',
                needs('audit.read', 'Audit'),
              ),
            },
            {
              path: 'tokens',
              lazy: page(() => import('./pages/tokens.tsx'), 'Tokens', needs('token.edit', 'Operator tokens')),
            },
            { path: '*', lazy: page(() => import('./pages/not-found.tsx'), 'NotFound') },
          ],
        },
      ],
    },
  ],
  { basename: '/console' },
);
