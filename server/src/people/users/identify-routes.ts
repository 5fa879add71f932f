// POST /v1/identify: links a device to its user.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError, noSuch } from '../../ground/http/api-error.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, deviceId, instant, userId } from '../../ground/http/schemas.ts';
import type { Seal } from '../../ground/secrets/seal.ts';
import { encodeId } from '../../ground/values/ids.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { loadIdentifyRules } from '../../teams/apps/identify-secrets.ts';
import { readDeviceId } from '../devices/device.ts';
import { identifyDevice } from './identify-device.ts';
import { isProven } from './identify-proof.ts';
import { identifyRequestSchema } from './user.ts';

export interface IdentifyRouteDeps {
  /** For short transactions. */
  readonly txSql: Sql;
  readonly clock: Clock;
  /** Opens the secrets that identities are proven by. */
  readonly seal: Seal;
}

const identifiedDevice = component(
  'IdentifiedDevice',
  z.strictObject({
    device_id: deviceId,
    external_id: z.string().nullable(),
    user_id: userId.nullable(),
    previous_external_id: z
      .string()
      .nullable()
      .describe('The former user of the device, if it was another one. A client key always reads null.'),
    identified_at: instant.nullable(),
  }),
  {
    device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    external_id: 'u-42',
    user_id: 'usr_0nNYfaOIjuoKGvAhyQIZo9',
    previous_external_id: null,
    identified_at: '2026-11-21T10:15:30.123Z',
  },
);

const route = routesWith<IdentifyRouteDeps, Caller>({ tag: 'Users', access: 'client-or-server' });

export const identifyRoutes = [
  route('identifyDevice', 'POST /v1/identify', {
    summary: 'Link a device to a user, or to nobody',
    description:
      'The last request wins. An unknown `external_id` gets an empty profile; null is a log-out. Where `/v1/config` says `identify_required`, `user_token` or `user_hash` must prove the `external_id`, also by server key, unless `external_id` is null. `identify_form` says which.',
    body: identifyRequestSchema,
    answers: ok('The user of the device now.', identifiedDevice),
    refusals: ['not_found', 'identity_check_failed'],
  }).handle(async ({ txSql: sql, clock, seal }, { caller, body }) => {
    const { device_id, external_id: externalId, user_token: userToken, user_hash: userHash } = body;
    // The proof is checked before the device is looked up, so that a caller without a proof learns
    // nothing. A log-out needs no proof.
    if (externalId !== null) {
      const rules = await loadIdentifyRules({ sql, seal }, caller.appId);
      const appId = encodeId('app', caller.appId);
      const claim = { appId, deviceId: device_id, externalId, userToken, userHash };
      const isAllowed = rules.secrets.length === 0 || isProven(claim, rules, clock.nowMs());
      if (!isAllowed) throw new ApiError('identity_check_failed');
    }
    const identify = {
      appId: caller.appId,
      deviceId: readDeviceId(device_id),
      externalId,
      byClient: caller.scope === 'client',
    };
    const identified = await identifyDevice({ sql, clock }, identify);
    if (!identified) throw noSuch('device', device_id);
    return {
      device_id,
      external_id: externalId,
      user_id: identified.userId === null ? null : encodeId('usr', identified.userId),
      // The former user is not answered to an app that anyone can read.
      previous_external_id: caller.scope === 'server' ? identified.previousExternalId : null,
      identified_at: identified.identifiedAt,
    };
  }),
];
