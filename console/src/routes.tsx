// The map: every page of the console, loaded when it is first visited.
import { createBrowserRouter, type LazyRouteFunction, type RouteObject } from 'react-router';
import { askAhead, type Question } from './api/ask-ahead.ts';
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
import { RouteProblem, WholeProblem } from './components/route-problem.tsx';

type Page = LazyRouteFunction<RouteObject>;
const page =
  <Name extends string>(read: () => Promise<Record<Name, React.ComponentType>>, name: Name): Page =>
  async () => ({ Component: (await read())[name] });

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
  { path: 'keys/:key', lazy: page(() => import('./pages/key.tsx'), 'KeyPage') },
  { path: 'channels', lazy: page(() => import('./pages/channels/channels.tsx'), 'Channels') },
  { path: 'webhooks', lazy: page(() => import('./pages/webhooks.tsx'), 'Webhooks') },
  { path: 'webhooks/:webhook', lazy: page(() => import('./pages/webhook/webhook.tsx'), 'WebhookPage') },
  { path: 'identity', lazy: page(() => import('./pages/identity/identity.tsx'), 'IdentityPage') },
  { path: 'usage', lazy: page(() => import('./pages/usage.tsx'), 'UsagePage') },
  { path: 'client-events', lazy: page(() => import('./pages/client-events.tsx'), 'ClientEvents') },
  { path: 'general', lazy: page(() => import('./pages/general.tsx'), 'General') },
  { path: 'audit', lazy: page(() => import('./pages/audit.tsx'), 'Audit') },
  { path: 'audit/:entry', lazy: page(() => import('./pages/audit-entry.tsx'), 'AuditEntryPage') },
  { path: 'danger', lazy: page(() => import('./pages/danger.tsx'), 'Danger') },
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
  { path: 'compose', lazy: page(() => import('./pages/compose.tsx'), 'Compose') },
  { path: 'messages', lazy: page(() => import('./pages/messages.tsx'), 'Messages') },
  { path: 'messages/:message', lazy: page(() => import('./pages/message/message.tsx'), 'MessagePage') },
  { path: 'messages/:message/deliveries/:device', lazy: page(() => import('./pages/delivery.tsx'), 'DeliveryPage') },
  { path: 'users', lazy: page(() => import('./pages/users.tsx'), 'Users') },
  { path: 'users/:user', lazy: page(() => import('./pages/user/user.tsx'), 'UserPage') },
  { path: 'devices', lazy: page(() => import('./pages/devices.tsx'), 'Devices') },
  { path: 'devices/:device', lazy: page(() => import('./pages/device/device.tsx'), 'DevicePage') },
  { path: 'segments', lazy: page(() => import('./pages/segments.tsx'), 'Segments') },
  { path: 'segments/new', lazy: page(() => import('./pages/new-segment.tsx'), 'NewSegment') },
  { path: 'segments/:segment', lazy: page(() => import('./pages/segment.tsx'), 'SegmentPage') },
  { path: 'properties', lazy: page(() => import('./pages/properties.tsx'), 'Properties') },
  { path: 'properties/:property', lazy: page(() => import('./pages/property/property.tsx'), 'PropertyPage') },
  { path: 'events', lazy: page(() => import('./pages/events.tsx'), 'Events') },
  { path: 'events/:event', lazy: page(() => import('./pages/event.tsx'), 'EventPage') },
  { path: 'reports', lazy: page(() => import('./pages/reports.tsx'), 'Reports'), children: reports },
  { path: 'developers', lazy: page(() => import('./pages/requests.tsx'), 'Requests') },
  { path: 'developers/events', lazy: page(() => import('./pages/live-events.tsx'), 'LiveEvents') },
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
            { path: 'apps/new', lazy: page(() => import('./pages/new-app.tsx'), 'NewApp') },
            {
              path: 'apps/:app',
              ...ahead((app) => [queryOf('getApp', { app })]),
              Component: AppFrame,
              ErrorBoundary: RouteProblem,
              children: ofApp,
            },
            { path: 'account', lazy: page(() => import('./pages/account/account.tsx'), 'Account') },
            { path: 'team', lazy: page(() => import('./pages/team/team.tsx'), 'TeamPage') },
            { path: 'audit', lazy: page(() => import('./pages/audit.tsx'), 'OrganisationAudit') },
            { path: 'audit/:entry', lazy: page(() => import('./pages/audit-entry.tsx'), 'OrganisationAuditEntry') },
            { path: 'tokens', lazy: page(() => import('./pages/tokens.tsx'), 'Tokens') },
            { path: '*', lazy: page(() => import('./pages/not-found.tsx'), 'NotFound') },
          ],
        },
      ],
    },
  ],
  { basename: '/console' },
);
