// Users as the API's description tells them.
import { z } from 'zod';
import { component, count, deviceId, instant, userId } from '../platform/schemas.ts';
import { propertyConflict, propertyValues } from '../properties/property.ts';
import { devicesShownMax } from '../users/find-user.ts';
import { identifyRequestSchema, userRequestSchema } from '../users/user.ts';
import type { Operation } from './operation-form.ts';

// Only its shape is asked for here: nothing is ever parsed with it, so any list of zones will do.
const userRequest = component('UserRequest', userRequestSchema({ find: (name) => name, names: () => [] }));

const user = component(
  'User',
  z.strictObject({
    id: userId,
    external_id: z.string(),
    first_name: z.string().nullable(),
    country: z.string().nullable(),
    language: z.string().nullable(),
    timezone: z.string().nullable(),
    properties: propertyValues,
    devices: z.array(deviceId).max(devicesShownMax).describe('The newest active ones.'),
    created_at: instant,
    updated_at: instant,
  }),
);
const upsertedUser = component(
  'UpsertedUser',
  user.extend({ created: z.boolean(), property_conflicts: z.array(propertyConflict) }),
);
const erasedUser = component(
  'ErasedUser',
  z.strictObject({ external_id: z.string(), deleted: z.literal(true), devices_removed: count }),
);

const identifyRequest = component('IdentifyRequest', identifyRequestSchema);
const identifiedDevice = component(
  'IdentifiedDevice',
  z.strictObject({
    device_id: deviceId,
    external_id: z.string().nullable(),
    user_id: userId.nullable(),
    previous_external_id: z
      .string()
      .nullable()
      .describe('Whose it was until now, where that is another. A client key always reads null.'),
    identified_at: instant.nullable(),
  }),
);

const exampleUser = {
  id: 'usr_0nNYfaOIjuoKGvAhyQIZo9',
  external_id: 'u-42',
  first_name: 'Ada',
  country: 'DE',
  language: 'de',
  timezone: 'Europe/Berlin',
  properties: { plan: 'pro', age: 30 },
  devices: ['dev_4r4tgBwaHmRyQNukgzmqsi'],
  created_at: '2026-10-01T08:00:00.000Z',
  updated_at: '2026-11-21T10:15:30.123Z',
};
const path = '/v1/users/{external_id}';
const pathParameters = { external_id: { description: 'Percent-encoded UTF-8.', example: 'u-42' } };

export const userOperations: readonly Operation[] = [
  {
    id: 'upsertUser',
    method: 'post',
    path: '/v1/users',
    tag: 'Users',
    summary: 'Create a user, or update the one with this external_id',
    description: 'A field that is absent is kept, null clears it. `device_id` gives the user that device.',
    access: 'server',
    body: {
      schema: userRequest,
      example: {
        external_id: 'u-42',
        first_name: 'Ada',
        country: 'de',
        language: 'de',
        timezone: 'Europe/Berlin',
        properties: { plan: 'pro', age: '31', trial: null },
        device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
      },
    },
    answers: {
      200: {
        description: 'The user as it is now.',
        schema: upsertedUser,
        example: {
          ...exampleUser,
          created: false,
          property_conflicts: [{ key: 'age', expected: 'number', received: 'string', value: '31', kept: 30 }],
        },
      },
    },
    refusals: [404],
  },
  {
    id: 'getUser',
    method: 'get',
    path,
    tag: 'Users',
    summary: 'Read a user',
    access: 'server',
    pathParameters,
    answers: { 200: { description: 'The user.', schema: user, example: exampleUser } },
    refusals: [404],
  },
  {
    id: 'deleteUser',
    method: 'delete',
    path,
    tag: 'Users',
    summary: 'Erase a user and opt out its devices',
    access: 'server',
    pathParameters,
    answers: {
      200: {
        description: 'Erased.',
        schema: erasedUser,
        example: { external_id: 'u-42', deleted: true, devices_removed: 2 },
      },
    },
    refusals: [404],
  },
  {
    id: 'identifyDevice',
    method: 'post',
    path: '/v1/identify',
    tag: 'Users',
    summary: "Say whose a device is, or that it is nobody's any more",
    description:
      'The last to say so wins. An `external_id` that is not known yet gets an empty profile; null is a log-out. Where `/v1/config` says `identify_required`, `user_hash` must prove it, for a server key too, unless `external_id` is null.',
    access: 'client-or-server',
    body: {
      schema: identifyRequest,
      example: {
        device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
        external_id: 'u-42',
        user_hash: '9da8dee619d79dc1ea67f5732ed8a5ad81418744f58ee1afd7eee52f2c51329c',
      },
    },
    answers: {
      200: {
        description: 'Whose it is now.',
        schema: identifiedDevice,
        example: {
          device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
          external_id: 'u-42',
          user_id: 'usr_0nNYfaOIjuoKGvAhyQIZo9',
          previous_external_id: null,
          identified_at: '2026-11-21T10:15:30.123Z',
        },
      },
    },
    refusals: [404],
  },
];
