// Devices as the API's description tells them.
import { z } from 'zod';
import { channelIds, environments, platforms } from '../channels/channel.ts';
import { deviceStatuses, registrationSchema } from '../devices/device.ts';
import { deviceListQuery } from '../devices/routes.ts';
import { noExceptions } from '../platform/address-guard.ts';
import { component, deviceId, instant, pageFields } from '../platform/schemas.ts';
import { propertyConflict, propertyValues } from '../properties/property.ts';
import { invalidReason } from './delivery-operations.ts';
import type { Operation } from './operation-form.ts';

// Only its shape is asked for here: nothing is ever parsed with it, so any rules will do.
const deviceRequest = component(
  'DeviceRequest',
  registrationSchema(undefined, {
    endpointRules: { pushHosts: [], exceptions: noExceptions, ownHosts: [] },
    timeZones: { find: (name) => name, names: () => [] },
  }),
);

const text = z.string().nullable();
const commonFields = {
  id: deviceId,
  platform: z.enum(platforms),
  channel: z.enum(channelIds),
  locale: text,
  timezone: text,
  app_version: text,
  sdk: text,
  os: text,
  os_version: text,
  model: text,
  environment: z.enum(environments).nullable(),
  created_at: instant,
  last_seen_at: instant,
};
const registeredDevice = component(
  'RegisteredDevice',
  z.strictObject({
    ...commonFields,
    status: z.literal('active'),
    external_id: text.describe('Null to a client key.'),
    properties: propertyValues.nullable().describe("The device's own. Null to a client key."),
    property_conflicts: z.array(propertyConflict),
    created: z.boolean(),
  }),
);
const device = component(
  'Device',
  z.strictObject({
    ...commonFields,
    token_hint: text.describe('The last characters of the token; null when it was erased.'),
    status: z.enum(deviceStatuses),
    status_reason: invalidReason.nullable(),
    external_id: text,
    properties: propertyValues.describe("The device's own."),
  }),
);
const devicePage = component('DevicePage', z.strictObject(pageFields(device)));
const optedOut = component('OptedOutDevice', z.strictObject({ id: deviceId, status: z.literal('unsubscribed') }));

const id = 'dev_4r4tgBwaHmRyQNukgzmqsi';
const exampleDevice = {
  id,
  platform: 'web',
  channel: 'webpush',
  locale: 'de-DE',
  timezone: 'Europe/Berlin',
  app_version: '4.2.0',
  sdk: null,
  os: 'Windows',
  os_version: null,
  model: null,
  environment: null,
  created_at: '2026-11-21T10:15:30.123Z',
  last_seen_at: '2026-11-21T10:15:30.123Z',
  properties: { topic: 'sport' },
};

export const deviceOperations: readonly Operation[] = [
  {
    id: 'registerDevice',
    method: 'post',
    path: '/v1/devices',
    tag: 'Devices',
    summary: 'Register a device, or find it again',
    description:
      'The same token is the same device. A field that is absent is kept, null clears it. `environment` is for iOS only. ' +
      '`device_id` puts this token in place of the one that device has. A client key may use only properties that the catalog has.',
    access: 'client-or-server',
    body: {
      schema: deviceRequest,
      example: {
        platform: 'web',
        token: {
          endpoint: 'https://fcm.googleapis.com/fcm/send/abc',
          keys: {
            p256dh: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
            auth: 'BTBZMqHH6r4Tts7J_aSIgg',
          },
        },
        locale: 'de-DE',
        timezone: 'Europe/Berlin',
        app_version: '4.2.0',
        os: 'Windows',
        properties: { topic: 'sport' },
      },
    },
    answers: {
      200: {
        description: 'The device, without its token.',
        schema: registeredDevice,
        example: { ...exampleDevice, status: 'active', external_id: null, property_conflicts: [], created: true },
      },
    },
    refusals: [404],
  },
  {
    id: 'listDevices',
    method: 'get',
    path: '/v1/devices',
    tag: 'Devices',
    summary: 'List devices, newest first',
    access: 'server',
    query: deviceListQuery,
    answers: {
      200: {
        description: 'A page of devices.',
        schema: devicePage,
        example: {
          data: [
            { ...exampleDevice, token_hint: '…nd/abc', status: 'active', status_reason: null, external_id: 'u-42' },
          ],
          has_more: true,
          next_cursor: 'eyJ2IjoxfQ.m3Zk',
        },
      },
    },
  },
  {
    id: 'optOutDevice',
    method: 'delete',
    path: '/v1/devices/{id}',
    tag: 'Devices',
    summary: 'Opt a device out',
    description: 'Nothing is sent to it, it belongs to nobody, its token is erased. Repeating it changes nothing.',
    access: 'client-or-server',
    pathParameters: { id: { description: 'The id of a device.', example: id } },
    answers: {
      200: { description: 'Opted out.', schema: optedOut, example: { id, status: 'unsubscribed' } },
    },
    refusals: [404],
  },
];
