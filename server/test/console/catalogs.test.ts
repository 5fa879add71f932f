// Properties and events in the console: what stands in the catalogs, and what each change touches.
import { describe, expect, it } from 'vitest';
import { setup, unknownId } from '../setup.ts';
import { scriptOf, signIn } from './console.ts';

const t = await setup({ workers: false });
const viewer = await signIn(t, 'viewer');
const member = await signIn(t, 'member');
const admin = await signIn(t, 'admin');
const { body: made } = await admin.send('POST', '/apps', { name: 'Catalogued' });
const server = t.clientOf(made.server_key);
const client = t.clientOf(made.client_key);
const at = (path: string): string => `/apps/${made.id}${path}`;

const device = (
  await server.post('/v1/devices', {
    platform: 'web',
    token: t.pushSubscription(),
    properties: { topic: 'sport' },
  })
).body.id as string;
await server.post('/v1/users', { external_id: 'u-1', properties: { plan: 'pro', age: 30 }, device_id: device });
await server.post('/v1/users', { external_id: 'u-2', properties: { plan: 'free' } });
const pros = (
  await server.post('/v1/segments', {
    name: 'Pros',
    filter: { not: { field: 'properties.plan', op: 'eq', value: 'free' } },
  })
).body.id as string;
const today = () => t.clock.date().toISOString().slice(0, 10);

/** The newest entry of the audit log. */
async function newestEntry() {
  const [row] =
    await t.sql`SELECT action, actor_name, target, before, after FROM audit_entries ORDER BY id DESC LIMIT 1`;
  return row;
}

