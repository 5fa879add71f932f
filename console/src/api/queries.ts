// The console's cache of the service's answers: the key of each answer, and how long it is kept. A
// write that changes an object makes its answers stale by these keys.
import {
  infiniteQueryOptions,
  keepPreviousData as placeholderData,
  QueryClient,
  queryOptions,
} from '@tanstack/react-query';
import { Problem } from './client.ts';
import type { ChannelName } from './objects.ts';
import * as operations from './operations.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Refused requests are not repeated. Only a missing answer is requested again.
      retry: (failures, error) => failures < 2 && error instanceof Problem && [0, 502, 503].includes(error.status),
    },
  },
});

interface Paged {
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A list that is read page by page. `from` is the cursor that the address of the page named. */
function walk<Page extends Paged>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page>,
  from?: string,
) {
  return infiniteQueryOptions({
    queryKey: [...key, 'pages', from ?? null],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: from,
    getNextPageParam: (page: Page) => page.next_cursor ?? undefined,
  });
}

/**
 * A report that is not shown any more is canceled. The former report stays until the next one is
 * there.
 */
function reportOptions<Report>(queryKey: readonly unknown[], read: (signal: AbortSignal) => Promise<Report>) {
  return queryOptions({ queryKey, queryFn: ({ signal }) => read(signal), staleTime: 30_000, placeholderData });
}

const pageSize = 50;

/** A bounded list as one page, read page by page. */
async function wholeList<Page extends Paged & { readonly data: readonly unknown[] }>(
  read: (cursor: string | undefined) => Promise<Page>,
): Promise<Page> {
  const rows: unknown[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    rows.push(...page.data);
    if (page.next_cursor === null) return { ...page, data: rows };
    cursor = page.next_cursor;
  }
}

