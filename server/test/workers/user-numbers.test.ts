// Users are counted by numbers that they get one after the other: whoever has one and whoever has none are counted alike.
import { describe, expect, it } from 'vitest';
import { transaction } from '../../src/platform/db.ts';
import { decodeId } from '../../src/platform/ids.ts';
import { numberUsers } from '../../src/users/number-users.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

const serverOf = (app: TestApp) => t.clientOf(app.serverKey);

/** A device of an app, and whose it is. */
async function addDevice(app: TestApp, externalId: string | null): Promise<string> {
  const id = await t.registerDevice({}, app);
  if (externalId !== null) await serverOf(app).post('/v1/users', { external_id: externalId, device_id: id });
  return id;
}

/** The users of an app who have a device, with their numbers. */
async function numbersOf(app: TestApp): Promise<(number | null)[]> {
  const rows = await t.sql<{ number: number | null }[]>`
    SELECT number FROM users WHERE app_id = ${app.id} AND external_id IN (
      SELECT external_id FROM audience WHERE app_id = ${app.id}) ORDER BY number`;
  return rows.map((row) => row.number);
}

const countUsers = async (app: TestApp): Promise<number> => {
  const filter = { field: 'device.platform', op: 'in', value: ['web', 'ios', 'android'] };
  return (await serverOf(app).post('/v1/segments/preview', { filter })).body.users;
};

describe('numbers of users', () => {
  it('are given to everybody with a device, one behind the other, and change no count', async () => {
    const app = await t.newApp();
    const other = await t.newApp();
    await addDevice(other, 'u-0');
    await addDevice(app, null);
    // More than a block of them, and of the first two everybody has several devices.
    for (let i = 0; i < 40; i++) await addDevice(app, `u-${i}`);
    for (const externalId of ['u-0', 'u-0', 'u-1']) await addDevice(app, externalId);
    await serverOf(app).post('/v1/users', { external_id: 'without a device' });
    expect(await countUsers(app)).toBe(40);
    expect(await numberUsers({ sql: t.sql }, 7)).toBe(true);
    expect(await numbersOf(app)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    expect(await numbersOf(other)).toEqual([1]);
    expect(await countUsers(app)).toBe(40);
    // Of those to come some have a number and some have none.
    for (const externalId of ['u-2', 'new', 'new']) await addDevice(app, externalId);
    expect(await countUsers(app)).toBe(41);
    await numberUsers({ sql: t.sql });
    expect(await countUsers(app)).toBe(41);
    expect((await numbersOf(app)).at(-1)).toBe(41);
    expect(await t.sql`SELECT 1 FROM users WHERE app_id = ${app.id} AND number IS NULL`).toHaveLength(1);
  });

  it('stay with the user, and not with the device', async () => {
    const app = await t.newApp();
    const [first, second] = [await addDevice(app, 'ann'), await addDevice(app, 'bob')];
    await numberUsers({ sql: t.sql });
    const before = await numbersOf(app);
    await serverOf(app).post('/v1/identify', { device_id: second, external_id: 'ann' });
    expect(await countUsers(app)).toBe(1);
    await serverOf(app).post('/v1/identify', { device_id: first, external_id: null });
    expect(await countUsers(app)).toBe(1);
    await serverOf(app).post('/v1/identify', { device_id: first, external_id: 'bob' });
    expect(await countUsers(app)).toBe(2);
    expect(await numbersOf(app)).toEqual(before);
  });

  it('are never given twice: an erased person who comes again is another', async () => {
    const app = await t.newApp();
    for (const externalId of ['ann', 'bob']) await addDevice(app, externalId);
    await numberUsers({ sql: t.sql });
    await serverOf(app).delete('/v1/users/ann');
    await addDevice(app, 'ann');
    await numberUsers({ sql: t.sql });
    expect(await numbersOf(app)).toEqual([2, 3]);
    expect(await countUsers(app)).toBe(2);
  });

  it('reach a device whose row is written by somebody who has read the profile before', async () => {
    const app = await t.newApp();
    const token = `late-${app.id}`;
    const registered = await serverOf(app).post('/v1/devices', { platform: 'android', token });
    const first = registered.body.id;
    await serverOf(app).post('/v1/users', { external_id: 'ann', device_id: first });
    await addDevice(app, 'ann');
    const isWaiting = async (): Promise<boolean> => {
      const rows = await t.sql`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return rows.length > 0;
    };
    // The writer holds its device, as whoever copies a profile does, and writes what it read at last.
    const numbering = await transaction(t.sql, async (tx) => {
      await tx`SELECT 1 FROM devices WHERE app_id = ${app.id} AND id = ${decodeId('dev', first) ?? ''} FOR UPDATE`;
      const [read] = await tx<{ number: number | null }[]>`SELECT number FROM users WHERE app_id = ${app.id}`;
      expect(read).toEqual({ number: null });
      const numbering = numberUsers({ sql: t.sql });
      await expect.poll(isWaiting, { timeout: 10_000 }).toBe(true);
      await tx`
        UPDATE audience SET user_block = NULL, user_bit = NULL
        WHERE app_id = ${app.id} AND device_id = ${decodeId('dev', first) ?? ''}`;
      return { numbering };
    });
    expect(await numbering.numbering).toBe(true);
    expect(await t.sql`SELECT DISTINCT user_block, user_bit FROM audience WHERE app_id = ${app.id}`).toEqual([
      { userBlock: 0, userBit: 2 },
    ]);
    expect(await countUsers(app)).toBe(1);
  });

  it('are given by one process at a time', async () => {
    const app = await t.newApp();
    for (let i = 0; i < 5; i++) await addDevice(app, `u-${i}`);
    const turns = await Promise.all([1, 2, 3].map(() => numberUsers({ sql: t.sql }, 1)));
    expect(turns).toContain(true);
    expect(await numbersOf(app)).toEqual([1, 2, 3, 4, 5]);
  });
});
