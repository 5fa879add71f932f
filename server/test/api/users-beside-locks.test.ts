// Upserts that arrive together while another transaction holds one of their users or devices: the
// upsert that needs the held row waits, and no other upsert waits with it.

import { type Tx, transaction } from '@carillon/postgres';
import { expect, it } from 'vitest';
import { decodeId, encodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

const upsert = (app: TestApp, body: object) => t.clientOf(app.serverKey).post('/v1/users', body);
const readUser = async (app: TestApp, id: string) => (await t.clientOf(app.serverKey).get(`/v1/users/${id}`)).body;
const many = <Result>(count: number, one: (i: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)));
const all = Array.from({ length: 60 }, (_, i) => i);

/** Makes 60 users of whom each has a device. */
async function fill(app: TestApp): Promise<string[]> {
  return many(60, async (i) => {
    const body = { platform: 'web', token: t.pushSubscription() };
    const device_id: string = (await t.clientOf(app.serverKey).post('/v1/devices', body)).body.id;
    await upsert(app, { external_id: `u-${i}`, device_id });
    return device_id;
  });
}

/** Upserts all users while `hold` holds the row of user 7, and resolves once that one alone is open. */
async function upsertBeside(app: TestApp, hold: (tx: Tx) => Promise<unknown>): Promise<void> {
  const done = new Set<number>();
  let held: Promise<{ readonly status: number }> | undefined;
  await transaction(t.sql, async (tx) => {
    await hold(tx);
    const answers = all.map(async (i) => {
      const answer = await upsert(app, { external_id: `u-${i}`, first_name: 'Ada', properties: { place: i } });
      done.add(i);
      return answer;
    });
    held = answers[7];
    const others = await Promise.all(answers.filter((_, i) => i !== 7));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
    expect(done).toEqual(new Set(all.filter((i) => i !== 7)));
  });
  expect((await held)?.status).toBe(200);
  expect(await readUser(app, 'u-7')).toMatchObject({ first_name: 'Ada', properties: { place: 7 } });
}

it('R-102 one user who is locked holds up no other upsert that arrived together with theirs', async () => {
  const app = await t.newApp();
  await fill(app);
  await upsertBeside(app, (tx) => tx`SELECT 1 FROM people WHERE app_id = ${app.id} AND external_id = 'u-7' FOR UPDATE`);
});

it('R-102 an uncommitted insert of a user holds up no upsert of another user', async () => {
  const app = await t.newApp();
  const userId = mintUuid();
  await upsertBeside(
    app,
    (tx) => tx`INSERT INTO people (app_id, external_id, user_id) VALUES (${app.id}, 'u-7', ${userId})`,
  );
  expect((await readUser(app, 'u-7')).id).toBe(encodeId('usr', userId));
});

/** Holds the device of user 7. */
const holdDevice = (app: TestApp) => (tx: Tx) =>
  tx`
  SELECT 1 FROM devices WHERE app_id = ${app.id} AND id = (
    SELECT device_id FROM audience WHERE app_id = ${app.id} AND external_id = 'u-7') FOR UPDATE`;

it('R-102 one device that is locked holds up no upsert of another user', async () => {
  const app = await t.newApp();
  await fill(app);
  await upsertBeside(app, holdDevice(app));
});

it('R-102 a locked device of nobody holds up no upsert that names no device', async () => {
  const app = await t.newApp();
  await fill(app);
  const body = { platform: 'web', token: t.pushSubscription() };
  const device_id: string = (await t.clientOf(app.serverKey).post('/v1/devices', body)).body.id;
  let linking: ReturnType<typeof upsert> | undefined;
  await transaction(t.sql, async (tx) => {
    await tx`SELECT 1 FROM devices WHERE app_id = ${app.id} AND id = ${decodeId('dev', device_id) ?? ''} FOR UPDATE`;
    linking = upsert(app, { external_id: 'u-8', device_id });
    const others = await many(30, (i) => upsert(app, { external_id: `u-${i + 10}`, first_name: 'Ada' }));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
  });
  expect((await linking)?.body.devices).toContain(device_id);
});

it('R-102 an upsert that links a locked device waits alone', async () => {
  const app = await t.newApp();
  const devices = await fill(app);
  let linking: ReturnType<typeof upsert> | undefined;
  await transaction(t.sql, async (tx) => {
    await holdDevice(app)(tx);
    linking = upsert(app, { external_id: 'u-8', device_id: devices[7] });
    const others = await many(6, (i) => upsert(app, { external_id: `u-${i}`, first_name: 'Ada' }));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
  });
  expect((await linking)?.body.devices).toEqual(expect.arrayContaining([devices[7], devices[8]]));
});
