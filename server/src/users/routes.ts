// POST /v1/users, GET and DELETE /v1/users/{external_id}, POST /v1/identify.
import { actorOf, type Caller } from '../apps/caller.ts';
import { loadIdentifyRules } from '../apps/identify-secrets.ts';
import { readDeviceId } from '../devices/device.ts';
import { ApiError, namingMissing, noSuch } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { BoundRoute } from '../platform/http-server.ts';
import { encodeId, type Uuid } from '../platform/ids.ts';
import { isStorable } from '../platform/json.ts';
import type { Seal } from '../platform/seal.ts';
import type { TimeZones } from '../platform/time-zones.ts';
import { noQuery, validate } from '../platform/validate.ts';
import { presentConflict, presentProperties } from '../properties/property.ts';
import { eraseUser } from './erase-user.ts';
import { type FoundUser, findUserWithDevices } from './find-user.ts';
import { identifyDevice } from './identify-device.ts';
import { isProven } from './identify-proof.ts';
import { createNumbersAtHand } from './numbers-at-hand.ts';
import { upsertUser } from './upsert-user.ts';
import { externalIdField, identifyRequestSchema, userRequestSchema } from './user.ts';

export interface UserRouteDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly timeZones: TimeZones;
  /** Opens the secrets that identities are proven by. */
  readonly seal: Seal;
}

export function userRoutes({ sql, clock, timeZones, seal }: UserRouteDeps): BoundRoute<Caller>[] {
  const userRequest = userRequestSchema(timeZones);
  const numbers = createNumbersAtHand({ sql });
  return [
    {
      method: 'POST',
      path: '/v1/users',
      access: 'server',
      async handle({ caller, query, body }) {
        validate(noQuery, query);
        const given = validate(userRequest, body);
        const upserted = await namingMissing(
          'device',
          given.device_id,
          upsertUser(
            { sql, clock, numbers },
            {
              appId: caller.appId,
              externalId: given.external_id,
              firstName: given.first_name,
              country: given.country,
              language: given.language,
              timezone: given.timezone,
              properties: given.properties,
              deviceId: typeof given.device_id === 'string' ? readDeviceId(given.device_id) : null,
            },
          ),
        );
        const { user, created, conflicts } = upserted;
        return present(upserted, {
          created,
          property_conflicts: conflicts.map((conflict) => presentConflict(conflict, user.properties)),
        });
      },
    },
    {
      method: 'GET',
      path: '/v1/users/:external_id',
      access: 'server',
      async handle({ caller, params, query }) {
        validate(noQuery, query);
        const externalId = readExternalId(params);
        const found = await findUserWithDevices(sql, caller.appId, externalId);
        if (!found) throw noSuch('user', externalId);
        return present(found);
      },
    },
    {
      method: 'DELETE',
      path: '/v1/users/:external_id',
      access: 'server',
      async handle({ caller, params, query, address }) {
        validate(noQuery, query);
        const externalId = readExternalId(params);
        const by = actorOf(caller, address);
        const erased = await eraseUser({ sql, clock, by }, caller.appId, externalId);
        if (!erased) throw noSuch('user', externalId);
        return { external_id: externalId, deleted: true, devices_removed: erased.devicesRemoved };
      },
    },
    {
      method: 'POST',
      path: '/v1/identify',
      access: 'client-or-server',
      async handle({ caller, query, body }) {
        validate(noQuery, query);
        const given = validate(identifyRequestSchema, body);
        const { device_id, external_id: externalId, user_hash: userHash } = given;
        // Before the device is looked up: who proves nothing learns nothing. A log-out claims nobody's name.
        if (externalId !== null) {
          const rules = await loadIdentifyRules({ sql, seal }, caller.appId);
          const claim = { deviceId: device_id, externalId, userHash };
          const isAllowed = rules.secrets.length === 0 || isProven(claim, rules, clock.nowMs());
          if (!isAllowed) throw new ApiError('identity_check_failed');
        }
        const deviceId = readDeviceId(device_id);
        const byClient = caller.scope === 'client';
        const identify = { appId: caller.appId, deviceId, externalId, byClient };
        const identified = await identifyDevice({ sql, clock, numbers }, identify);
        if (!identified) throw noSuch('device', device_id);
        return {
          device_id,
          external_id: externalId,
          user_id: identified.userId === null ? null : encodeId('usr', identified.userId),
          // Whose it was is not told to an app that anyone can read.
          previous_external_id: caller.scope === 'server' ? identified.previousExternalId : null,
          identified_at: identified.identifiedAt,
        };
      },
    },
  ];
}

// What cannot be an external id belongs to nobody.
function readExternalId(params: Readonly<Record<string, string>>): string {
  const externalId = params['external_id'] ?? '';
  if (!externalIdField.safeParse(externalId).success || !isStorable(externalId)) throw noSuch('user', externalId);
  return externalId;
}

function present(
  { user, catalog, deviceIds }: FoundUser,
  upserted?: { created: boolean; property_conflicts: object[] },
) {
  return {
    id: encodeId('usr', user.id),
    external_id: user.externalId,
    ...(upserted && { created: upserted.created }),
    first_name: user.firstName,
    country: user.country,
    language: user.language,
    timezone: user.timezone,
    properties: presentProperties(user.properties, catalog),
    devices: deviceIds.map((id: Uuid) => encodeId('dev', id)),
    ...(upserted && { property_conflicts: upserted.property_conflicts }),
    created_at: user.createdAt,
    updated_at: user.updatedAt,
  };
}