describe('properties', () => {
  it('are listed by key with their users, segments and, for members, samples', async () => {
    const { body } = await member.send('GET', at('/properties'));
    expect(body.data.map(({ key }: { key: string }) => key)).toEqual(['age', 'plan', 'topic']);
    expect(body.data[1]).toMatchObject({
      key: 'plan',
      type: 'string',
      users_count: 2,
      samples: ['pro', 'free'],
      conflict_days: [],
      segments: [{ id: pros, name: 'Pros' }],
    });
    expect(body.builtins.length).toBeGreaterThan(10);
    const { samples: _values, ...withoutValues } = body.data[1];
    expect((await viewer.send('GET', at('/properties?q=PL'))).body.data).toEqual([withoutValues]);
    expect((await viewer.send('GET', at('/properties/plan'))).body).toEqual(withoutValues);
    expect((await viewer.send('GET', at('/properties/none'))).status).toBe(404);
    const first = (await member.send('GET', at('/properties?limit=2'))).body;
    const rest = (await member.send('GET', at(`/properties?limit=2&cursor=${first.next_cursor}`))).body;
    expect([...first.data, ...rest.data]).toEqual(body.data);
  });

  it('are declared, changed and deleted by an admin, and each answer lists the affected values and segments', async () => {
    const key = { key: 'size', type: 'number' };
    expect((await member.send('POST', at('/properties'), key)).status).toBe(403);
    expect((await admin.send('POST', at('/properties'), key)).body).toEqual({
      ...key,
      removed: { users: 0, devices: 0 },
      segments: [],
    });
    expect(await newestEntry()).toMatchObject({ action: 'property.declare', actorName: admin.email, target: 'size' });
    const twice = await admin.send('POST', at('/properties'), key);
    expect(twice.body.issues).toMatchObject([{ path: ['key'], code: 'name_taken' }]);
    const wrong = await admin.send('POST', at('/properties'), { key: '1 size', type: 'number' });
    expect(wrong.body.issues).toMatchObject([{ path: ['key'], code: 'invalid_format' }]);

    const touched = { users: 2, devices: 0 };
    const segments = [{ id: pros, name: 'Pros' }];
    expect((await member.send('GET', at('/properties/plan/consequences'))).status).toBe(403);
    expect((await admin.send('GET', at('/properties/plan/consequences'))).body).toEqual({
      key: 'plan',
      type: 'string',
      values: touched,
      segments,
    });
    expect((await admin.send('GET', at('/properties/topic/consequences'))).body.values).toEqual({
      users: 0,
      devices: 1,
    });
    const same = await admin.send('PATCH', at('/properties/plan'), { type: 'string' });
    expect(same.body.issues).toMatchObject([{ path: ['type'], code: 'invalid_value' }]);
    expect((await admin.send('PATCH', at('/properties/plan'), { type: 'number' })).body).toEqual({
      key: 'plan',
      type: 'number',
      removed: touched,
      segments,
    });
    expect(await newestEntry()).toMatchObject({ action: 'property.change', target: 'plan' });
    expect((await viewer.send('GET', at(`/segments/${pros}`))).body).toMatchObject({ valid: false });
    expect((await admin.send('DELETE', at('/properties/plan'))).body).toMatchObject({ key: 'plan', segments });
    expect(await newestEntry()).toMatchObject({ action: 'property.delete', target: 'plan' });
    for (const [method, body] of [
      ['PATCH', { type: 'number' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await admin.send(method, at('/properties/plan'), body)).status).toBe(404);
    }
  });
});

describe('events', () => {
  it('are listed by name with counts by day, and one name with its properties', async () => {
    const track = (name: string, properties: object, daysAgo = 0) =>
      server.post('/v1/events', {
        name,
        properties,
        device_id: device,
        occurred_at: new Date(t.clock.nowMs() - daysAgo * 86_400_000).toISOString(),
      });
    await track('opened', { page: 'home' });
    await track('opened', { page: 'shop', size: 3 }, 2);
    await track('opened', { page: 'home' }, 40);
    await track('Ordered', {});
    const { body } = await member.send('GET', at('/events'));
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['Ordered', 'opened']);
    const opened = body.data[1];
    expect(opened).toMatchObject({
      name: 'opened',
      count: 3,
      properties: [
        { key: 'page', type: 'string', samples: ['home', 'shop'] },
        { key: 'size', type: 'number', samples: [3] },
      ],
    });
    expect(opened.days.map(({ count }: { count: number }) => count)).toEqual([...Array(11).fill(0), 1, 0, 1]);
    expect(opened.days.at(-1).day).toBe(today());
    expect((await member.send('GET', at('/events/opened'))).body).toEqual(opened);
    const properties = [
      { key: 'page', type: 'string' },
      { key: 'size', type: 'number' },
    ];
    expect((await viewer.send('GET', at('/events?q=OP'))).body.data).toEqual([{ ...opened, properties }]);
  });

  it('of a name are read by a member, the latest first, in pages', async () => {
    expect((await viewer.send('GET', at('/events/opened/recent'))).status).toBe(403);
    const { body } = await member.send('GET', at('/events/opened/recent?limit=2'));
    expect(body).toMatchObject({
      has_more: true,
      data: [
        { external_id: 'u-1', device_id: device, properties: { page: 'home' } },
        { properties: { page: 'shop', size: 3 } },
      ],
    });
    const rest = await member.send('GET', at(`/events/opened/recent?limit=2&cursor=${body.next_cursor}`));
    expect(rest.body).toMatchObject({ has_more: false, data: [{ properties: { page: 'home' } }] });
    const other = at(`/events/Ordered/recent?cursor=${body.next_cursor}`);
    expect((await member.send('GET', other)).status).toBe(400);
    expect((await member.send('GET', at('/events/never/recent'))).status).toBe(404);
  });

  it('of an erased person are shown nowhere from that moment on, and none of their samples', async () => {
    const own = (await client.post('/v1/devices', { platform: 'web', token: t.pushSubscription() })).body.id as string;
    await server.post('/v1/users', { external_id: 'gone', device_id: own });
    await server.post('/v1/events', { name: 'signed', external_id: 'gone', properties: { mail: 'gone@shop.example' } });
    await server.post('/v1/events', { name: 'signed', external_id: 'u-2', properties: { mail: 'ben@shop.example' } });
    const shown = async () =>
      JSON.stringify([
        (await member.send('GET', at('/events/signed/recent'))).body,
        (await viewer.send('GET', at('/events?q=signed'))).body,
      ]);
    expect(await shown()).toContain('gone@shop.example');
    await server.delete('/v1/users/gone');
    expect(await shown()).toContain('ben@shop.example');
    expect(await shown()).not.toMatch(/gone/);
  });
});

it('unknown ids are 404 in every place of these areas', async () => {
  for (const path of [`/segments/${unknownId('seg')}`, '/properties/nothing', '/events/nothing']) {
    expect((await viewer.send('GET', at(path))).status).toBe(404);
  }
});

// Last, because its days pass: sessions end meanwhile, and an operator token goes on.
it('properties show on which days values of another type came, for thirty days', async () => {
  const script = await scriptOf(t, 'viewer');
  const conflict = async (): Promise<void> => {
    await server.post('/v1/users', { external_id: 'u-1', properties: { age: 'thirty' } });
  };
  const days = async () => (await script('GET', at('/properties/age'))).body.conflict_days;
  const first = today();
  await conflict();
  expect(await days()).toEqual([{ day: first, count: 1 }]);
  t.clock.advance(86_400_000);
  await conflict();
  await conflict();
  expect(await days()).toEqual([
    { day: first, count: 1 },
    { day: today(), count: 2 },
  ]);
  t.clock.advance(29 * 86_400_000);
  expect((await days()).map(({ count }: { count: number }) => count)).toEqual([2]);
  await conflict();
  const [row] = await t.sql<{ stored: object }[]>`SELECT conflict_days AS stored FROM properties WHERE key = 'age'`;
  expect(Object.keys(row?.stored ?? {})).not.toContain(first);
  expect((await script('GET', at('/properties/age'))).body.conflicts_count).toBe(4);
});
