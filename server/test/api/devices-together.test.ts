// Registrations that arrive together share transactions. The tests count the transactions and check
// that each request has its own answer.
import { expect, it } from 'vitest';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false, environment: { TRUSTED_PROXIES: '127.0.0.1', NEW_DEVICES_PER_MINUTE: '20' } });

interface Fields {
  readonly token?: object;
  readonly model?: string;
}

const register = (app: TestApp, { token = t.pushSubscription(), model }: Fields = {}, key = app.serverKey) =>
  t.request('POST', '/v1/devices', { key, body: { platform: 'web', token, ...(model && { model }) } });
const many = <Result>(count: number, one: (i: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)));

/** How many transactions wrote the current rows of the app's devices. */
async function countTransactions(app: TestApp): Promise<number> {
  const [row] = await t.sql<{ count: number }[]>`
    SELECT count(DISTINCT xmin::text) AS count FROM devices WHERE app_id = ${app.id}`;
  return row?.count ?? 0;
}

it('100 devices that register at once are stored in a few transactions, the first time and the second', async () => {
  const app = await t.newApp();
  const tokens = Array.from({ length: 100 }, () => t.pushSubscription());
  const made = await many(100, (i) => register(app, { token: tokens[i] ?? {}, model: `model ${i}` }));
  for (const [i, { status, body }] of made.entries()) {
    expect([status, body.created, body.model]).toEqual([200, true, `model ${i}`]);
  }
  expect(await countTransactions(app)).toBeLessThan(30);
  const again = await many(100, (i) => register(app, { token: tokens[i] ?? {} }));
  for (const [i, { status, body }] of again.entries()) {
    expect([status, body.created, body.id, body.model]).toEqual([200, false, made[i]?.body.id, `model ${i}`]);
  }
  expect(await countTransactions(app)).toBeLessThan(30);
});

it('R-63 equal tokens in many concurrent registrations make one device each', async () => {
  const app = await t.newApp();
  const tokens = Array.from({ length: 5 }, () => t.pushSubscription());
  const answers = await many(50, (i) => register(app, { token: tokens[i % 5] ?? {} }));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(5);
  expect(answers.filter(({ body }) => body.created)).toHaveLength(5);
});

it('devices that opted out become active again, even among new ones', async () => {
  const app = await t.newApp();
  const tokens = Array.from({ length: 20 }, () => t.pushSubscription());
  const made = await many(20, (i) => register(app, { token: tokens[i] ?? {} }));
  for (const { body } of made.slice(0, 5)) await t.clientOf(app.serverKey).delete(`/v1/devices/${body.id}`);
  const again = await many(20, (i) => register(app, { token: tokens[i] ?? {} }));
  expect(again.map(({ body }) => body.id)).toEqual(made.map(({ body }) => body.id));
  const [row] = await t.sql`
    SELECT count(*) FILTER (WHERE d.status = 'active' AND a.active) AS active
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id WHERE d.app_id = ${app.id}`;
  expect(row).toEqual({ active: 20 });
});

it('a registration that the database refuses fails no other', async () => {
  const app = await t.newApp();
  await t.sql`ALTER TABLE audience ADD CONSTRAINT never CHECK (model <> 'never') NOT VALID`;
  const answers = await many(40, (i) => register(app, { model: i === 20 ? 'never' : 'phone' }));
  await t.sql`ALTER TABLE audience DROP CONSTRAINT never`;
  expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([500]);
  const [row] = await t.sql`
    SELECT (SELECT count(*) FROM devices WHERE app_id = ${app.id}) AS devices,
      (SELECT count(*) FROM audience WHERE app_id = ${app.id}) AS rows,
      (SELECT count(*) FROM device_tokens WHERE app_id = ${app.id}) AS tokens`;
  expect(row).toEqual({ devices: 39, rows: 39, tokens: 39 });
});

it('of many new devices above the limit of an address, each excess one is refused and leaves no token', async () => {
  const app = await t.newApp();
  const answers = await many(50, () => register(app, {}, app.clientKey));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
  expect(answers.filter(({ status, body }) => status === 429 && body.error === 'rate_limited')).toHaveLength(30);
  const [row] = await t.sql`SELECT count(*) AS tokens FROM device_tokens WHERE app_id = ${app.id}`;
  expect(row).toEqual({ tokens: 20 });
});
