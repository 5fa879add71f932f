// The areas Web push, Apple push, Android push and Channels: the credentials with which an app
// reaches devices, their health, and a test of each. A private key is stored and never shown.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { changedMeanwhile, invalid, noSuch, notFound, readId } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, deviceId, instant, messageId, pageComponent, text } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { channelIds, channelOfPlatform } from '../../sending/channels/channel.ts';
import {
  type Storable,
  storableApns,
  storableServiceAccount,
  storableVapid,
} from '../../sending/channels/store-credential.ts';
import { generateVapidKeys, isVapidSubject } from '../../sending/channels/webpush/vapid.ts';
import { type Attempt, deliveryCode } from '../../sending/delivery/delivery.ts';
import { listSparedDevices } from '../../sending/delivery/spared-devices.ts';
import { listTargets } from '../../sending/delivery/targets.ts';
import { sendTest } from '../../sending/messages/send-test.ts';
import { type CredentialRecord, listCredentials } from '../../teams/apps/credential-queries.ts';
import { removeChannel, saveCredential } from '../../teams/apps/credentials.ts';
import { planNamed } from '../../teams/quotas/plan.ts';
import { type AreaDeps, routesOfApp } from './area.ts';
import { type AppCaller, refuseSuspended } from './caller.ts';
import { listQuery, pageOf } from './list.ts';
import { checkSeen, done, seenAt } from './schemas.ts';

const channelName = component('ChannelName', z.enum(channelIds));
export const credential = component(
  'Credential',
  z.strictObject({
    channel: channelName,
    current: z.boolean().describe('False: a former credential, for devices that registered with it.'),
    credential_id: count,
    public: z
      .record(z.string(), z.string())
      .describe(
        '`public_key`, `subject`; `key_id`, `team_id`, `bundle_id`, `environment`; `project_id`, `client_email`.',
      ),
    health: z.enum(['ok', 'suspect', 'failing']),
    suspect_since: instant.nullable(),
    last_success_at: instant.nullable(),
    last_error: z.record(z.string(), z.unknown()).nullable(),
    last_error_at: instant.nullable(),
    created_at: instant,
    replaced_at: instant.nullable(),
  }),
  {
    channel: 'webpush',
    current: true,
    credential_id: 1,
    public: {
      public_key: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc…',
      subject: 'mailto:ops@shop.example',
    },
    health: 'ok',
    suspect_since: null,
    last_success_at: '2026-11-21T10:15:30.123Z',
    last_error: null,
    last_error_at: null,
    created_at: '2026-11-21T10:15:30.123Z',
    replaced_at: null,
  },
);
const answers = ok('The credential, without its secret.', credential);
const seen = {
  updated_at: seenAt
    .nullable()
    .optional()
    .describe('`created_at` of the present credential as it was read, null for none. Absent: nothing is compared.'),
};
const secretText = text(16_384, 1);
/** The number of devices that an answer names: more than anybody reads. */
const sparedMax = 100;
const defaultSubject = 'mailto:push@carillon.example';

const route = routesOfApp('Channels');

