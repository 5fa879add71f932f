// The area Live: feeds of server-sent events. Each begins with the whole state, so a reader that
// connects again, to any process, needs nothing of what it read before.

import { z } from 'zod';
import { component, deviceId, exampleOf, idSchema, instant, text } from '../../ground/http/schemas.ts';
import { nameLengthMax } from '../../insight/events/event.ts';
import { listedMessage } from '../../sending/messages/present-message.ts';
import { routesOfApp } from './area.ts';
import { credential, present as presentChannel } from './channel-routes.ts';
import { beginLive } from './live-source.ts';
import { beginTail } from './tail-source.ts';
import { presentState as presentWebhook, webhookState } from './webhook-routes.ts';

const paused = z.boolean().describe('Sends and webhooks of the service wait.');
const liveEvent = component(
  'LiveEvent',
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('state'),
      messages: z.array(listedMessage).describe('The last ones and those that are being sent, newest first.'),
      channels: z.array(credential).describe('Newest first, former ones too.'),
      webhooks: z.array(webhookState).describe('Oldest first.'),
      paused,
    }),
    z.strictObject({ type: z.literal('message'), message: listedMessage }),
    z.strictObject({ type: z.literal('channel'), channel: credential }),
    z.strictObject({ type: z.literal('webhook'), webhook: webhookState }),
    z.strictObject({ type: z.literal('webhook_removed'), id: component('RemovedWebhookId', idSchema('whk')) }),
    z.strictObject({ type: z.literal('pause'), paused }),
  ]),
);
const arrivedEvent = component(
  'ArrivedEvent',
  z.strictObject({
    id: z.string(),
    name: z.string(),
    occurred_at: instant,
    device_id: deviceId.nullable(),
    external_id: z.string().nullable().describe('As the caller wrote it.'),
    properties: z.record(z.string(), z.unknown()),
  }),
  {
    id: '01930000-0000-7000-8000-000000000001',
    name: 'purchase',
    occurred_at: '2026-11-21T10:15:30.123Z',
    device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    external_id: null,
    properties: { amount: 79.9, currency: 'EUR' },
  },
);
const events = z.array(arrivedEvent).describe('The last one received comes first.');
const tailEvent = component(
  'TailEvent',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('recent'), events }),
    z.strictObject({ type: z.literal('arrived'), events }),
  ]),
);
const manners =
  'The data of each event is one JSON document. The first one is the whole state, after each connection, so `Last-Event-ID` is not needed. A comment comes every 15 s. The feed ends with the session or token, when its role is too low, and with the app; a reader that does not keep up is dropped. A session or token has at most 10 feeds.';

const route = routesOfApp('Live');

export const liveAreaRoutes = [
  route('followApp', 'GET /live', {
    least: 'viewer',
    summary: 'Follow the figures of messages and the states of channels and webhooks',
    description: `${manners} At most one event a second and object.`,
    answers: {
      200: {
        description: 'Server-sent events.',
        isStream: true,
        schema: liveEvent,
        example: {
          type: 'state',
          messages: [exampleOf(listedMessage)],
          channels: [exampleOf(credential)],
          webhooks: [exampleOf(webhookState)],
          paused: false,
        },
      },
    },
  }).handle(async ({ sql, feeds, isPaused }, { caller }) =>
    feeds.open(caller, 'viewer', 'live', () =>
      beginLive({ sql, isPaused, presentChannel, presentWebhook }, caller.app.id),
    ),
  ),
  route('followEvents', 'GET /live/events', {
    least: 'member',
    summary: 'Follow the events of an app as they arrive',
    description: `${manners} Once a second the feed reads the 50 latest events of the name, by their own time; without a name, those of each of the 20 names with the latest events.`,
    query: z.strictObject({ name: text(nameLengthMax, 1).optional() }),
    answers: {
      200: {
        description: 'Server-sent events: the last 50 of a week, then each as it arrives.',
        isStream: true,
        schema: tailEvent,
        example: { type: 'recent', events: [exampleOf(arrivedEvent)] },
      },
    },
  }).handle(async ({ sql, clock, feeds }, { caller, query: { name = null } }) =>
    feeds.open(caller, 'member', `events ${name ?? ''}`, () => beginTail({ sql, clock }, caller.app.id, name)),
  ),
];
