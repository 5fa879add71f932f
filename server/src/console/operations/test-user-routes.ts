// The area Test users: up to 20 people and devices that see a message before it is sent to others.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import { changedMeanwhile, invalid, noSuch, readId } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, instant, list, messageId, text } from '../../ground/http/schemas.ts';
import { validate } from '../../ground/http/validate.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import { findTestUsers, listTestDevices, type TestUsers } from '../../people/users/test-user-queries.ts';
import { replaceTestUsers, testDevicesOfUserMax, testUsersMax } from '../../people/users/test-users.ts';
import { contentSchema } from '../../sending/content/content.ts';
import { listTargets } from '../../sending/delivery/targets.ts';
import { awaitOutcomes } from '../../sending/messages/await-outcomes.ts';
import { messageRequestSchema, report, reportOf } from '../../sending/messages/message.ts';
import { planNamed } from '../../teams/quotas/plan.ts';
import { routesOfApp } from './area.ts';
import { refuseSuspended } from './caller.ts';
import { callerOf } from './lent-route.ts';
import { seenAt } from './schemas.ts';

const byUser = z.strictObject({ external_id: text(256, 1) });
const byDevice = z.strictObject({ device_id: z.string() });
const listed = { devices: count.describe('Active devices that a test reaches, ten of a user at most.') };
const testUsers = component(
  'TestUsers',
  z.strictObject({
    users: z.array(z.union([byUser.extend(listed), byDevice.extend(listed)])).max(testUsersMax),
    updated_at: instant.nullable().describe('Null: nobody has made the list yet.'),
  }),
  {
    users: [
      { external_id: 'u-42', devices: 2 },
      { device_id: 'dev_4r4tgBwaHmRyQNukgzmqsi', devices: 1 },
    ],
    updated_at: '2026-11-21T10:15:30.123Z',
  },
);
const answers = ok('The list: users first.', testUsers);

const route = routesOfApp('Test users', { least: 'member' });

export const testUserAreaRoutes = [
  route('getTestUsers', 'GET /test-users', {
    summary: 'The users and devices that a test reaches',
    answers,
  }).handle(async ({ sql }, { caller: { app } }) => present(sql, app.id, await findTestUsers(sql, app.id))),
  route('setTestUsers', 'PUT /test-users', {
    summary: 'Replace the list of test users',
    body: component(
      'TestUserList',
      z.strictObject({
        users: list(z.union([byUser, byDevice]), { most: testUsersMax }),
        updated_at: seenAt.nullable(),
      }),
      { users: [{ external_id: 'u-42' }], updated_at: null },
    ),
    answers,
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, body }) => {
    const externalIds = body.users.flatMap((each) => ('external_id' in each ? [each.external_id] : []));
    const deviceTexts = body.users.flatMap((each) => ('device_id' in each ? [each.device_id] : []));
    const deviceIds = await getDeviceIds(sql, app.id, [...new Set(deviceTexts)]);
    const list = { externalIds: [...new Set(externalIds)], deviceIds };
    const seen = body.updated_at === null ? null : new Date(body.updated_at).getTime();
    const before = await present(sql, app.id, await findTestUsers(sql, app.id));
    const stored = await replaceTestUsers({ sql: txSql, clock, by }, app.id, list, (former) => {
      if ((former?.updatedAt.getTime() ?? null) !== seen) throw changedMeanwhile(before);
    });
    return present(sql, app.id, stored);
  }),
  route('sendToTestUsers', 'POST /test-users/send', {
    summary: 'Send content to the test users, by the normal path and quota',
    body: component('TestSend', z.strictObject({ content: contentSchema }), {
      content: { title: 'Sale', body: 'Now on' },
    }),
    answers: ok(
      'The numbers so far, as for any message.',
      component('TestSent', z.strictObject({ message_id: messageId, report }), {
        message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        report: { accepted: 3, sent: 3, failed: 0, skipped: 0 },
      }),
    ),
    refusals: ['quota_exceeded'],
  }).handle(async ({ sql, plans, accept, wait }, { caller, body, aside }) => {
    refuseSuspended(caller);
    const { app } = caller;
    const list = await findTestUsers(sql, app.id);
    const devices = list ? await listTestDevices(sql, app.id, list, testDevicesOfUserMax) : [];
    if (devices.length === 0) {
      const message = list ? 'No test user has an active device.' : 'The app has no test users yet.';
      throw invalid([{ path: [], code: 'invalid_value', message }]);
    }
    const request = validate(messageRequestSchema, {
      audience: { device_ids: devices.map(({ deviceId }) => encodeId('dev', deviceId)) },
      content: body.content,
      name: 'Test',
    });
    const accepted = await accept(callerOf(caller), planNamed(plans, app.plan), request, null);
    const counts = await aside(() => awaitOutcomes(wait, app.id, accepted.id, accepted.claim));
    return { message_id: encodeId('msg', accepted.id), report: reportOf(counts) };
  }),
];

/** One statement for all of them, so that a list holds one connection. */
async function getDeviceIds(sql: Sql, appId: Uuid, texts: readonly string[]): Promise<Uuid[]> {
  const ids = texts.map((text) => readId('device', text));
  const found = new Set((await listTargets(sql, appId, ids, [])).map(({ deviceId }) => deviceId));
  const missing = texts.find((_text, place) => !found.has(ids[place] ?? ''));
  if (missing !== undefined) throw noSuch('device', missing);
  return ids;
}

async function present(sql: Sql, appId: Uuid, list: TestUsers | undefined) {
  if (!list) return { users: [], updated_at: null };
  const devices = await listTestDevices(sql, appId, list, testDevicesOfUserMax);
  return {
    users: [
      ...list.externalIds.map((id) => ({
        external_id: id,
        devices: devices.filter(({ externalId }) => externalId === id).length,
      })),
      ...list.deviceIds.map((id) => ({
        device_id: encodeId('dev', id),
        devices: devices.filter(({ deviceId }) => deviceId === id).length,
      })),
    ],
    updated_at: list.updatedAt,
  };
}
