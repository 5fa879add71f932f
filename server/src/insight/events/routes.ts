// POST /v1/events. Requests are read by hand (`event.ts`): a test holds their schema to that.
import { z } from 'zod';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, text } from '../../ground/http/schemas.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { propertiesByClientsMax } from './catalog-queries.ts';
import { clientDaysMax } from './check-client-events.ts';
import {
  eventsMax,
  externalIdLengthMax,
  idLengthMax,
  nameLengthMax,
  propertiesMax,
  propertyKeyLengthMax,
} from './event.ts';
import { namesByClientsMax, namesMax, namesWithClientsMax } from './event-names.ts';
import { pathOfEvent, readEvents } from './read-events.ts';
import type { Track } from './track-events.ts';

export interface EventRouteDeps {
  readonly trackEvents: Track;
}

const trackedEvent = component(
  'TrackedEvent',
  z.strictObject({
    name: text(nameLengthMax, 1).describe(
      '`install`, `session_start` and `purchase` are reserved: they feed reports. No control characters.',
    ),
    properties: z
      .unknown()
      .meta({
        type: ['object', 'null'],
        maxProperties: propertiesMax,
        propertyNames: { maxLength: propertyKeyLengthMax },
        additionalProperties: true,
        description:
          'Any JSON values, nested at most 5 deep, at most 8 KiB. A `purchase` needs `amount`, a number from 0 to 1,000,000,000,000, ' +
          'and `currency`, 3 letters.',
      })
      .optional(),
    device_id: z.string().nullish().describe('Needed where a client key gives an `id`.'),
    external_id: text(externalIdLengthMax, 1).nullish().describe('Server keys only. The user need not exist yet.'),
    id: text(idLengthMax)
      .regex(/^[\x21-\x7e]+$/)
      .nullish()
      .describe('An id counts once: per app by server key, per device by client key.'),
    occurred_at: z
      .string()
      .nullish()
      .meta({
        format: 'date-time',
        description: `Default: now. A later time is stored as now. By client key at most ${clientDaysMax} days back.`,
      }),
  }),
);
const trackedEvents = component(
  'TrackedEvents',
  z.strictObject({ events: z.array(trackedEvent).min(1).max(eventsMax) }),
);
const trackRequest = component('TrackRequest', z.union([trackedEvent, trackedEvents]), {
  events: [
    {
      id: 'order-1001',
      name: 'purchase',
      device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
      properties: { amount: 79.9, currency: 'EUR' },
    },
    { name: 'article_read', device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi', properties: { section: 'news' } },
  ],
});
const tracked = component('Tracked', z.strictObject({ accepted: count, duplicates: count }), {
  accepted: 2,
  duplicates: 0,
});

const route = routesWith<EventRouteDeps, Caller>({ tag: 'Events', access: 'client-or-server' });

export const eventRoutes = [
  route('trackEvents', 'POST /v1/events', {
    bodyBytesMax: 1024 * 1024,
    clientBodyBytesMax: 256 * 1024,
    summary: 'Track what people did: one event, or up to 50',
    description:
      'All events are stored, or none. An event belongs to its `external_id`, else to the user of its device. What a device did before ' +
      'a log-in counts from then on for the user who logged in. ' +
      `A new name is \`too_big\` where the app has ${namesMax} already. Client keys add at most ${namesByClientsMax} names, none where ` +
      `the app has ${namesWithClientsMax}, and at most ${propertiesByClientsMax} keys of \`properties\` to a name; more is \`too_big\` ` +
      'with `limit`. An app may refuse new names or purchases from client keys: the answer is 403 with the `path` of the event.',
    body: trackRequest,
    readBody: (given, _deps, { scope }) => ({
      events: readEvents(given, scope === 'server'),
      pathOf: (index: number) => pathOfEvent(given, index),
    }),
    answers: ok('Stored.', tracked),
    refusals: ['not_found'],
  }).handle(async ({ trackEvents }, { caller, body }) => {
    const { appId, scope, clientEvents } = caller;
    const { accepted, duplicates } = await trackEvents({
      appId,
      isServer: scope === 'server',
      clientEvents,
      ...body,
    });
    return { accepted, duplicates };
  }),
];
