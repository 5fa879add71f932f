// POST and GET /v1/devices, DELETE /v1/devices/{id}.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { namingMissing, noSuch } from '../../ground/http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, deviceId, exampleOf, instant, pageFields } from '../../ground/http/schemas.ts';
import { noExceptions } from '../../ground/outbound/address-guard.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { anyTimeZones } from '../../ground/values/time-zones.ts';
import { channelIds, channelOfPlatform, environments, platforms } from '../../sending/channels/channel.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import type { AddressLimits } from '../../teams/quotas/address-limit.ts';
import { presentConflict, presentProperties, propertyConflict, propertyValues } from '../properties/property.ts';
import {
  deviceStatuses,
  type HealedReason,
  ignorableFields,
  invalidReason,
  type Registration,
  readDeviceId,
  registrationSchema,
} from './device.ts';
import { listDevicePage, presentFacts, presentListed } from './list-devices.ts';
import { optOutDevice } from './opt-out-devices.ts';
import type { RegisteredDevice } from './register-device.ts';
import type { Register } from './register-together.ts';

export interface DeviceRouteDeps {
  /** The pool of reads, so that pages delay no registration. */
  readonly sql: Sql;
  /** For short transactions. */
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly addressLimits: AddressLimits;
  /** Reads the body of a registration, or throws the 400. */
  readonly parseRegistration: (body: unknown, byClient: boolean) => Registration;
  readonly register: Register;
  /**
   * Called after a refresh by client key without a proof, which became a registration of its own.
   */
  readonly noteUnprovenRefresh: () => void;
  /** Called after the registration of a subscription that the client renewed on its own. */
  readonly noteHealed: (reason: HealedReason) => void;
}