export const channelAreaRoutes = [
  route('listChannels', 'GET /channels', {
    least: 'viewer',
    summary: 'The credentials of an app and their health, former ones too',
    query: listQuery,
    answers: ok('Newest first.', pageComponent('CredentialList', credential)),
  }).handle(async ({ sql, cursors }, { caller, query }) =>
    pageOf(cursors, await listCredentials(sql, caller.app.id), query, {
      scope: ['channels', caller.app.id],
      keyOf: ({ id }) => [id],
      isNewestFirst: true,
      idOf: ({ id }) => String(id),
      present,
    }),
  ),
  route('getWebPush', 'GET /channels/webpush', {
    least: 'admin',
    summary: 'The web push credential',
    answers,
  }).handle(async ({ sql }, { caller }) => readCurrent(sql, caller.app.id, 'webpush')),
  route('setWebPush', 'POST /channels/webpush', {
    least: 'admin',
    summary: 'Make VAPID keys, or import them; browsers that subscribed with the former keys go on with those',
    body: component(
      'WebPushCredential',
      z.strictObject({
        ...seen,
        subject: text(256)
          .refine(isVapidSubject, 'It must be mailto: with an address, or https: with a public host.')
          .optional(),
        public_key: secretText.optional(),
        private_key: secretText.optional(),
      }),
      { subject: 'mailto:ops@shop.example' },
    ),
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, body }) => {
    const { public_key: publicKey, private_key: privateKey } = body;
    if ((publicKey === undefined) !== (privateKey === undefined)) {
      const path = [publicKey === undefined ? 'public_key' : 'private_key'];
      throw invalid([{ path, code: 'required', message: 'Import both keys, or none.' }]);
    }
    const former = await findCurrent(deps.sql, caller.app.id, 'webpush');
    const formerSubject = former?.public['subject'];
    const subject = body.subject ?? (typeof formerSubject === 'string' ? formerSubject : defaultSubject);
    const keys = publicKey && privateKey ? { publicKey, privateKey } : generateVapidKeys();
    return save(deps, caller, 'webpush', storableVapid({ ...keys, subject }), body.updated_at);
  }),
  route('setApplePush', 'PUT /channels/apns', {
    least: 'admin',
    summary: 'Set the token signing key for Apple',
    body: component(
      'ApplePushCredential',
      z.strictObject({
        ...seen,
        p8: secretText,
        key_id: z.string(),
        team_id: z.string(),
        bundle_id: z.string(),
        environment: z.enum(['production', 'sandbox']).default('production'),
      }),
      {
        p8: '-----BEGIN PRIVATE KEY-----…',
        key_id: 'ABC123DEFG',
        team_id: 'DEF123GHIJ',
        bundle_id: 'com.example.shop',
      },
    ),
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, body }) => {
    const { p8, key_id: keyId, team_id: teamId, bundle_id: bundleId, environment } = body;
    const storable = storableApns({ p8, keyId, teamId, bundleId, environment });
    return save(deps, caller, 'apns', storable, body.updated_at);
  }),
  route('setAndroidPush', 'PUT /channels/fcm', {
    least: 'admin',
    summary: "Set the service account's private key for Google",
    body: component('AndroidPushCredential', z.strictObject({ ...seen, service_account_json: secretText }), {
      service_account_json: '{"type": "service_account", …}',
    }),
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, body }) =>
    save(
      deps,
      caller,
      'fcm',
      storableServiceAccount(body.service_account_json, deps.fcmTokenUrl),
      body.updated_at,
      'service_account_json',
    ),
  ),
  route('listSparedDevices', 'GET /channels/:channel/spared', {
    least: 'member',
    summary: 'The devices that a suspect credential would have cost',
    description:
      'The refusals of the credential call these devices invalid, or devices of another key. None is retired until the credential succeeds or is replaced. Empty for a credential that is not suspect.',
    params: { channel: { description: 'webpush, apns or fcm.', example: 'apns' } },
    answers: ok(
      `Each device once, the latest refusals first, up to ${sparedMax}.`,
      component(
        'SparedDevices',
        z.strictObject({
          data: z.array(
            z.strictObject({ device_id: deviceId, message_id: messageId, error_code: deliveryCode, at: instant }),
          ),
          has_more: z.boolean(),
        }),
        {
          data: [
            {
              device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
              message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
              error_code: 'invalid_token',
              at: '2026-11-21T10:15:30.123Z',
            },
          ],
          has_more: false,
        },
      ),
    ),
  }).handle(async ({ sql }, { caller, params }) => {
    const { id: ofApp } = caller.app;
    const channel = channelIds.find((each) => each === params.channel);
    const current = channel && (await findCurrent(sql, ofApp, channel));
    if (!channel || !current) throw notFound(`The app has no channel ${params.channel.slice(0, 80)}.`);
    const { id, suspectSince } = current;
    if (suspectSince === null) return { data: [], has_more: false };
    const found = await listSparedDevices(sql, ofApp, { id, channel, suspectSince }, sparedMax);
    return {
      data: found.devices.map((one) => ({
        device_id: encodeId('dev', one.deviceId),
        message_id: encodeId('msg', one.messageId),
        error_code: one.code ?? ('unknown_error' as const),
        at: one.at,
      })),
      has_more: found.hasMore,
    };
  }),
  route('removeChannel', 'DELETE /channels/:channel', {
    least: 'admin',
    summary: 'Remove a channel; devices bound to its credential go on with it',
    params: { channel: { description: 'webpush, apns or fcm.', example: 'fcm' } },
    answers: ok('Removed.', done),
  }).handle(async ({ txSql, clock }, { caller, params }) => {
    const { channel } = params;
    if (!(await removeChannel({ sql: txSql, clock, by: caller.by }, { appId: caller.app.id, channel }))) {
      throw notFound(`The app has no channel ${channel.slice(0, 80)}.`);
    }
    return { done: true as const };
  }),
  route('testChannel', 'POST /channels/:channel/test', {
    least: 'admin',
    summary: 'Send one push to a device, by the normal path and quota',
    params: { channel: { description: 'webpush, apns or fcm.', example: 'webpush' } },
    body: component('ChannelTest', z.strictObject({ device_id: z.string() }), {
      device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    }),
    answers: ok(
      'The outcome. `status` is null while there is none; the message then goes on.',
      component(
        'ChannelTestResult',
        z.strictObject({
          message_id: messageId,
          device_id: deviceId,
          status: z.string().nullable(),
          error_code: z.string().nullable(),
          answers: z.array(
            z.strictObject({
              http_status: z.int().nullable(),
              transport_error: z.string().nullable(),
              body: z.string().nullable(),
              latency_ms: z.number(),
            }),
          ),
        }),
        {
          message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
          device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi',
          status: 'sent',
          error_code: null,
          answers: [{ http_status: 201, transport_error: null, body: null, latency_ms: 48 }],
        },
      ),
    ),
    refusals: ['quota_exceeded'],
  }).handle(async ({ sql, plans, sending }, request) => {
    refuseSuspended(request.caller);
    const { app, by } = request.caller;
    const { params, body } = request;
    const [device] = await listTargets(sql, app.id, [readId('device', body.device_id)], []);
    if (!device) throw noSuch('device', body.device_id);
    const channel = channelOfPlatform[device.platform];
    if (channel !== params.channel) {
      const message = `The device is reached by ${channel}.`;
      throw invalid([{ path: ['device_id'], code: 'invalid_value', message }]);
    }
    const plan = planNamed(plans, app.plan);
    const test = await request.aside(() => sendTest(sending, { app, plan, channel, deviceId: device.deviceId, by }));

    const attempts = (test.delivery?.timeline ?? []).filter((entry): entry is Attempt => entry.type === 'attempt');
    return {
      message_id: encodeId('msg', test.messageId),
      device_id: encodeId('dev', device.deviceId),
      status: test.delivery?.status ?? null,
      error_code: test.delivery?.error_code ?? null,
      answers: attempts.map(({ provider, latency_ms }) => ({
        http_status: provider?.http_status ?? null,
        transport_error: provider?.transport_error ?? null,
        body: provider?.body ?? null,
        latency_ms: latency_ms ?? 0,
      })),
    };
  }),
];

