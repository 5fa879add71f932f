// The area Devices: the list with its search, one device with the history of its states, and its
// edit.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { changedMeanwhile, noSuch, readId } from '../../ground/http/api-error.ts';
import { pageQuery, toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, exampleOf, instant } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { anyTimeZones, type TimeZones } from '../../ground/values/time-zones.ts';
import { deviceEditSchema, deviceStatuses, invalidReason } from '../../people/devices/device.ts';
import { editDevice } from '../../people/devices/edit-device.ts';
import { listDeviceChanges } from '../../people/devices/history-queries.ts';
import { findDeviceOnPage, listDevicePage, presentListed } from '../../people/devices/list-devices.ts';
import { device, devicePage, optOutRoutes } from '../../people/devices/routes.ts';
import { presentConflict, propertyConflict } from '../../people/properties/property.ts';
import { platforms } from '../../sending/channels/channel.ts';
import { routesOfApp } from './area.ts';
import { lendRoutes } from './lent-route.ts';
import { searchField, seenAt } from './schemas.ts';

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
  {
    ...exampleOf(device),
    credential_id: 1,
    updated_at: exampleOf(device).created_at,
    history: [{ at: exampleOf(device).created_at, status: 'active', reason: null }],
  },
);
const editOf = (timeZones: TimeZones) => deviceEditSchema(timeZones).extend({ updated_at: seenAt });

const route = routesOfApp<'id'>('Devices', {
  least: 'member',
  params: { id: { description: 'The id of a device.', example: exampleOf(device).id } },
});

export const deviceAreaRoutes = [
  route('listDevices', 'GET /devices', {
    summary: 'List devices, newest first',
    query: z.strictObject({
      ...pageQuery(200),
      platform: z.enum(platforms).optional(),
      status: z.enum(deviceStatuses).optional(),
      external_id: z.string().optional(),
      q: searchField.describe("An id, or the beginning of the external id of a device's user.").optional(),
    }),
    answers: ok('A page of devices.', devicePage, {
      example: { data: [exampleOf(device)], has_more: false, next_cursor: null },
    }),
  }).handle(async ({ sql, cursors }, { caller: { app }, query }) => {
    const { limit, cursor, platform = null, status = null, external_id: externalId = null, q: search = null } = query;
    const scope = [app.id, 'console devices', platform, status, externalId, search];
    const [createdAt, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const after = createdAt === undefined ? null : { createdAt: new Date(createdAt), id: String(id) };
    const rows = await listDevicePage(sql, app.id, { platform, status, externalId, search }, after, limit + 1);
    return toPage(rows, limit, presentListed, (last) => cursors.write([last.createdAt.toISOString(), last.id], scope));
  }),
  route('getDevice', 'GET /devices/:id', {
    summary: 'Read a device with the history of its states',
    answers: ok('The device.', deviceWithHistory),
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await read(sql, app.id, readId('device', params.id));
    if (!found) throw noSuch('device', params.id);
    return found;
  }),
  route('editDevice', 'PATCH /devices/:id', {
    summary: 'Change what is stored of a device',
    description:
      'A field that is absent is kept, null clears it. `environment` is for iOS only. A device that opted out cannot be edited. A fact that the device reports at its next registration replaces the edited one. The audit log names the fields that changed, and no value; without a change it has no entry.',
    body: component('DeviceEdit', editOf(anyTimeZones), {
      updated_at: exampleOf(device).created_at,
      locale: 'de-AT',
      properties: { topic: 'chess', trial: null },
    }),
    // The zones come from the database, because the API description lists none.
    readBody: (given, { timeZones }) => validate(editOf(timeZones), given),
    answers: ok(
      'The device as it is now.',
      component('EditedDevice', deviceWithHistory.extend({ property_conflicts: z.array(propertyConflict) }), {
        ...exampleOf(deviceWithHistory),
        property_conflicts: [],
      }),
    ),
    refusals: ['changed_meanwhile'],
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
