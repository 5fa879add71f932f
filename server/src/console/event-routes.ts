// The area Events: the catalog of names, built from what was tracked, and the newest events of a
// name, for people who check an integration.
import { z } from 'zod';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { findEventName } from '../events/catalog-queries.ts';
import {
  type CataloguedEvent,
  countDays,
  type DayCount,
  daysShown,
  findCataloguedEvent,
  listEventCatalog,
} from '../events/event-catalog.ts';
import { eventPropertyTypes } from '../events/known-properties.ts';
import { listRecentEvents, type RecentEvent } from '../events/recent-queries.ts';
import { encodeId } from '../ground/ids.ts';
import { notFound } from '../http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, count, deviceId, instant, pageFields } from '../http/schemas.ts';
import { listErasedSubjects } from '../users/erasure-queries.ts';
import type { AppCaller } from './caller.ts';
import { hideable } from './hide-values.ts';
import { searchedListQuery } from './list.ts';
import { appParam, lastPage } from './schemas.ts';

export interface EventAreaDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
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
          samples: hideable('event_properties.samples', z.array(z.union([z.string(), z.number(), z.boolean()]))),
        }),
      )
      .describe('A key with values of several types has one entry for each.'),
    days: z
      .array(z.strictObject({ day: z.string(), count }))
      .length(daysShown)
      .describe('Events by day in UTC, oldest first; the last day is today.'),
  }),
);
const recentEvent = component(
  'RecentEvent',
  z.strictObject({
    id: z.string(),
    at: instant,
    external_id: z.string().nullable(),
    device_id: deviceId.nullable(),
    properties: z.record(z.string(), z.unknown()),
  }),
);

const exampleEvent = {
  name: 'purchase',
  count: 420,
  last_seen_at: '2026-11-21T10:15:30.123Z',
  properties: [{ key: 'amount', type: 'number', samples: [79.9, 5] }],
  days: Array.from({ length: daysShown }, (_, i) => ({ day: `2026-11-${String(8 + i).padStart(2, '0')}`, count: 30 })),
};
const exampleRecent = {
  id: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f',
  at: '2026-11-21T10:15:30.123Z',
  external_id: 'u-42',
  device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
  properties: { amount: 79.9, currency: 'EUR' },
};

const route = routesWith<EventAreaDeps, AppCaller>('Events');
const params = { ...appParam, name: { description: 'The name, percent-encoded.', example: 'purchase' } };

export const eventAreaRoutes = [
  route({
    id: 'listEventNames',
    method: 'GET',
    path: '/console/api/apps/:app/events',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'List the names of events with their properties, by name',
    params: appParam,
    query: searchedListQuery('The beginning of a name.'),
    answers: {
      200: {
        description: 'A page of names.',
        schema: component('EventNamePage', z.strictObject(pageFields(event))),
        example: { data: [exampleEvent], ...lastPage },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, clock, cursors }, { caller: { app }, query: { limit, cursor, q: search = null } }) => {
    const scope = [app.id, 'console events', search];
    const [after = null] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const rows = await listEventCatalog(sql, app.id, after === null ? null : String(after), limit + 1, search);
    const names = rows.map(({ name }) => name);
    const daysOf = await countDays({ sql, clock }, app.id, names);
    const present = (row: CataloguedEvent) => presentEvent(row, daysOf(row.name));
    return toPage(rows, limit, present, (last) => cursors.write([last.name], scope));
  }),
  route({
    id: 'getEventName',
    method: 'GET',
    path: '/console/api/apps/:app/events/:name',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'Read one name of events with its properties',
    params,
    answers: { 200: { description: 'The name.', schema: event, example: exampleEvent } },
    refusals: ['not_found'],
  }).handle(async ({ sql, clock }, { caller: { app }, params: { name } }) => {
    const found = await findCataloguedEvent(sql, app.id, name);
    if (!found) throw noSuchName(name);
    const daysOf = await countDays({ sql, clock }, app.id, [name]);
    return presentEvent(found, daysOf(name));
  }),
  route({
    id: 'listRecentEvents',
    method: 'GET',
    path: '/console/api/apps/:app/events/:name/recent',
    access: 'session-or-token',
    least: 'member',
    summary: 'List the events of a name, the latest first',
    params,
    query: z.strictObject(pageQuery(200)),
    answers: {
      200: {
        description: 'A page of events.',
        schema: component('RecentEventPage', z.strictObject(pageFields(recentEvent))),
        example: { data: [exampleRecent], ...lastPage },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, params: { name }, query: { limit, cursor } }) => {
    const scope = [app.id, 'console recent events', name];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    if (!(await findEventName(sql, app.id, name))) throw noSuchName(name);
    const rows = await listRecentEvents(sql, app.id, name, {
      before: position ? { at: String(position[0]), id: String(position[1]) } : null,
      erased: await listErasedSubjects(sql, app.id),
      limit: limit + 1,
    });
    return toPage(rows, limit, presentRecent, (last) => cursors.write([last.atText, last.id], scope));
  }),
];

function noSuchName(name: string) {
  return notFound(`No event ${name.slice(0, 80)} in this app.`);
}

function presentEvent({ name, count: events, lastAt, properties }: CataloguedEvent, days: readonly DayCount[]) {
  return { name, count: events, last_seen_at: lastAt, properties, days };
}

function presentRecent({ id, at, externalId, deviceId: device, properties }: RecentEvent) {
  return { id, at, external_id: externalId, device_id: device && encodeId('dev', device), properties };
}
