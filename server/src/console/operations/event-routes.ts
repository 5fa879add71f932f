// The area Events: the catalog of names, built from what was tracked, and the newest events of a
// name, for people who check an integration.

import { z } from 'zod';
import { notFound } from '../../ground/http/api-error.ts';
import { pageQuery, toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, deviceId, instant, pageComponent } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { findEventName } from '../../insight/events/catalog-queries.ts';
import {
  type CataloguedEvent,
  countDays,
  type DayCount,
  daysShown,
  findCataloguedEvent,
  listEventCatalog,
} from '../../insight/events/event-catalog.ts';
import { eventPropertyTypes } from '../../insight/events/known-properties.ts';
import { listRecentEvents, type RecentEvent } from '../../insight/events/recent-queries.ts';
import { listErasedSubjects } from '../../people/users/erasure-queries.ts';
import { routesOfApp } from './area.ts';
import { hideable } from './hide-values.ts';
import { searchedListQuery } from './list.ts';

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
  {
    name: 'purchase',
    count: 420,
    last_seen_at: '2026-11-21T10:15:30.123Z',
    properties: [{ key: 'amount', type: 'number', samples: [79.9, 5] }],
    days: Array.from({ length: daysShown }, (_, i) => ({
      day: `2026-11-${String(8 + i).padStart(2, '0')}`,
      count: 30,
    })),
  },
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
  {
    id: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f',
    at: '2026-11-21T10:15:30.123Z',
    external_id: 'u-42',
    device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    properties: { amount: 79.9, currency: 'EUR' },
  },
);

const route = routesOfApp<'name'>('Events', {
  params: { name: { description: 'The name, percent-encoded.', example: 'purchase' } },
});

export const eventAreaRoutes = [
  route('listEventNames', 'GET /events', {
    least: 'viewer',
    summary: 'List the names of events with their properties, by name',
    query: searchedListQuery('The beginning of a name.'),
    answers: ok('A page of names.', pageComponent('EventNamePage', event)),
  }).handle(async ({ sql, clock, cursors }, { caller: { app }, query: { limit, cursor, q: search = null } }) => {
    const scope = [app.id, 'console events', search];
    const [after = null] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const rows = await listEventCatalog(sql, app.id, after === null ? null : String(after), limit + 1, search);
    const names = rows.map(({ name }) => name);
    const daysOf = await countDays({ sql, clock }, app.id, names);
    const present = (row: CataloguedEvent) => presentEvent(row, daysOf(row.name));
    return toPage(rows, limit, present, (last) => cursors.write([last.name], scope));
  }),
  route('getEventName', 'GET /events/:name', {
    least: 'viewer',
    summary: 'Read one name of events with its properties',
    answers: ok('The name.', event),
  }).handle(async ({ sql, clock }, { caller: { app }, params: { name } }) => {
    const found = await findCataloguedEvent(sql, app.id, name);
    if (!found) throw noSuchName(name);
    const daysOf = await countDays({ sql, clock }, app.id, [name]);
    return presentEvent(found, daysOf(name));
  }),
  route('listRecentEvents', 'GET /events/:name/recent', {
    least: 'member',
    summary: 'List the events of a name, the latest first',
    query: z.strictObject(pageQuery(200)),
    answers: ok('A page of events.', pageComponent('RecentEventPage', recentEvent)),
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