export const queries = {
  session: () =>
    queryOptions({ queryKey: ['session'], queryFn: operations.getSession, staleTime: 60_000, retry: false }),
  welcome: () => queryOptions({ queryKey: ['welcome'], queryFn: operations.getWelcome }),
  link: (secret: string) =>
    queryOptions({ queryKey: ['link', secret], queryFn: () => operations.getLink(secret), retry: false }),
  sessions: () => queryOptions({ queryKey: ['sessions'], queryFn: operations.listSessions }),
  apps: () => queryOptions({ queryKey: ['apps'], queryFn: () => operations.listApps(), staleTime: 30_000 }),
  appPages: (q: string | undefined, from?: string) =>
    walk(['apps', { q }], (cursor, signal) => operations.listApps({ q, cursor, limit: pageSize, signal }), from),
  app: (app: string) => queryOptions({ queryKey: ['app', app], queryFn: () => operations.getApp(app) }),
  messages: (app: string, filters: operations.MessageFilters, from?: string) =>
    walk(
      ['app', app, 'messages', filters],
      (cursor, signal) => operations.listMessages(app, { ...filters, cursor, limit: pageSize, signal }),
      from,
    ),
  newestMessages: (app: string, limit: number) =>
    queryOptions({
      queryKey: ['app', app, 'messages', 'newest', limit],
      queryFn: () => operations.listMessages(app, { limit }),
    }),
  message: (app: string, message: string) =>
    queryOptions({ queryKey: ['app', app, 'message', message], queryFn: () => operations.getMessage(app, message) }),
  deliveries: (app: string, message: string, filters: operations.DeliveryFilters, from?: string) =>
    walk(
      ['app', app, 'message', message, 'deliveries', filters],
      (cursor, signal) => operations.listDeliveries(app, message, { ...filters, cursor, limit: pageSize, signal }),
      from,
    ),
  delivery: (app: string, message: string, device: string) =>
    queryOptions({
      queryKey: ['app', app, 'message', message, 'delivery', device],
      queryFn: () => operations.listDeliveries(app, message, { device_id: device, limit: 1 }),
    }),
  devices: (app: string, filters: operations.DeviceFilters, from?: string) =>
    walk(
      ['app', app, 'devices', filters],
      (cursor, signal) => operations.listDevices(app, { ...filters, cursor, limit: pageSize, signal }),
      from,
    ),
  devicesOf: (app: string, externalId: string) =>
    queryOptions({
      queryKey: ['app', app, 'devices', 'of', externalId],
      queryFn: () => operations.listDevices(app, { external_id: externalId, limit: 100 }),
    }),
  device: (app: string, device: string) =>
    queryOptions({ queryKey: ['app', app, 'device', device], queryFn: () => operations.getDevice(app, device) }),
  users: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'users', q ?? ''],
      (cursor, signal) => operations.listUsers(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  user: (app: string, externalId: string) =>
    queryOptions({ queryKey: ['app', app, 'user', externalId], queryFn: () => operations.getUser(app, externalId) }),
  userSegments: (app: string, externalId: string) =>
    walk(['app', app, 'user', externalId, 'segments'], (cursor, signal) =>
      operations.listUserSegments(app, externalId, { cursor, signal }),
    ),
  userEvents: (app: string, externalId: string, from?: string) =>
    walk(
      ['app', app, 'user', externalId, 'events'],
      (cursor, signal) => operations.listUserEvents(app, externalId, { cursor, limit: pageSize, signal }),
      from,
    ),
  userDeliveries: (app: string, externalId: string, from?: string) =>
    walk(
      ['app', app, 'user', externalId, 'deliveries'],
      (cursor, signal) => operations.listUserDeliveries(app, externalId, { cursor, limit: pageSize, signal }),
      from,
    ),
  deviceDeliveries: (app: string, device: string, from?: string) =>
    walk(
      ['app', app, 'device', device, 'deliveries'],
      (cursor, signal) => operations.listDeviceDeliveries(app, device, { cursor, limit: pageSize, signal }),
      from,
    ),
  explain: (app: string, message: string, question: operations.ExplainQuestion) =>
    queryOptions({
      queryKey: ['app', app, 'explain', message, question],
      queryFn: () => operations.explain(app, message, question),
    }),
  explainNewest: (app: string, question: operations.ExplainQuestion) =>
    queryOptions({
      queryKey: ['app', app, 'explain', question],
      queryFn: () => operations.explainNewest(app, question),
    }),
  keys: (app: string) => queryOptions({ queryKey: ['app', app, 'keys'], queryFn: () => operations.listKeys(app) }),
  /** Null: the app has no such key. */
  key: (app: string, key: string) =>
    queryOptions({
      queryKey: ['app', app, 'keys', 'one', key],
      queryFn: async () =>
        (await operations.listKeys(app, { q: key, limit: 1 })).data.find(({ id }) => id === key) ?? null,
    }),
  keyPages: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'keys', { q }],
      (cursor, signal) => operations.listKeys(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  channels: (app: string) =>
    queryOptions({ queryKey: ['app', app, 'channels'], queryFn: () => operations.listChannels(app) }),
  spared: (app: string, channel: ChannelName) =>
    queryOptions({
      queryKey: ['app', app, 'channels', 'spared', channel],
      queryFn: () => operations.listSpared(app, channel),
    }),
  webhooks: (app: string) =>
    queryOptions({ queryKey: ['app', app, 'webhooks'], queryFn: () => operations.listWebhooks(app) }),
  webhookPages: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'webhooks', { q }],
      (cursor, signal) => operations.listWebhooks(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  webhook: (app: string, webhook: string) =>
    queryOptions({ queryKey: ['app', app, 'webhook', webhook], queryFn: () => operations.getWebhook(webhook) }),
  attempts: (app: string, webhook: string) =>
    queryOptions({
      queryKey: ['app', app, 'webhook', webhook, 'attempts'],
      queryFn: () => operations.listAttempts(webhook),
    }),
  identity: (app: string) =>
    queryOptions({ queryKey: ['app', app, 'identity'], queryFn: () => operations.getIdentity(app) }),
  plans: () => queryOptions({ queryKey: ['plans'], queryFn: operations.listPlans, staleTime: 300_000 }),
  usage: (app: string) => queryOptions({ queryKey: ['app', app, 'usage'], queryFn: () => operations.getUsage(app) }),
  overview: (app: string, zone: string) =>
    queryOptions({
      queryKey: ['app', app, 'overview', zone],
      queryFn: () => operations.getOverview(app, zone),
      staleTime: 60_000,
    }),
  revenue: (app: string, range: operations.RevenueRange) =>
    reportOptions(['app', app, 'report', 'revenue', range], (signal) => operations.getRevenue(app, range, signal)),
  engagement: (app: string, range: operations.ReportRange) =>
    reportOptions(['app', app, 'report', 'engagement', range], (signal) =>
      operations.getEngagement(app, range, signal),
    ),
  audience: (app: string, range: operations.ReportRange) =>
    reportOptions(['app', app, 'report', 'devices', range], (signal) => operations.getAudience(app, range, signal)),
  deliverability: (app: string, range: operations.ReportRange) =>
    reportOptions(['app', app, 'report', 'deliverability', range], (signal) =>
      operations.getDeliverability(app, range, signal),
    ),
  rebuild: (app: string) =>
    queryOptions({ queryKey: ['app', app, 'rebuild'], queryFn: () => operations.getRebuild(app) }),
  messageFigures: (app: string, message: string) =>
    queryOptions({
      queryKey: ['app', app, 'message', message, 'figures'],
      queryFn: () => operations.getMessageFigures(app, message),
    }),
  team: (q: string | undefined, from?: string) =>
    walk(['team', { q }], (cursor, signal) => operations.getTeam({ q, cursor, limit: pageSize, signal }), from),
  tokens: (q: string | undefined, from?: string) =>
    walk(['tokens', { q }], (cursor, signal) => operations.listTokens({ q, cursor, limit: pageSize, signal }), from),
  /** `app` undefined: of the organisation. */
  audit: (app: string | undefined, range: operations.TimeRange & { readonly q?: string | undefined }, from?: string) =>
    walk(
      ['app', app ?? null, 'audit', range],
      (cursor, signal) => operations.listAudit(app, { ...range, cursor, limit: pageSize, signal }),
      from,
    ),
  /** Null: there is no such entry. `app` as in `audit`. */
  auditEntry: (app: string | undefined, entry: string) =>
    queryOptions({
      queryKey: ['app', app ?? null, 'audit', 'one', entry],
      queryFn: async () =>
        (await operations.listAudit(app, { q: entry, limit: 1 })).data.find(({ id }) => id === entry) ?? null,
    }),
  requests: (app: string, filters: operations.RequestFilters) =>
    queryOptions({
      queryKey: ['app', app, 'requests', filters],
      queryFn: () => operations.listRequests(app, filters),
      refetchInterval: 2000,
    }),
  segments: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'segments', q ?? ''],
      (cursor, signal) => operations.listSegments(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  segment: (app: string, segment: string) =>
    queryOptions({ queryKey: ['app', app, 'segment', segment], queryFn: () => operations.getSegment(app, segment) }),
  segmentUses: (app: string, segment: string) =>
    queryOptions({
      queryKey: ['app', app, 'segment', segment, 'uses'],
      queryFn: () => operations.getSegmentUses(app, segment),
    }),
  properties: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'properties', q ?? ''],
      (cursor, signal) => operations.listProperties(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  property: (app: string, key: string) =>
    queryOptions({ queryKey: ['app', app, 'property', key], queryFn: () => operations.getProperty(app, key) }),
  propertyConsequences: (app: string, key: string) =>
    queryOptions({
      queryKey: ['app', app, 'property', key, 'consequences'],
      queryFn: () => operations.getPropertyConsequences(app, key),
      staleTime: 0,
    }),
  events: (app: string, q: string | undefined, from?: string) =>
    walk(
      ['app', app, 'events', q ?? ''],
      (cursor, signal) => operations.listEventNames(app, { q, cursor, limit: pageSize, signal }),
      from,
    ),
  event: (app: string, name: string) =>
    queryOptions({ queryKey: ['app', app, 'event', name], queryFn: () => operations.getEventName(app, name) }),
  recentEvents: (app: string, name: string, limit: number) =>
    queryOptions({
      queryKey: ['app', app, 'event', name, 'recent', limit],
      queryFn: ({ signal }) => operations.listRecentEvents(app, name, { limit, signal }),
    }),
  /** Counts the devices of a send to all, with which the composer begins. */
  reach: (app: string) =>
    queryOptions({
      queryKey: ['app', app, 'reach'],
      queryFn: ({ signal }) => operations.countAudience(app, { audience: { all: true } }, signal),
      staleTime: 60_000,
    }),
  /** All fields that a filter can compare. An app has at most a thousand keys. */
  catalog: (app: string) =>
    queryOptions({
      queryKey: ['app', app, 'catalog'],
      queryFn: ({ signal }) => wholeList((cursor) => operations.listProperties(app, { cursor, limit: 200, signal })),
      staleTime: 60_000,
    }),
  /** The first names of events, for suggestions. */
  eventNames: (app: string) =>
    queryOptions({
      queryKey: ['app', app, 'event-names'],
      queryFn: async ({ signal }) => (await operations.listEventNames(app, { limit: 200, signal })).data,
      staleTime: 60_000,
    }),
  values: (app: string, field: string, q: string) =>
    queryOptions({
      queryKey: ['app', app, 'values', field, q],
      queryFn: ({ signal }) =>
        operations.suggestValues(app, { field, ...(q !== '' && { q: q.slice(0, 128) }) }, signal),
      staleTime: 30_000,
      retry: false,
    }),
  drafts: (app: string, q: string) =>
    queryOptions({
      queryKey: ['app', app, 'drafts', q],
      queryFn: ({ signal }) => operations.listDrafts(app, { limit: pageSize, signal, ...(q !== '' && { q }) }),
    }),
  templates: (app: string, q: string) =>
    queryOptions({
      queryKey: ['app', app, 'templates', q],
      queryFn: ({ signal }) => operations.listTemplates(app, { limit: pageSize, signal, ...(q !== '' && { q }) }),
    }),
  /** All templates, to choose from. An app has at most 500. */
  allTemplates: (app: string) =>
    queryOptions({
      queryKey: ['app', app, 'templates', 'all'],
      queryFn: ({ signal }) => wholeList((cursor) => operations.listTemplates(app, { cursor, limit: 200, signal })),
    }),
  template: (app: string, template: string) =>
    queryOptions({
      queryKey: ['app', app, 'template', template],
      queryFn: () => operations.getTemplate(app, template),
    }),
  templateVersion: (app: string, template: string, version: number) =>
    queryOptions({
      queryKey: ['app', app, 'template', template, 'version', version],
      queryFn: () => operations.getTemplateVersion(app, template, String(version)),
    }),
  testUsers: (app: string) =>
    queryOptions({ queryKey: ['app', app, 'test-users'], queryFn: () => operations.getTestUsers(app) }),
  pause: () => queryOptions({ queryKey: ['pause'], queryFn: operations.getPause, refetchInterval: 30_000 }),
};
