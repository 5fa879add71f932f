// The areas Properties, Events and Reports, as far as they read: catalogs and what came of messages.
import { z } from 'zod';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { type CataloguedEvent, findCataloguedEvent, listEventCatalog } from '../events/event-catalog.ts';
import { eventPropertyTypes } from '../events/known-properties.ts';
import type { TimeZones } from '../ground/time-zones.ts';
import { notFound } from '../http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, count, instant, pageFields } from '../http/schemas.ts';
import type { Turns } from '../http/turns.ts';
import { propertyRoutes } from '../properties/routes.ts';
import { reportEngagement } from '../reports/engagement.ts';
import { rangeQuery, reportQuery } from '../reports/report-request.ts';
import { reportRoutes } from '../reports/routes.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { appParam } from './schemas.ts';

export interface CatalogAreaDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly timeZones: TimeZones;
  readonly retentionDays: number;
}

const event = component(
  'CataloguedEvent',
  z.strictObject({
    name: z.string(),
    count,
    last_seen_at: instant,
    properties: z
      .array(
        z.strictObject({
          key: z.string(),
          type: z.enum(eventPropertyTypes),
          samples: z.array(z.union([z.string(), z.number(), z.boolean()])),
        }),
      )
      .describe('A key with values of several types has one entry for each.'),
  }),
);
const exampleEvent = {
  name: 'purchase',
  count: 420,
  last_seen_at: '2026-11-21T10:15:30.123Z',
  properties: [{ key: 'amount', type: 'number', samples: [79.9, 5] }],
};
const day = component(
  'DayFigures',
  z.strictObject({
    ...{ from: instant, to: instant, accepted: count, sent: count, failed: count, skipped: count },
    ...{ displayed: count, clicked: count },
  }),
);

const ofEvents = routesWith<CatalogAreaDeps, AppCaller>('Events');
const ofReports = routesWith<CatalogAreaDeps, AppCaller>('Reports');

export const catalogAreaRoutes = [
  ...lendRoutes(propertyRoutes, { listProperties: 'viewer' }),
  ofEvents({
    id: 'listEventNames',
    method: 'GET',
    path: '/console/api/apps/:app/events',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'List the names of events with their properties, by name',
    params: appParam,
    query: z.strictObject(pageQuery(200)),
    answers: {
      200: {
        description: 'A page of names.',
        schema: component('EventNamePage', z.strictObject(pageFields(event))),
        example: { data: [exampleEvent], has_more: false, next_cursor: null },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query: { limit, cursor } }) => {
    const scope = [app.id, 'console events'];
    const [after = null] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const rows = await listEventCatalog(sql, app.id, after === null ? null : String(after), limit + 1);
    return toPage(rows, limit, presentEvent, (last) => cursors.write([last.name], scope));
  }),
  ofEvents({
    id: 'getEventName',
    method: 'GET',
    path: '/console/api/apps/:app/events/:name',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'Read one name of events with its properties',
    params: { ...appParam, name: { description: 'The name, percent-encoded.', example: 'purchase' } },
    answers: { 200: { description: 'The name.', schema: event, example: exampleEvent } },
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params: { name } }) => {
    const found = await findCataloguedEvent(sql, app.id, name);
    if (!found) throw notFound(`No event ${name.slice(0, 80)} in this app.`);
    return presentEvent(found);
  }),
  ...lendRoutes(reportRoutes, {
    reportRevenue: 'viewer',
    reportEngagement: 'viewer',
    reportDevices: 'viewer',
    reportEvents: 'viewer',
  }),
  ofReports({
    id: 'reportDelivery',
    method: 'GET',
    path: '/console/api/apps/:app/reports/delivery',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'What became of the messages that began on each day, or in each week or month',
    params: appParam,
    ...reportQuery(rangeQuery),
    answers: {
      200: {
        description: 'The days of the range, oldest first.',
        schema: component('DeliveryReport', z.strictObject({ days: z.array(day) })),
        example: {
          days: [
            {
              ...{ from: '2026-11-01T00:00:00.000Z', to: '2026-11-02T00:00:00.000Z', accepted: 3, sent: 2, failed: 1 },
              ...{ skipped: 0, displayed: 2, clicked: 1 },
            },
          ],
        },
      },
    },
    refusals: ['not_found'],
    within: ({ countTurns }, { caller, aside }, work) => aside(() => countTurns.run(caller.app.id, work)),
  }).handle(async ({ countSql: sql, clock }, { caller: { app }, query: { range, zone, group } }) => {
    const asked = { appId: app.id, range, zone, group: group ?? ('day' as const), after: null, limit: 1 };
    const { periods } = await reportEngagement({ sql, clock }, asked);
    const days = periods.map(({ fromMs, toMs, accepted, sent, failed, skipped, displayed, clicked }) => ({
      ...{ from: new Date(fromMs), to: new Date(toMs), accepted, sent, failed, skipped, displayed, clicked },
    }));
    return { days };
  }),
];

function presentEvent({ name, count, lastAt, properties }: CataloguedEvent) {
  return { name, count, last_seen_at: lastAt, properties };
}