const deviceRequest = component(
  'DeviceRequest',
  registrationSchema(undefined, {
    endpointRules: { pushHosts: [], exceptions: noExceptions, ownHosts: [] },
    timeZones: anyTimeZones,
  }),
  {
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
const id = 'dev_4r4tgBwaHmRyQNukgzmqsi';
const commonExample = {
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
} as const;
const registeredDevice = component(
  'RegisteredDevice',
  z.strictObject({
    ...commonFields,
    status: z.literal('active'),
    external_id: text.describe('Null to a client key.'),
    properties: propertyValues.nullable().describe('The properties of the device itself. Null to a client key.'),
    property_conflicts: z.array(propertyConflict),
    created: z.boolean(),
    ignored: z
      .array(z.enum(ignorableFields))
      .optional()
      .describe('Only to a client key, and only when not empty: fields whose values cannot be used. They are null.'),
  }),
  { ...commonExample, status: 'active', external_id: null, property_conflicts: [], created: true },
);
export const device = component(
  'Device',
  z.strictObject({
    ...commonFields,
    token_hint: text.describe('The last characters of the token; null when it was erased.'),
    status: z.enum(deviceStatuses),
    status_reason: invalidReason.nullable(),
    external_id: text,
    properties: propertyValues.describe('The properties of the device itself.'),
  }),
  { ...commonExample, token_hint: '…nd/abc', status: 'active', status_reason: null, external_id: 'u-42' },
);
export const devicePage = component('DevicePage', z.strictObject(pageFields(device)), {
  data: [exampleOf(device)],
  has_more: true,
  next_cursor: 'eyJ2IjoxfQ.m3Zk',
});
const optedOut = component('OptedOutDevice', z.strictObject({ id: deviceId, status: z.literal('unsubscribed') }), {
  id,
  status: 'unsubscribed',
});

const route = routesWith<DeviceRouteDeps, Caller>({ tag: 'Devices', access: 'client-or-server' });
const ofOne = routesWith<Pick<DeviceRouteDeps, 'txSql' | 'clock'>, Caller>({
  tag: 'Devices',
  access: 'client-or-server',
});

export const optOutRoutes = [
  ofOne('optOutDevice', 'DELETE /v1/devices/:id', {
    summary: 'Opt a device out',
    description:
      'The device gets no more pushes, belongs to nobody and loses its token. Repeating the request changes nothing.',
    params: { id: { description: 'The id of a device.', example: id } },
    answers: ok('Opted out.', optedOut),
  }).handle(async ({ txSql, clock }, { caller, params }) => {
    const id = readDeviceId(params.id);
    if (!(await optOutDevice({ sql: txSql, clock, by: caller.by }, caller.appId, id)))
      throw noSuch('device', params.id);
    return { id: encodeId('dev', id), status: 'unsubscribed' };
  }),
];

export const deviceRoutes = [
  route('registerDevice', 'POST /v1/devices', {
    summary: 'Register a device, or find it again',
    description:
      'The same token is the same device. A field that is absent is kept, null clears it. `environment` is for iOS only. ' +
      '`device_id` replaces the token of that device with this one. A client key may use only properties that the catalog has.',
    body: deviceRequest,
    readBody: (given, { parseRegistration }, caller) => parseRegistration(given, caller.scope === 'client'),
    answers: ok('The device, without its token.', registeredDevice),
    refusals: ['not_found'],
  }).handle(async (deps, { caller, body: given, address }) => {
    const isServer = caller.scope === 'server';
    const registered = await namingMissing(
      'device',
      given.device_id,
      deps.register({
        appId: caller.appId,
        platform: given.platform,
        token: given.token,
        facts: {
          locale: given.locale,
          timezone: given.timezone,
          appVersion: given.app_version,
          sdk: given.sdk,
          os: given.os,
          osVersion: given.os_version,
          model: given.model,
        },
        environment: given.environment,
        properties: given.properties,
        byClient: !isServer,
        refreshes:
          typeof given.device_id === 'string'
            ? { id: readDeviceId(given.device_id), proof: given.previous_token, needsProof: !isServer }
            : null,
        permit: isServer ? null : deps.addressLimits.permitNewDevice(address),
      }),
    );
    if (registered.lacksProof) deps.noteUnprovenRefresh();
    if (given.healed) deps.noteHealed(given.healed);
    const { ignored } = given;
    return { ...presentRegistered(registered, isServer), ...(ignored.length > 0 && { ignored: [...ignored] }) };
  }),
  route('listDevices', 'GET /v1/devices', {
    access: 'server',
    summary: 'List devices, newest first',
    query: z.strictObject({
      ...pageQuery(200),
      platform: z.enum(platforms).optional(),
      status: z.enum(deviceStatuses).optional(),
      external_id: z.string().optional(),
    }),
    answers: ok('A page of devices.', devicePage),
  }).handle(async ({ sql, cursors }, { caller, query }) => {
    const { limit, cursor, platform = null, status = null, external_id: externalId = null } = query;
    const scope = [caller.appId, 'devices', platform, status, externalId];
    const [createdAt, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const after = createdAt === undefined ? null : { createdAt: new Date(createdAt), id: String(id) };
    const rows = await listDevicePage(sql, caller.appId, { platform, status, externalId }, after, limit + 1);
    return toPage(rows, limit, presentListed, (last) => cursors.write([last.createdAt.toISOString(), last.id], scope));
  }),
  ...optOutRoutes,
];

// An answer by client key contains neither the user nor the stored properties (contract 5.7),
// because anyone with the token is the same device. Facts that the device reported, former ones
// included, are answered to both kinds of keys.
function presentRegistered(registered: RegisteredDevice, isServer: boolean) {
  const { platform, row, environment, properties, conflicts, created } = registered;
  const { stored, catalog } = properties;
  return {
    id: encodeId('dev', row.deviceId),
    platform,
    channel: channelOfPlatform[platform],
    ...presentFacts(row),
    environment,
    status: 'active' as const,
    external_id: isServer ? row.externalId : null,
    properties: isServer ? presentProperties(stored, catalog) : null,
    property_conflicts: conflicts.map((conflict) => presentConflict(conflict, isServer ? stored : null)),
    created,
    created_at: row.createdAt,
    last_seen_at: row.lastSeenAt,
  };
}
