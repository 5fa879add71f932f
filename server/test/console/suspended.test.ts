// While an app is suspended, nobody sends for it from the console (contract 3, rule 7).
import { expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { setup } from '../setup.ts';
import { signIn } from './console.ts';

const t = await setup();
const admin = await signIn(t, 'admin');
const at = (path: string): string => `/apps/${encodeId('app', t.app.id)}${path}`;
const device = await t.registerDevice();
const content = { title: 'Hello' };
const all = { audience: { all: true }, content };
await admin.send('PUT', at('/test-users'), { users: [{ device_id: device }], updated_at: null });
const webhook = await admin.send('POST', at('/webhooks'), { endpoint: 'https://hooks.shop.example/push' });
await updateAppSuspension(t.sql, t.clock, t.app.id, true);

it.each([
  ['a message', '/messages', all],
  ['a scheduled message', '/messages', { ...all, send_at: '2099-01-01T00:00:00Z' }],
  ['a message to test users', '/test-users/send', { content }],
  ['a test of a channel', '/channels/webpush/test', { device_id: device }],
  ['a test of a webhook', null, undefined],
])('%s is refused for a suspended app', async (_what, path, body) => {
  const address = path === null ? `/webhooks/${webhook.body.id}/test` : at(path);
  expect(await admin.send('POST', address, body)).toMatchObject({ status: 403, body: { error: 'app_suspended' } });
  expect(await t.sql`SELECT 1 FROM messages`).toHaveLength(0);
});
