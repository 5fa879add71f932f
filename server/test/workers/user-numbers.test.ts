// Users are counted by numbers that they get one after another. Users with and without a number
// must be counted alike.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { checkUserNumbers } from '../../src/cli/doctor-queries.ts';
import { transaction } from '../../src/database/db.ts';
import { decodeId, type Uuid } from '../../src/ground/ids.ts';
import { takeUserNumbers } from '../../src/users/number-queries.ts';
import { numberUsers } from '../../src/users/number-users.ts';
import { createNumbersAtHand } from '../../src/users/numbers-at-hand.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

const serverOf = (app: TestApp) => t.clientOf(app.serverKey);

/** Registers a device and links it to a user, if one is given. */
async function addDevice(app: TestApp, externalId: string | null): Promise<string> {
  const id = await t.registerDevice({}, app);
  if (externalId !== null) await serverOf(app).post('/v1/users', { external_id: externalId, device_id: id });
  return id;
}

/** Removes the numbers, as in an app from before users had numbers. */
async function forgetNumbers(app: TestApp): Promise<void> {
  await t.sql`UPDATE users SET number = NULL WHERE app_id = ${app.id}`;
  await t.sql`UPDATE audience SET user_block = NULL, user_bit = 0 WHERE app_id = ${app.id}`;
}

async function numbersOf(app: TestApp): Promise<Map<string, number | null>> {
  const rows = await t.sql<{ externalId: string; number: number | null }[]>`
    SELECT external_id, number FROM users WHERE app_id = ${app.id} ORDER BY external_id`;
  return new Map(rows.map(({ externalId, number }) => [externalId, number]));
}

async function countUsers(app: TestApp): Promise<number> {
  const filter = { field: 'device.platform', op: 'in', value: ['web', 'ios', 'android'] };
  return (await serverOf(app).post('/v1/segments/preview', { filter })).body.users;
}

/** The faults that the doctor finds in an app's numbers. */
async function faultsOf(app: TestApp): Promise<object | undefined> {
  const found = (await checkUserNumbers(t.sql, 100)).find(({ appId }) => appId === app.id);
  return found && { split: found.split, shared: found.shared, early: found.early };
}

