// What the service says of itself, as the API's description tells it: configuration, channels, health, this description.
import { z } from 'zod';
import { channelIds, platforms } from '../channels/channel.ts';
import { channels } from '../channels/channels.ts';
import { component } from '../platform/schemas.ts';
import type { Operation } from './operation-form.ts';

const appConfig = component(
  'AppConfig',
  z.strictObject({
    vapid_public_key: z.string().nullable().describe('Null when web push is not configured.'),
    identify_required: z.boolean(),
    identify_bound_required: z.boolean(),
    channels: z.array(z.enum(channelIds)).describe('Those the app has credentials for.'),
  }),
);
const channelList = component(
  'ChannelList',
  z.strictObject({
    channels: z.array(
      z.strictObject({
        id: z.enum(channelIds),
        platform: z.enum(platforms),
        name: z.string(),
        max_payload_bytes: z.int().min(1),
      }),
    ),
  }),
);
const health = component('Health', z.strictObject({ status: z.literal('ok') }));
const readiness = component('Readiness', z.strictObject({ status: z.enum(['ready', 'not ready']) }));
export const serviceOperations: readonly Operation[] = [
  {
    id: 'getConfig',
    method: 'get',
    path: '/v1/config',
    tag: 'Service',
    summary: 'What an app needs to know before it registers a device',
    access: 'client-or-server',
    answers: {
      200: {
        description: 'The configuration of the app.',
        schema: appConfig,
        example: {
          vapid_public_key: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
          identify_required: false,
          identify_bound_required: false,
          channels: ['webpush'],
        },
      },
    },
  },
  {
    id: 'listChannels',
    method: 'get',
    path: '/v1/channels',
    tag: 'Service',
    summary: 'The channels there are',
    access: 'public',
    refusals: ['429 rate', 503],
    answers: {
      200: {
        description: 'All of them; not a paged list.',
        schema: channelList,
        example: {
          channels: channels.map(({ payloadBytesMax: max_payload_bytes, ...of }) => ({ ...of, max_payload_bytes })),
        },
      },
    },
  },
  {
    id: 'getHealth',
    method: 'get',
    path: '/healthz',
    tag: 'Service',
    summary: 'Does the process run?',
    access: 'public',
    answers: { 200: { description: 'It does.', schema: health, example: { status: 'ok' } } },
  },
  {
    id: 'getReadiness',
    method: 'get',
    path: '/readyz',
    tag: 'Service',
    summary: 'May it have callers?',
    access: 'public',
    answers: {
      200: {
        description: 'Database, schema and worker are in order.',
        schema: readiness,
        example: { status: 'ready' },
      },
      503: {
        description: 'One of them is not, or the process is about to stop.',
        schema: readiness,
        example: { status: 'not ready' },
      },
    },
  },
];