async function save(
  { sql, txSql, clock, seal }: Pick<AreaDeps, 'sql' | 'txSql' | 'clock' | 'seal'>,
  caller: AppCaller,
  channel: string,
  storable: Storable,
  seenUpdatedAt: string | null | undefined,
  field?: string,
) {
  if ('issues' in storable) {
    // The fields as the caller wrote them.
    const snake = (part: string | number): string | number =>
      typeof part === 'number' ? part : part.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    throw invalid(
      storable.issues.map((issue) => ({ ...issue, path: [...(field ? [field] : []), ...issue.path.map(snake)] })),
    );
  }
  const { public: shown, secret } = storable;
  const deps = { sql: txSql, clock, seal, by: caller.by };
  await saveCredential(deps, { appId: caller.app.id, channel, public: shown, secret }, (former) => {
    if (seenUpdatedAt === undefined) return;
    if (seenUpdatedAt && former) checkSeen(seenUpdatedAt, former.createdAt, () => present(former));
    else if (seenUpdatedAt || former) throw changedMeanwhile(former ? present(former) : {});
  });
  return readCurrent(sql, caller.app.id, channel);
}

async function findCurrent(sql: Sql, appId: string, channel: string): Promise<CredentialRecord | undefined> {
  return (await listCredentials(sql, appId)).find((each) => each.channel === channel && each.replacedAt === null);
}

async function readCurrent(sql: Sql, appId: string, channel: string) {
  const found = await findCurrent(sql, appId, channel);
  if (!found) throw notFound(`The app has no channel ${channel}.`);
  return present(found);
}

export function present(one: CredentialRecord) {
  const channel = channelIds.find((each) => each === one.channel);
  if (!channel) throw new Error(`a credential of an unknown channel: ${one.channel}`);
  const shown = Object.entries(one.public).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    String(value),
  ]);
  return {
    channel,
    current: one.replacedAt === null,
    credential_id: one.id,
    public: Object.fromEntries(shown) as Record<string, string>,
    health: one.state,
    suspect_since: one.suspectSince,
    last_success_at: one.lastSuccessAt,
    last_error: one.lastError,
    last_error_at: one.lastErrorAt,
    created_at: one.createdAt,
    replaced_at: one.replacedAt,
  };
}
