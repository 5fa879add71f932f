// The area Devices: the list with its search, and one device with the history of its states.
import { z } from 'zod';
import { platforms } from '../channels/channel.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { deviceStatuses, invalidReason } from '../devices/device.ts';
import { listDeviceChanges } from '../devices/history-queries.ts';
import { findDeviceOnPage, listDevicePage, presentListed } from '../devices/list-devices.ts';
import { findCredentialOfDevice } from '../devices/listed-queries.ts';
import { device, devicePage, exampleDevice, optOutRoutes } from '../devices/routes.ts';
import { noSuch, readId } from '../http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, count, instant } from '../http/schemas.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { appParam, searchField } from './schemas.ts';

export interface DeviceAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
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
const deviceWithHistory = component('DeviceWithHistory', device.extend({ credential_id: credentialId, history }));

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
    params: { ...appParam, id: { description: 'The id of a device.', example: exampleDevice.id } },
    answers: {
      200: {
        description: 'The device.',
        schema: deviceWithHistory,
        example: {
          ...listedExample,
          credential_id: 1,
          history: [{ at: exampleDevice.created_at, status: 'active', reason: null }],
        },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql }, { caller: { app }, params }) => {
    const found = await findDeviceOnPage(sql, app.id, readId('device', params.id));
    if (!found) throw noSuch('device', params.id);
    const changes = await listDeviceChanges(sql, app.id, [found.id]);
    return {
      ...presentListed(found),
      credential_id: found.platform === 'web' ? await findCredentialOfDevice(sql, app.id, found.id) : null,
      history: changes.map(({ at, status, reason }) => ({ at, status, reason })),
    };
  }),
  ...lendRoutes(optOutRoutes, { optOutDevice: 'admin' }),
];
