// At most 100 active devices per user (contract 8), because each update of a user is written to all
// of them.
import { describe, expect, it } from 'vitest';
import { decodeId, type Uuid } from '../../src/ground/values/ids.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

/**
 * An app with a user who has this many devices, the oldest first. They are made at once but have
 * the dates of years.
 */
async function userWith(count: number, { reached = true, active = true } = {}) {
  const app = await t.newApp();
  await t.registerMany(count, app);
  const server = t.clientOf(app.serverKey);
  const client = t.clientOf(app.clientKey);
  await server.post('/v1/users', { external_id: 'u-1' });
  const [user] = await t.sql<
    { id: Uuid; createdAt: Date }[]
  >`SELECT id, created_at FROM users WHERE app_id = ${app.id}`;
  await t.sql`
    UPDATE audience SET user_id = ${user?.id ?? ''}, external_id = 'u-1', user_created_at = ${user?.createdAt ?? null},
      active = ${active}
    WHERE app_id = ${app.id}`;
  await t.sql`
    UPDATE devices SET is_reached = ${reached}, identified_at = now() ${active ? t.sql`` : t.sql`, status = 'invalid', status_reason = 'unregistered'`}
    WHERE app_id = ${app.id}`;
  return { app, server, client };
}

const devicesOf = async (app: TestApp): Promise<Uuid[]> => {
  const rows = await t.sql<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${app.id} AND external_id = 'u-1' ORDER BY created_at, device_id`;
  return rows.map(({ deviceId }) => deviceId);
};

async function anonymous(app: TestApp): Promise<string> {
  return t.registerDevice({}, app);
}

describe('a link beyond 100 active devices', () => {
  it('by client key is 400 with the limit when all of them were reached, and links nothing', async () => {
    const { app, client } = await userWith(100);
    const device_id = await anonymous(app);
    const { status, body } = await client.post('/v1/identify', { device_id, external_id: 'u-1' });
    expect({ status, issues: body.issues }).toEqual({
      status: 400,
      issues: [{ path: ['device_id'], code: 'too_big', message: expect.any(String), limit: 100 }],
    });
    expect(await devicesOf(app)).toHaveLength(100);
  });

  it('by client key unlinks the oldest device that no push ever reached', async () => {
    const { app, client } = await userWith(100);
    const before = await devicesOf(app);
    const [, , third = '', fourth = ''] = before;
    await t.sql`UPDATE devices SET is_reached = false WHERE id IN (${third}, ${fourth})`;
    const device_id = await anonymous(app);
    const { status, body } = await client.post('/v1/identify', { device_id, external_id: 'u-1' });
    expect([status, body.external_id]).toEqual([200, 'u-1']);
    const after = await devicesOf(app);
    expect(after).toEqual([...before.filter((id) => id !== third), decodeId('dev', device_id)]);
    const [unlinked] = await t.sql`
      SELECT d.identified_at, a.user_id, a.active FROM devices d JOIN audience a ON a.device_id = d.id WHERE d.id = ${third}`;
    expect(unlinked).toEqual({ identifiedAt: null, userId: null, active: true });
  });

  it.each([
    [
      'POST /v1/identify',
      async (server: ReturnType<typeof t.clientOf>, device_id: string) =>
        server.post('/v1/identify', { device_id, external_id: 'u-1' }),
    ],
    [
      'POST /v1/users',
      async (server: ReturnType<typeof t.clientOf>, device_id: string) =>
        server.post('/v1/users', { external_id: 'u-1', device_id }),
    ],
  ])('by server key, %s, unlinks the one seen longest ago when all were reached', async (_what, link) => {
    const { app, server } = await userWith(100);
    const [, second = ''] = await devicesOf(app);
    await t.sql`UPDATE audience SET last_seen_at = now() - interval '1 year' WHERE device_id = ${second}`;
    const device_id = await anonymous(app);
    expect((await link(server, device_id)).status).toBe(200);
    const after = await devicesOf(app);
    expect(after).toHaveLength(100);
    expect(after).not.toContain(second);
    expect(after).toContain(decodeId('dev', device_id));
  });

  it('by server keys that arrive together leaves 100: those of the last upserts', async () => {
    const { app, server } = await userWith(100);
    const ids = await Promise.all(Array.from({ length: 20 }, () => anonymous(app)));
    const answers = await Promise.all(
      ids.map((device_id) => server.post('/v1/users', { external_id: 'u-1', device_id })),
    );
    expect(answers.map(({ status, body }) => [status, body.devices.length])).toEqual(answers.map(() => [200, 100]));
    const after = await devicesOf(app);
    expect(after).toHaveLength(100);
    // None of the new devices was reached, so each makes room for the next.
    expect(ids.filter((id) => after.includes(decodeId('dev', id) ?? ''))).toHaveLength(1);
  });

  it('keeps the number for a user who has more: one device is unlinked for each new one', async () => {
    const { app, client } = await userWith(150, { reached: false });
    const device_id = await anonymous(app);
    expect((await client.post('/v1/identify', { device_id, external_id: 'u-1' })).status).toBe(200);
    expect(await devicesOf(app)).toHaveLength(150);
  });

  it('does not occur when the device is the user’s already, and log-outs always work', async () => {
    const { app, client, server } = await userWith(100);
    const [mine = ''] = await devicesOf(app);
    const { data } = (await server.get('/v1/devices?limit=200')).body;
    const device_id = data.find(({ id }: { id: string }) => decodeId('dev', id) === mine).id;
    expect((await client.post('/v1/identify', { device_id, external_id: 'u-1' })).status).toBe(200);
    expect((await client.post('/v1/identify', { device_id, external_id: null })).status).toBe(200);
    expect(await devicesOf(app)).toHaveLength(99);
    expect((await client.post('/v1/identify', { device_id, external_id: 'u-1' })).status).toBe(200);
  });

  it('racing with others leaves 100', async () => {
    const { app, client } = await userWith(95, { reached: false });
    const ids = await Promise.all(Array.from({ length: 20 }, () => anonymous(app)));
    const answers = await Promise.all(
      ids.map((device_id) => client.post('/v1/identify', { device_id, external_id: 'u-1' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await devicesOf(app)).toHaveLength(100);
  });
});

describe("a stranger's other ways to add devices", () => {
  it('are bounded for inactive devices as well: the one seen longest ago is unlinked', async () => {
    const { app, client } = await userWith(100, { active: false });
    const device_id = await anonymous(app);
    expect((await client.post('/v1/identify', { device_id, external_id: 'u-1' })).status).toBe(200);
    expect(await devicesOf(app)).toHaveLength(100);
  });

  it('end without a user for a device that comes back while its user has 100 others', async () => {
    const { app, client } = await userWith(100);
    const token = t.pushSubscription();
    const { body } = await client.post('/v1/devices', { platform: 'web', token });
    const uuid = decodeId('dev', body.id) ?? '';
    await t.sql`
      UPDATE audience a SET user_id = o.user_id, external_id = o.external_id, user_created_at = o.user_created_at,
        active = false
      FROM (SELECT user_id, external_id, user_created_at FROM audience WHERE app_id = ${app.id} AND user_id IS NOT NULL LIMIT 1) o
      WHERE a.device_id = ${uuid}`;
    await t.sql`UPDATE devices SET status = 'invalid', status_reason = 'unregistered' WHERE id = ${uuid}`;
    expect((await client.post('/v1/devices', { platform: 'web', token })).body).toMatchObject({ id: body.id });
    expect(await devicesOf(app)).toHaveLength(100);
    expect(await devicesOf(app)).not.toContain(uuid);
  });
});
