// POST /v1/users, GET and DELETE /v1/users/{external_id}; POST /v1/identify has a file of its own.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { namingMissing, noSuch } from '../../ground/http/api-error.ts';
import { isStorable } from '../../ground/http/json.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, deviceId, exampleOf, instant, userId } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { anyTimeZones } from '../../ground/values/time-zones.ts';
import { actorOf, type Caller } from '../../teams/apps/caller.ts';
import { readDeviceId } from '../devices/device.ts';
import { presentConflict, presentProperties, propertyConflict, propertyValues } from '../properties/property.ts';
import { eraseUser } from './erase-user.ts';
import { devicesShownMax, type FoundUser, findUserWithDevices } from './find-user.ts';
import { identifyRoutes } from './identify-routes.ts';
import type { Upsert } from './upsert-together.ts';
import { externalIdLengthMax, type UserRequest, userRequestSchema } from './user.ts';

export interface UserRouteDeps {
  /** For short transactions. */
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly upsert: Upsert;
  /** Reads the body of an upsert, or throws the 400. */
  readonly parseUser: (body: unknown) => UserRequest;
}

const userRequest = component('UserRequest', userRequestSchema(anyTimeZones), {
  external_id: 'u-42',
  first_name: 'Ada',
  country: 'de',
  language: 'de',
  timezone: 'Europe/Berlin',
  properties: { plan: 'pro', age: '31', trial: null },
  device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
});

export const user = component(
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
  {
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
  },
);
const upsertedUser = component(
  'UpsertedUser',
  user.extend({ created: z.boolean(), property_conflicts: z.array(propertyConflict) }),
  {
    ...exampleOf(user),
    created: false,
    property_conflicts: [{ key: 'age', expected: 'number', received: 'string', value: '31', kept: 30 }],
  },
);
const erasedUser = component(
  'ErasedUser',
  z.strictObject({ external_id: z.string(), deleted: z.literal(true), devices_removed: count }),
  { external_id: 'u-42', deleted: true, devices_removed: 2 },
);

const route = routesWith<UserRouteDeps, Caller>({ tag: 'Users', access: 'server' });
const ofPerson = routesWith<Pick<UserRouteDeps, 'txSql' | 'clock'>, Caller, 'external_id'>({
  tag: 'Users',
  access: 'server',
  params: { external_id: { description: 'Percent-encoded UTF-8.', example: 'u-42' } },
});

/** The routes of one existing person. */
export const personRoutes = [
  ofPerson('getUser', 'GET /v1/users/:external_id', {
    summary: 'Read a user',
    answers: ok('The user.', user),
  }).handle(async ({ txSql }, { caller, params }) => {
    const externalId = readExternalId(params.external_id);
    const found = await findUserWithDevices(txSql, caller.appId, externalId);
    if (!found) throw noSuch('user', externalId);
    return present(found);
  }),
  ofPerson('deleteUser', 'DELETE /v1/users/:external_id', {
    summary: 'Erase a user and opt out its devices',
    answers: ok('Erased.', erasedUser),
  }).handle(async ({ txSql: sql, clock }, { caller, params, address }) => {
    const externalId = readExternalId(params.external_id);
    const by = actorOf(caller, address);
    const erased = await eraseUser({ sql, clock, by }, caller.appId, externalId);
    if (!erased) throw noSuch('user', externalId);
    return { external_id: externalId, deleted: true, devices_removed: erased.devicesRemoved };
  }),
];

export const userRoutes = [
  route('upsertUser', 'POST /v1/users', {
    summary: 'Create a user, or update the one with this external_id',
    description: 'A field that is absent is kept, null clears it. `device_id` gives the user that device.',
    body: userRequest,
    readBody: (given, { parseUser }) => parseUser(given),
    answers: ok('The user as it is now.', upsertedUser),
    refusals: ['not_found'],
  }).handle(async ({ upsert }, { caller, body }) => {
    const upserted = await namingMissing(
      'device',
      body.device_id,
      upsert({
        appId: caller.appId,
        externalId: body.external_id,
        firstName: body.first_name,
        country: body.country,
        language: body.language,
        timezone: body.timezone,
        properties: body.properties,
        deviceId: typeof body.device_id === 'string' ? readDeviceId(body.device_id) : null,
      }),
    );
    const { created, conflicts } = upserted;
    const { id, external_id, created_at, updated_at, ...profile } = present(upserted);
    const property_conflicts = conflicts.map((conflict) => presentConflict(conflict, upserted.user.properties));
    return { id, external_id, created, ...profile, property_conflicts, created_at, updated_at };
  }),
  ...personRoutes,
  ...identifyRoutes,
];

// A text that could never be an external id belongs to nobody.
function readExternalId(given: string): string {
  if (given === '' || given.length > externalIdLengthMax || !isStorable(given)) throw noSuch('user', given);
  return given;
}

/** Shapes a user as every answer shows it. */
export function present({ user, catalog, deviceIds }: FoundUser) {
  return {
    id: encodeId('usr', user.id),
    external_id: user.externalId,
    first_name: user.firstName,
    country: user.country,
    language: user.language,
    timezone: user.timezone,
    properties: presentProperties(user.properties, catalog),
    devices: deviceIds.map((id) => encodeId('dev', id)),
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  };
}
