// The area Devices: the list with its search, one device with the history of its states, and its
// edit.
import { z } from 'zod';
import { platforms } from '../channels/channel.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { deviceEditSchema, deviceStatuses, invalidReason } from '../devices/device.ts';
import { editDevice } from '../devices/edit-device.ts';
import { listDeviceChanges } from '../devices/history-queries.ts';
import { findDeviceOnPage, listDevicePage, presentListed } from '../devices/list-devices.ts';
import { device, devicePage, exampleDevice, optOutRoutes } from '../devices/routes.ts';
import type { Uuid } from '../ground/ids.ts';
import { anyTimeZones, type TimeZones } from '../ground/time-zones.ts';
import { changedMeanwhile, noSuch, readId } from '../http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, count, instant } from '../http/schemas.ts';
import { validate } from '../http/validate.ts';
import { presentConflict, propertyConflict } from '../properties/property.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { appParam, searchField, seenAt } from './schemas.ts';

export interface DeviceAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly timeZones: TimeZones;
}

const listedExample = {
  ...exampleDevice,
  token_hint: '…nd/abc',
  status: 'active',
  status_reason: null,
  external_id: 'u-42',
};
const history = z
  .array(z.strictObject({ at: instant, status: z.enum(deviceStatuses), reason: invalidReason.nullable() }))
  .describe('Every change of its status, oldest first.');
const credentialId = count
  .nullable()
  .describe(
    'For a browser, the `credential_id` of the key that it subscribed with. Null for a phone: it is reached by the current credential of its channel.',
  );
const updatedAt = instant.describe(
  'When something that can be edited last changed, by whatever means, or when the device was opted out.',
);
const deviceWithHistory = component(
  'DeviceWithHistory',
  device.extend({ credential_id: credentialId, updated_at: updatedAt, history }),
);
const exampleWithHistory = {
  ...listedExample,
  credential_id: 1,
  updated_at: exampleDevice.created_at,
  history: [{ at: exampleDevice.created_at, status: 'active', reason: null }],
};
const editOf = (timeZones: TimeZones) => deviceEditSchema(timeZones).extend({ updated_at: seenAt });
const params = { ...appParam, id: { description: 'The id of a device.', example: exampleDevice.id } };

const route = routesWith<DeviceAreaDeps, AppCaller>('Devices');

export const deviceAreaRoutes = [
  route({
    id: 'listDevices',
    method: 'GET',
    path: '/console/api/apps/:app/devices',
    access: 'session-or-token',
    least: 'member',
    summary: 'List devices, newest first',
    params: appParam,
    query: z.strictObject({
      ...pageQuery(200),
      platform: z.enum(platforms).optional(),
      status: z.enum(deviceStatuses).optional(),
      external_id: z.string().optional(),
      q: searchField.describe("An id, or the beginning of the external id of a device's user.").optional(),
    }),
    answers: {
      200: {
        description: 'A page of devices.',
        schema: devicePage,
        example: { data: [listedExample], has_more: false, next_cursor: null },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, cursors }, { caller: { app }, query }) => {
    const { limit, cursor, platform = null, status = null, external_id: externalId = null, q: search = null } = query;
    const scope = [app.id, 'console devices', platform, status, externalId, search];
    const [createdAt, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const after = createdAt === undefined ? null : { createdAt: new Date(createdAt), id: String(id) };
    const rows = await listDevicePage(sql, app.id, { platform, status, externalId, search }, after, limit + 1);
    return toPage(rows, limit, presentListed, (last) => cursors.write([last.createdAt.toISOString(), last.id], scope));
  }),
  route({
    id: 'getDevice',
    method: 'GET',
    path: '/console/api/apps/:app/devices/:id',
    access: 'session-or-token',
    least: 'member',
    summary: 'Read a device with the history of its states',
    params,
    answers: { 200: { description: 'The device.', schema: deviceWithHistory, example: exampleWithHistory } },
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await read(sql, app.id, readId('device', params.id));
    if (!found) throw noSuch('device', params.id);
    return found;
  }),
  route({
    id: 'editDevice',
    method: 'PATCH',
    path: '/console/api/apps/:app/devices/:id',
    access: 'session-or-token',
    least: 'member',
    summary: 'Change what is stored of a device',
    description:
      'A field that is absent is kept, null clears it. `environment` is for iOS only. A device that opted out cannot be edited. A fact that the device reports at its next registration replaces the edited one. The audit log names the fields that changed, and no value; without a change it has no entry.',
    params,
    body: {
      schema: component('DeviceEdit', editOf(anyTimeZones)),
      example: { updated_at: exampleDevice.created_at, locale: 'de-AT', properties: { topic: 'chess', trial: null } },
    },
    // The zones come from the database, because the API description lists none.
    readBody: (given, { timeZones }) => validate(editOf(timeZones), given),
    answers: {
      200: {
        description: 'The device as it is now.',
        schema: component('EditedDevice', deviceWithHistory.extend({ property_conflicts: z.array(propertyConflict) })),
        example: { ...exampleWithHistory, property_conflicts: [] },
      },
    },
    refusals: ['not_found', 'changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, params, body }) => {
    const { updated_at: seen, locale, timezone, environment, properties } = body;
    const id = readId('device', params.id);
    const edited = await editDevice(
      { sql: txSql, clock, by },
      { appId: app.id, id, locale, timezone, environment, properties },
      (updatedAt) => updatedAt.getTime() === new Date(seen).getTime(),
    );
    const present = await read(edited ? sql : txSql, app.id, id);
    if (!present) throw noSuch('device', params.id);
    if (!edited) throw changedMeanwhile(present);
    const conflicts = edited.conflicts.map((conflict) => presentConflict(conflict, edited.stored));
    return { ...present, property_conflicts: conflicts };
  }),
  ...lendRoutes(optOutRoutes, { optOutDevice: 'admin' }),
];

/** Reads a device and shapes it; undefined when the app has no such device. */
async function read(sql: Sql, appId: Uuid, id: Uuid) {
  const found = await findDeviceOnPage(sql, appId, id);
  if (!found) return undefined;
  const changes = await listDeviceChanges(sql, appId, [id]);
  return {
    ...presentListed(found),
    credential_id: found.platform === 'web' ? found.credentialId : null,
    updated_at: found.updatedAt,
    history: changes.map(({ at, status, reason }) => ({ at, status, reason })),
  };
}
