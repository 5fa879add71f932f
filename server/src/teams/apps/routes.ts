// GET /v1/config: what a client app needs to know before it registers.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component } from '../../ground/http/schemas.ts';
import { channelIds } from '../../sending/channels/channel.ts';
import type { Caller } from './caller.ts';
import { listCurrentCredentials } from './credential-queries.ts';
import { getIdentifyRecord } from './identify-queries.ts';
import { formsOf, secretForms } from './identify-record.ts';

const appConfig = component(
  'AppConfig',
  z.strictObject({
    vapid_public_key: z.string().nullable().describe('Null when web push is not configured.'),
    identify_required: z.boolean(),
    identify_form: z.enum(secretForms).nullable().describe('The form of the newest secret. Null without a secret.'),
    identify_device_required: z.boolean().describe('True when only a `user_token` that names its device is accepted.'),
    channels: z.array(z.enum(channelIds)).describe('Channels that the app has credentials for.'),
  }),
  {
    vapid_public_key: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
    identify_required: true,
    identify_form: 'token',
    identify_device_required: false,
    channels: ['webpush'],
  },
);

const route = routesWith<{ readonly sql: Sql }, Caller>({ tag: 'Service', access: 'client-or-server' });

export const configRoutes = [
  route('getConfig', 'GET /v1/config', {
    summary: 'What an app needs to know before it registers a device',
    answers: ok('The configuration of the app.', appConfig),
  }).handle(async ({ sql }, { caller }) => {
    const [current, identify] = await Promise.all([
      listCurrentCredentials(sql, caller.appId),
      getIdentifyRecord(sql, caller.appId),
    ]);
    const key = current.find(({ channel }) => channel === 'webpush')?.public['publicKey'];
    return {
      vapid_public_key: typeof key === 'string' ? key : null,
      identify_required: identify.secret !== null,
      identify_form: formsOf(identify).at(-1) ?? null,
      identify_device_required: identify.isDeviceRequired,
      channels: current.map(({ channel }) => channel),
    };
  }),
];
