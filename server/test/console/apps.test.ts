// The area Apps: people and scripts of an organisation list, make and edit its apps.
import { describe, expect, it } from 'vitest';
import { encodeId } from '../../src/ground/values/ids.ts';
import { listEntries } from '../../src/teams/audit/queries.ts';
import { setup } from '../setup.ts';
import { makeOrganisation, scriptOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const admin = await signIn(t, 'admin');

const entriesOf = async (id: string) => {
  const [row] = await t.sql<{ id: string }[]>`SELECT id FROM apps WHERE name = ${id} OR id::text = ${id}`;
  return listEntries(t.sql, { appId: row?.id ?? '', from: null, to: null, beforeId: null, limit: 50 });
};

describe('apps', () => {
  it('lists those of the organisation alone', async () => {
    const elsewhere = await makeOrganisation(t, 'Elsewhere');
    const stranger = await signIn(t, 'owner', elsewhere);
    const made = await stranger.send('POST', '/apps', { name: 'Theirs' });
    expect(made.status).toBe(200);
    const own = await admin.send('GET', '/apps');
    const names = own.body.data.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['Shop']);
    const theirs = await stranger.send('GET', '/apps');
    expect(theirs.body.data).toMatchObject([{ id: made.body.id, name: 'Theirs' }]);
  });

  it('makes an app whose keys work and are shown once, by a person and by a script', async () => {
    for (const send of [admin.send, await scriptOf(t, 'admin')]) {
      const { status, body } = await send('POST', '/apps', { name: 'New shop' });
      expect({ status, plan: body.plan }).toEqual({ status: 200, plan: t.config.defaultPlan });
      expect((await t.request('GET', '/v1/config', { key: body.client_key })).status).toBe(200);
      expect((await t.request('GET', '/v1/devices', { key: body.server_key })).status).toBe(200);
      const read = await send('GET', `/apps/${body.id}`);
      expect(JSON.stringify(read.body)).not.toMatch(/[sc]k_live_/);
    }
  });

  it('lets nobody choose a plan while making an app: only an owner changes plans', async () => {
    const { status, body } = await admin.send('POST', '/apps', { name: 'New shop', plan: 'pro' });
    expect({ status, path: body.issues?.[0].path }).toEqual({ status: 400, path: ['plan'] });
  });

  it('edits all given fields and records each change with its author', async () => {
    const { body: app } = await admin.send('POST', '/apps', { name: 'Edited' });
    const edit = {
      updated_at: app.updated_at,
      name: 'Edited again',
      default_url: 'https://shop.example/',
      attribution_window_hours: 48,
      client_events: { purchases: false },
    };
    const { status, body } = await admin.send('PATCH', `/apps/${app.id}`, edit);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...edit,
      updated_at: expect.any(String),
      client_events: { new_names: true, purchases: false },
    });
    const entries = (await entriesOf('Edited again')).filter(({ action }) => /rename|url|window|events/.test(action));
    expect(entries.map(({ action }) => action).sort()).toEqual([
      'app.default_url',
      'app.events',
      'app.rename',
      'app.window',
    ]);
    for (const { actorKind, actorId, actorName, address } of entries) {
      expect({ actorKind, actorId, actorName, address }).toEqual({
        actorKind: 'person',
        actorId: encodeId('acc', admin.accountId),
        actorName: admin.email,
        address: '127.0.0.1',
      });
    }
  });

  it('tells the second of two people what changed meanwhile, and keeps the first change', async () => {
    const { body: app } = await admin.send('POST', '/apps', { name: 'Contested' });
    const other = await signIn(t, 'owner');
    t.clock.advance(5);
    const first = await other.send('PATCH', `/apps/${app.id}`, { updated_at: app.updated_at, name: 'First' });
    expect(first.status).toBe(200);
    const second = await admin.send('PATCH', `/apps/${app.id}`, { updated_at: app.updated_at, name: 'Second' });
    expect(second.status).toBe(400);
    expect(second.body).toMatchObject({
      error: 'changed_meanwhile',
      present: { name: 'First', updated_at: first.body.updated_at },
      issues: [{ path: ['updated_at'] }],
    });
    expect((await admin.send('GET', `/apps/${app.id}`)).body.name).toBe('First');
  });
});
