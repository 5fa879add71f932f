// Deleting an app: at once nothing of it answers, its rows are cleared in the background, and the
// audit log keeps that it was.
import { expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { clearDeletedApps } from '../../src/operation/process/clear-apps.ts';
import { setup } from '../setup.ts';
import { signIn } from './console.ts';

const t = await setup();

it('asks for the name, refuses keys and receipts at once, and clears every table but the audit log', async () => {
  const owner = await signIn(t, 'owner');
  const app = await t.newApp({ name: 'Doomed' });
  const kept = await t.newApp({ name: 'Kept' });
  for (const each of [app, kept]) {
    const server = t.clientOf(each.serverKey);
    const device = await t.registerDevice({ external_id: 'u-1' }, each).catch(() => t.registerDevice({}, each));
    await server.post('/v1/users', { external_id: 'u-1', device_id: device, properties: { plan: 'pro' } });
    await server.post('/v1/events', { external_id: 'u-1', name: 'opened' });
    const sent = await server.post('/v1/messages', {
      audience: { all: true },
      content: { title: 'Hello', body: 'You', url: 'https://shop.example/' },
    });
    expect(sent.body.report).toMatchObject({ sent: 1 });
  }
  const path = `/apps/${encodeId('app', app.id)}`;
  const wrong = await owner.send('DELETE', path, { name: 'doomed' });
  expect({ status: wrong.status, path: wrong.body.issues[0].path }).toEqual({ status: 400, path: ['name'] });
  const deleted = await owner.send('DELETE', path, { name: 'Doomed' });
  expect(deleted.body).toEqual({ deleted: true, devices: 1, users: 1, messages: 1 });
  t.clock.advance(2000);
  for (const key of [app.serverKey, app.clientKey]) {
    expect((await t.request('GET', '/v1/config', { key })).body.error).toBe('invalid_key');
  }
  expect((await owner.send('GET', path)).status).toBe(404);
  expect((await owner.send('DELETE', path, { name: 'Doomed' })).status).toBe(404);
  const listed = (await owner.send('GET', '/apps')).body.data.map(({ name }: { name: string }) => name);
  expect(listed).toEqual(['Shop', 'Kept']);

  // Other processes may still work for it: its rows stay for two minutes.
  await clearDeletedApps(t);
  expect(await t.sql`SELECT FROM devices WHERE app_id = ${app.id}`).toHaveLength(1);
  t.clock.advance(121_000);
  await clearDeletedApps(t);
  const tables = await t.sql<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'app_id'
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')`;
  const withRows: string[] = [];
  const ofTheOther: string[] = [];
  for (const { name } of tables) {
    if ((await t.sql`SELECT FROM ${t.sql(name)} WHERE app_id = ${app.id} LIMIT 1`).length > 0) withRows.push(name);
    if ((await t.sql`SELECT FROM ${t.sql(name)} WHERE app_id = ${kept.id} LIMIT 1`).length > 0) ofTheOther.push(name);
  }
  expect(withRows).toEqual(['audit_entries']);
  expect(ofTheOther).toEqual(expect.arrayContaining(['devices', 'users', 'messages', 'batches', 'events', 'keys']));
  expect(await t.sql`SELECT FROM deliveries`).toHaveLength(1);
  const { data } = (await owner.send('GET', '/audit?limit=200')).body;
  expect(data).toContainEqual(
    expect.objectContaining({ action: 'app.delete', before: expect.objectContaining({ name: 'Doomed', devices: 1 }) }),
  );
});