/** Runs the statements of docs/self-hosting.md that number an app's users again. */
async function numberAnew(app: TestApp): Promise<void> {
  const page = await readFile(new URL('../../../docs/self-hosting.md', import.meta.url), 'utf8');
  const statements = /```sql\n(BEGIN;\nLOCK TABLE people, [^`]+)```/.exec(page)?.[1] ?? '';
  expect(statements).toContain('COMMIT;');
  const connection = await t.sql.reserve();
  try {
    await connection.unsafe(statements.replaceAll('…', app.id));
  } finally {
    connection.release();
  }
  await numberUsers({ sql: t.sql });
}

describe('numbers of users', () => {
  it('are given to every user with a device, in sequence, and change no count', async () => {
    const app = await t.newApp();
    const other = await t.newApp();
    await addDevice(other, 'u-00');
    await addDevice(app, null);
    // More users than one block holds, of whom two have several devices.
    const names = Array.from({ length: 40 }, (_, i) => `u-${String(i).padStart(2, '0')}`);
    for (const name of names) await addDevice(app, name);
    for (const name of ['u-00', 'u-00', 'u-01']) await addDevice(app, name);
    await serverOf(app).post('/v1/users', { external_id: 'without a device' });
    expect(await countUsers(app)).toBe(40);
    await forgetNumbers(app);
    expect(await countUsers(app)).toBe(40);
    expect(await numberUsers({ sql: t.sql }, 7)).toBe(true);
    expect(await countUsers(app)).toBe(40);
    expect(await countUsers(other)).toBe(1);
    const numbers = await numbersOf(app);
    const given = names.map((name) => numbers.get(name) ?? 0);
    expect(new Set(given).size).toBe(40);
    expect(Math.max(...given) - Math.min(...given)).toBeLessThan(42);
    expect(numbers.get('without a device')).toBeNull();
    // Every row has been worked, also the row of the device without a user.
    expect(await t.sql`SELECT 1 FROM audience WHERE app_id = ${app.id} AND user_bit = 0`).toHaveLength(0);
  });

  it('are counted together with users who have none yet', async () => {
    const app = await t.newApp();
    for (const name of ['ann', 'ann', 'bob']) await addDevice(app, name);
    await forgetNumbers(app);
    await numberUsers({ sql: t.sql });
    for (const name of ['cat', 'cat', 'dan']) await addDevice(app, name);
    await t.sql`UPDATE users SET number = NULL WHERE app_id = ${app.id} AND external_id = 'cat'`;
    await t.sql`UPDATE audience SET user_block = NULL, user_bit = 0 WHERE app_id = ${app.id} AND external_id = 'cat'`;
    expect(await countUsers(app)).toBe(4);
    await addDevice(app, 'cat');
    await addDevice(app, 'ann');
    expect(await countUsers(app)).toBe(4);
    await numberUsers({ sql: t.sql });
    expect(await countUsers(app)).toBe(4);
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

  it('are never given twice: an erased person who returns is a new user', async () => {
    const app = await t.newApp();
    for (const name of ['ann', 'bob']) await addDevice(app, name);
    await numberUsers({ sql: t.sql });
    const before = await numbersOf(app);
    await serverOf(app).delete('/v1/users/ann');
    await addDevice(app, 'ann');
    await numberUsers({ sql: t.sql });
    const after = await numbersOf(app);
    expect([...before.values()]).not.toContain(after.get('ann'));
    expect(after.get('bob')).toBe(before.get('bob'));
    expect(await countUsers(app)).toBe(2);
  });

  it('reach a device whose row is written by a transaction that had read the profile before', async () => {
    const app = await t.newApp();
    const [first] = [await addDevice(app, 'ann'), await addDevice(app, 'ann')];
    const deviceId = decodeId('dev', first) as Uuid;
    await forgetNumbers(app);
    // A process that copies a profile locks the device, and at its end writes what was read
    // meanwhile.
    const { numbering } = await transaction(t.sql, async (tx) => {
      await tx`SELECT 1 FROM devices WHERE app_id = ${app.id} AND id = ${deviceId} FOR UPDATE`;
      const numbering = numberUsers({ sql: t.sql });
      await untilLockWaits(t.sql, 1, { name: 'tests' });
      await tx`
        UPDATE audience SET user_block = NULL, user_bit = 0 WHERE app_id = ${app.id} AND device_id = ${deviceId}`;
      return { numbering };
    });
    expect(await numbering).toBe(true);
    const places = await t.sql`SELECT DISTINCT user_block, user_bit FROM audience WHERE app_id = ${app.id}`;
    expect(places).toHaveLength(1);
    expect(places[0]?.['userBit']).not.toBe(0);
    expect(await countUsers(app)).toBe(1);
  });

  it('are given by one process at a time, and a user whose number cannot be given does not block others', async () => {
    const app = await t.newApp();
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const name of names) await addDevice(app, name);
    await forgetNumbers(app);
    await t.sql`DELETE FROM users WHERE app_id = ${app.id} AND external_id = 'a'`;
    const turns = await Promise.all([1, 2, 3].map(() => numberUsers({ sql: t.sql }, 1)));
    expect(turns).toContain(true);
    const given = [...(await numbersOf(app)).values()];
    expect(given).toHaveLength(4);
    expect(given).not.toContain(null);
    expect(new Set(given).size).toBe(4);
    expect(await countUsers(app)).toBe(5);
  });

  it('in stock belong to one process, however many take some at once', async () => {
    const app = await t.newApp();
    const processes = Array.from({ length: 3 }, () => createNumbersAtHand({ sql: t.sql }));
    const taken: number[] = [];
    const takeUntil = async (numbers: (typeof processes)[number], count: number): Promise<void> => {
      for (let done = 0; done < count; ) {
        const number = numbers.next(app.id);
        if (number === null) await t.sql`SELECT 1`;
        else {
          taken.push(number);
          done++;
        }
      }
    };
    const others = Promise.all([takeUserNumbers(t.sql, app.id, 5), takeUserNumbers(t.sql, app.id, 5)]);
    await Promise.all(processes.map((numbers) => takeUntil(numbers, 200)));
    const ranges = (await others).flatMap((first) => Array.from({ length: 5 }, (_, i) => first + i));
    const all = [...taken, ...ranges];
    expect(new Set(all).size).toBe(610);
    expect(Math.min(...all)).toBeGreaterThan(0);
  });

  it('that are wrong are found by the doctor, and after its instructions count everybody once', async () => {
    const app = await t.newApp();
    for (const name of ['u-1', 'u-1', 'u-2', 'u-3', 'u-4', null]) await addDevice(app, name);
    await numberUsers({ sql: t.sql });
    const sound = { split: 0, shared: 0, early: 0 };
    expect([await countUsers(app), await faultsOf(app)]).toEqual([4, sound]);

    // u-2 and u-3 share a number, and one of the two devices of u-1 has lost its number.
    await t.sql`
      UPDATE audience a SET user_block = o.user_block, user_bit = o.user_bit FROM audience o
      WHERE a.app_id = ${app.id} AND a.external_id = 'u-3' AND o.app_id = a.app_id AND o.external_id = 'u-2'`;
    await t.sql`
      UPDATE audience SET user_block = NULL, user_bit = 0 WHERE device_id = (
        SELECT device_id FROM audience WHERE app_id = ${app.id} AND external_id = 'u-1' ORDER BY device_id LIMIT 1)`;
    expect(await faultsOf(app)).toEqual({ ...sound, split: 1, shared: 1 });
    await numberAnew(app);
    expect([await countUsers(app), await faultsOf(app)]).toEqual([4, sound]);

    // As after a restore of one table alone.
    await t.sql`UPDATE user_numbers SET next_number = 1 WHERE app_id = ${app.id}`;
    expect(await faultsOf(app)).toEqual({ ...sound, early: 4 });
    await numberAnew(app);
    expect([await countUsers(app), await faultsOf(app)]).toEqual([4, sound]);
  });
});
