// POST and GET /v1/devices, DELETE /v1/devices/{id}.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import { channelOfPlatform, platforms } from '../channels/channel.ts';
import { namingMissing, noSuch } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { BoundRoute } from '../platform/http-server.ts';
import { encodeId } from '../platform/ids.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { presentConflict, presentProperties } from '../properties/property.ts';
import type { AddressLimits } from '../quotas/address-limit.ts';
import { createRegistrationParser, deviceStatuses, type RegistrationRules, readDeviceId } from './device.ts';
import { listDevicePage, presentFacts, presentListed } from './list-devices.ts';
import { optOutDevice } from './opt-out-devices.ts';
import type { RegisteredDevice } from './register-device.ts';
import type { Register } from './register-together.ts';

export interface DeviceRouteDeps extends RegistrationRules {
  readonly sql: Sql;
  /** For pages, which keep no registration waiting. */
  readonly readSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly addressLimits: AddressLimits;
  readonly register: Register;
  /** Hears of a refresh by client key that came without proof, and so became a registration of its own. */
  readonly noteUnprovenRefresh: () => void;
}

export const deviceListQuery = z.strictObject({
  limit: limitField(200),
  cursor: z.string().optional(),
  platform: z.enum(platforms).optional(),
  status: z.enum(deviceStatuses).optional(),
  external_id: z.string().optional(),
});

export function deviceRoutes(deps: DeviceRouteDeps): BoundRoute<Caller>[] {
  const { sql, readSql, clock, cursors, addressLimits } = deps;
  const parseRegistration = createRegistrationParser(deps);
  return [
    {
      method: 'POST',
      path: '/v1/devices',
      access: 'client-or-server',
      async handle({ caller, query, body, address }) {
        validate(noQuery, query);
        const given = parseRegistration(body);
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
            permit: isServer ? null : addressLimits.permitNewDevice(address),
          }),
        );
        if (registered.lacksProof) deps.noteUnprovenRefresh();
        return presentRegistered(registered, isServer);
      },
    },
    {
      method: 'GET',
      path: '/v1/devices',
      access: 'server',
      async handle({ caller, query }) {
        const {
          limit,
          cursor,
          platform = null,
          status = null,
          external_id: externalId = null,
        } = validate(deviceListQuery, query);
        const scope = [caller.appId, 'devices', platform, status, externalId];
        const [createdAt, id] = cursor === undefined ? [] : cursors.read(cursor, scope);
        const after = createdAt === undefined ? null : { createdAt: new Date(createdAt), id: String(id) };
        const rows = await listDevicePage(readSql, caller.appId, { platform, status, externalId }, after, limit + 1);
        return toPage(rows, limit, presentListed, (last) =>
          cursors.write([last.createdAt.toISOString(), last.id], scope),
        );
      },
    },
    {
      method: 'DELETE',
      path: '/v1/devices/:id',
      access: 'client-or-server',
      async handle({ caller, params, query }) {
        validate(noQuery, query);
        const id = readDeviceId(params['id'] ?? '');
        if (!(await optOutDevice({ sql, clock }, caller.appId, id))) throw noSuch('device', params['id'] ?? '');
        return { id: encodeId('dev', id), status: 'unsubscribed' };
      },
    },
  ];
}

// A client key is not told whose the device is, nor what is stored under its properties (contract 5.7): with the same token
// anyone is the same device. The facts it says about itself are answered to either key, former ones included.
function presentRegistered(registered: RegisteredDevice, isServer: boolean): object {
  const { platform, row, environment, properties, conflicts, created } = registered;
  const { stored, catalog } = properties;
  return {
    id: encodeId('dev', row.deviceId),
    platform,
    channel: channelOfPlatform[platform],
    ...presentFacts(row),
    environment,
    status: 'active',
    external_id: isServer ? row.externalId : null,
    properties: isServer ? presentProperties(stored, catalog) : null,
    property_conflicts: conflicts.map((conflict) => presentConflict(conflict, isServer ? stored : null)),
    created,
    created_at: row.createdAt,
    last_seen_at: row.lastSeenAt,
  };
}
