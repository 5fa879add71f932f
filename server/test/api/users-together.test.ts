// Upserts that arrive together share transactions. The tests count the transactions and check that
// each request has its own answer and its own refusal.
import { expect, it } from 'vitest';
import { setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

const upsert = (app: TestApp, body: object) => t.clientOf(app.serverKey).post('/v1/users', body);
const readUser = async (app: TestApp, id: string) => (await t.clientOf(app.serverKey).get(`/v1/users/${id}`)).body;
const many = <Result>(count: number, one: (i: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)));

async function newDevice(app: TestApp): Promise<string> {
  const body = { platform: 'web', token: t.pushSubscription() };
  return (await t.clientOf(app.serverKey).post('/v1/devices', body)).body.id;
}

/** How many transactions wrote the current rows of the app's profiles. */
async function countTransactions(app: TestApp): Promise<number> {
  const [row] = await t.sql<{ count: number }[]>`
    SELECT count(DISTINCT xmin::text) AS count FROM users WHERE app_id = ${app.id}`;
  return row?.count ?? 0;
}

it('100 users who are upserted at once are stored in a few transactions, the first time and the second', async () => {
  const app = await t.newApp();
  const made = await many(100, (i) => upsert(app, { external_id: `u-${i}`, properties: { place: i } }));
  for (const [i, { status, body }] of made.entries()) {
    expect([status, body.created, body.external_id, body.properties]).toEqual([200, true, `u-${i}`, { place: i }]);
  }
  expect(await countTransactions(app)).toBeLessThan(30);
  const again = await many(100, (i) => upsert(app, { external_id: `u-${i}`, first_name: `name ${i}` }));
  for (const [i, { status, body }] of again.entries()) {
    expect([status, body.created, body.id, body.first_name]).toEqual([200, false, made[i]?.body.id, `name ${i}`]);
    expect(body.properties).toEqual({ place: i });
  }
  expect(await countTransactions(app)).toBeLessThan(30);
});

it('a refusal of one upsert fails no other and leaves nothing of its own', async () => {
  const app = await t.newApp();
  const of = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, i]));
  const refused: Readonly<Record<number, object>> = {
    3: { device_id: unknownId('dev'), properties: { lost: 1 } },
    11: { properties: of('many', 101) },
    17: { device_id: unknownId('dev') },
  };
  const answers = await many(40, (i) =>
    upsert(app, { external_id: `u-${i}`, properties: { place: i }, ...refused[i] }),
  );
  const statuses = answers.map(({ status }) => status);
  expect(statuses).toEqual(statuses.map((_, i) => (i === 11 ? 400 : i in refused ? 404 : 200)));
  expect(answers[11]?.body.issues).toMatchObject([{ code: 'too_many_properties' }]);
  const { body: catalog } = await t.clientOf(app.serverKey).get('/v1/properties');
  expect(catalog.data.map(({ key, users_count }: { key: string; users_count: number }) => [key, users_count])).toEqual([
    ['place', 37],
  ]);
  for (const i of [3, 11, 17]) expect((await readUser(app, `u-${i}`)).error).toBe('not_found');
});

it('an upsert that the database refuses fails no other', async () => {
  const app = await t.newApp();
  await t.sql`ALTER TABLE users ADD CONSTRAINT never CHECK (first_name <> 'never') NOT VALID`;
  const answers = await many(40, (i) => upsert(app, { external_id: `u-${i}`, first_name: i === 20 ? 'never' : 'Ada' }));
  await t.sql`ALTER TABLE users DROP CONSTRAINT never`;
  expect(answers.flatMap(({ status }, i) => (status === 200 ? [] : [[i, status]]))).toEqual([[20, 500]]);
  expect(await readUser(app, 'u-20')).toMatchObject({ error: 'not_found' });
});

it('upserts of one user that arrive together run one after the other, and each shows the ones before it', async () => {
  const app = await t.newApp();
  const answers = await many(30, (i) => upsert(app, { external_id: 'u', properties: { [`key${i}`]: i, last: i } }));
  expect(answers.filter(({ body }) => body.created)).toHaveLength(1);
  const sizes = answers.map(({ body }) => Object.keys(body.properties).length).sort((one, other) => one - other);
  expect(sizes).toEqual(Array.from({ length: 30 }, (_, i) => i + 2));
  const last = answers.find(({ body }) => Object.keys(body.properties).length === 31);
  expect((await readUser(app, 'u')).properties).toEqual(last?.body.properties);
});

it('a value of another type is a conflict of its own request alone, and each is counted', async () => {
  const app = await t.newApp();
  await upsert(app, { external_id: 'first', properties: { age: 1 } });
  const answers = await many(30, (i) =>
    upsert(app, { external_id: `u-${i % 10}`, properties: { age: i % 3 === 0 ? `text ${i}` : i } }),
  );
  const conflicts = answers.map(({ body }) => body.property_conflicts.map(({ value }: { value: string }) => value));
  expect(conflicts).toEqual(answers.map((_, i) => (i % 3 === 0 ? [`text ${i}`] : [])));
  const { body } = await t.clientOf(app.serverKey).get('/v1/properties');
  expect(body.data[0]).toMatchObject({ key: 'age', conflicts_count: 10, users_count: 11 });
});

it('devices linked by upserts that arrive together belong to one user each, with that user’s profile', async () => {
  const app = await t.newApp();
  const devices = await many(4, () => newDevice(app));
  const answers = await many(40, (i) =>
    upsert(app, { external_id: `u-${i}`, first_name: `name ${i}`, device_id: devices[i % 4] }),
  );
  for (const [i, { status, body }] of answers.entries()) {
    expect([status, body.devices]).toEqual([200, expect.arrayContaining([devices[i % 4]])]);
  }
  const rows = await t.sql<{ externalId: string; firstName: string }[]>`
    SELECT external_id, first_name FROM audience WHERE app_id = ${app.id}`;
  expect(rows).toHaveLength(4);
  for (const { externalId, firstName } of rows) {
    expect(firstName).toBe(externalId.replace('u-', 'name '));
    expect((await readUser(app, externalId)).devices).toHaveLength(1);
  }
});

it('a changed profile is copied to every device of its user, beside other upserts', async () => {
  const app = await t.newApp();
  const devices = await many(6, () => newDevice(app));
  for (const [i, device_id] of devices.entries()) await upsert(app, { external_id: `u-${i % 3}`, device_id });
  await many(30, (i) => upsert(app, { external_id: `u-${i}`, country: 'DE', properties: { plan: `plan ${i}` } }));
  const rows = await t.sql<{ externalId: string; country: string; text01: string }[]>`
    SELECT external_id, country, text_01 AS text01 FROM audience WHERE app_id = ${app.id} ORDER BY device_id`;
  expect(rows).toHaveLength(6);
  for (const { externalId, country, text01 } of rows) {
    expect([country, text01]).toEqual(['DE', externalId.replace('u-', 'plan ')]);
  }
});
