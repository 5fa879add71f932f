import { openPool } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Turns } from '../../src/ground/http/turns.ts';
import { createCatalogReader } from '../../src/people/properties/list-catalog.ts';
import { createPropertyCounter } from '../../src/people/properties/worker.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

async function catalogOf() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  return {
    app,
    server,
    upsert: (external_id: string, properties: object) => server.post('/v1/users', { external_id, properties }),
    entry: async (key: string) => {
      const { body } = await server.get('/v1/properties?limit=200');
      return body.data.find((entry: { key: string }) => entry.key === key);
    },
  };
}

const hour = 3_600_000;

describe('200', () => {
  it('returns an empty catalog with the built-in fields', async () => {
    const { server } = await catalogOf();
    const { status, body } = await server.get('/v1/properties');
    expect(status).toBe(200);
    expect(body).toMatchObject({ data: [], has_more: false, next_cursor: null });
    expect(Object.keys(body)).toEqual(['data', 'builtins', 'has_more', 'next_cursor']);
  });

  it('lists every built-in field of a filter, with the operators of its type', async () => {
    const { body } = await t.server.get('/v1/properties');
    const string = [
      'eq',
      'neq',
      'in',
      'not_in',
      'contains',
      'not_contains',
      'starts_with',
      'ends_with',
      'exists',
      'not_exists',
    ];
    const datetime = ['before', 'after', 'within_last', 'exists', 'not_exists'];
    const fields = Object.fromEntries(
      body.builtins.map((builtin: { field: string; type: string; operators: string[] }) => [builtin.field, builtin]),
    );
    expect(Object.keys(fields)).toEqual([
      ...['external_id', 'first_name', 'country', 'language', 'timezone', 'created_at'],
      ...['device.platform', 'device.locale', 'device.timezone', 'device.app_version', 'device.sdk', 'device.os'],
      ...['device.os_version', 'device.model', 'device.created_at', 'device.last_seen_at', 'device.identified'],
    ]);
    expect(fields['country']).toEqual({ field: 'country', type: 'string', operators: string });
    expect(fields['created_at']).toEqual({ field: 'created_at', type: 'datetime', operators: datetime });
    expect(fields['device.identified']).toEqual({
      field: 'device.identified',
      type: 'boolean',
      operators: ['eq', 'neq', 'exists', 'not_exists'],
    });
  });

  it('shows a key in the shape of the contract', async () => {
    const { upsert, entry } = await catalogOf();
    const { body: user } = await upsert('a', { seats: 3 });
    expect(await entry('seats')).toEqual({
      key: 'seats',
      field: 'properties.seats',
      type: 'number',
      filterable: true,
      operators: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'not_in', 'exists', 'not_exists'],
      indexed: false,
      users_count: 1,
      samples: [3],
      conflicts_count: 0,
      last_conflict_at: null,
      first_seen_at: user.created_at,
      last_seen_at: user.created_at,
    });
    expect(Object.keys(await entry('seats'))).toEqual([
      ...['key', 'field', 'type', 'filterable', 'operators', 'indexed', 'users_count', 'samples'],
      ...['conflicts_count', 'last_conflict_at', 'first_seen_at', 'last_seen_at'],
    ]);
  });

  it('infers string, number and boolean, and treats a date in a string as a string', async () => {
    const { upsert, server } = await catalogOf();
    await upsert('a', { born: '1815-12-10', score: 1.5, vip: false });
    const { body } = await server.get('/v1/properties');
    expect(body.data.map((entry: { key: string; type: string }) => [entry.key, entry.type])).toEqual([
      ['born', 'string'],
      ['score', 'number'],
      ['vip', 'boolean'],
    ]);
  });

  it('orders keys by their bytes and pages through them, with the builtins on each page', async () => {
    const { upsert, server } = await catalogOf();
    const keys = ['B', '_a', 'a', 'a-1', 'aB', 'ab', 'b', 'Z', 'a_1', 'z9'];
    await upsert('a', Object.fromEntries(keys.map((key) => [key, 1])));
    const walked: string[] = [];
    let path: string | null = '/v1/properties?limit=3';
    while (path !== null) {
      const { body } = await server.get(path);
      expect(body.builtins).toHaveLength(17);
      walked.push(...body.data.map((entry: { key: string }) => entry.key));
      path = body.next_cursor === null ? null : `/v1/properties?limit=3&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    expect(walked).toEqual(keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it('keeps up to five different samples, with strings cut at 64 and never inside a character', async () => {
    const { upsert, entry } = await catalogOf();
    const values = ['a', 'a', 'b', 'x'.repeat(200), `${'y'.repeat(63)}🔔`, 'c', 'd', 'e'];
    for (const [i, note] of values.entries()) await upsert(`user-${i}`, { note });
    expect((await entry('note')).samples).toEqual(['a', 'b', 'x'.repeat(64), 'y'.repeat(63), 'c']);
  });

  it('reads the catalog once for requests that arrive together, and again for each later request', async () => {
    const { app, server, upsert } = await catalogOf();
    await upsert('a', { plan: 'pro' });
    let reads = 0;
    const turns: Turns = { run: (_appId, work) => work().finally(() => reads++) };
    const read = createCatalogReader({ sql: t.sql, clock: t.clock, turns, waitMs: 10_000 });
    const appId = app.id;
    const countsOf = async (limit: number) =>
      (await read(appId, { afterKey: null, limit })).rows.map((row) => row.usersCount);
    const together = await Promise.all(Array.from({ length: 40 }, (_, i) => countsOf(1 + (i % 2))));
    expect(together).toEqual(Array.from({ length: 40 }, () => [1]));
    expect(reads).toBe(1);

    const underWay = countsOf(1);
    await upsert('b', { plan: 'free' });
    expect(await countsOf(1)).toEqual([2]);
    await underWay;
    expect((await server.get('/v1/properties')).body.data[0].users_count).toBe(2);
  });

  it('R-62 reads different pages that are asked for together by few connections', async () => {
    const { app, upsert } = await catalogOf();
    await upsert('a', { plan: 'pro' });
    const sql = openPool({ url: t.databaseUrl, connectionsMax: 20, name: 'pages', statementTimeoutMs: 60_000 });
    onTestFinished(() => sql.end());
    const turns: Turns = { run: (_appId, work) => work() };
    const read = createCatalogReader({ sql, clock: t.clock, turns, waitMs: 10_000 });
    await Promise.all(Array.from({ length: 40 }, (_, i) => read(app.id, { afterKey: null, limit: i + 1 })));
    const open = await t.sql`SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE '%pages%'`;
    expect(open.length).toBeGreaterThan(0);
    expect(open.length).toBeLessThan(5);
  });

  it('counts conflicts of users and of devices, and tells when the last one was', async () => {
    const { upsert, entry, server } = await catalogOf();
    await upsert('a', { age: 1 });
    expect(await entry('age')).toMatchObject({ conflicts_count: 0, last_conflict_at: null });
    await upsert('a', { age: 'one' });
    t.clock.advance(hour);
    const { body } = await server.post('/v1/devices', { platform: 'android', token: 'x', properties: { age: true } });
    expect(await entry('age')).toMatchObject({ type: 'number', conflicts_count: 2, samples: [1] });
    const last = Date.parse((await entry('age')).last_conflict_at);
    expect(Math.abs(last - Date.parse(body.created_at))).toBeLessThan(1000);
  });

  it('counts racing conflicts one by one', async () => {
    const { upsert, entry } = await catalogOf();
    await upsert('first', { a: 1, b: 1, c: 1 });
    const properties = (i: number) => (i % 2 === 0 ? { a: '', b: '', c: '' } : { c: '', b: '', a: '' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => upsert(`other-${i}`, properties(i))));
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    for (const key of ['a', 'b', 'c']) expect((await entry(key)).conflicts_count).toBe(20);
  });

  it('shows no text that came with a client key, and keeps room for the app’s own samples', async () => {
    const { app, upsert, entry } = await catalogOf();
    const client = t.clientOf(app.clientKey);
    await upsert('a', { city: 'Rome' });
    for (let i = 0; i < 5; i++) {
      const device = { platform: 'android', token: `stranger-${i}`, properties: { city: `junk ${i}` } };
      expect((await client.post('/v1/devices', device)).status).toBe(200);
    }
    await upsert('b', { city: 'Oslo' });
    expect((await entry('city')).samples).toEqual(['Rome', 'Oslo']);
  });

  it('counts one conflict of client keys in ten seconds, and each one of server keys', async () => {
    const { app, upsert, entry } = await catalogOf();
    const client = t.clientOf(app.clientKey);
    await upsert('a', { age: 1 });
    const intrude = (name: string) =>
      client.post('/v1/devices', { platform: 'android', token: name, properties: { age: name } });
    const first = await Promise.all(Array.from({ length: 10 }, (_, i) => intrude(`racing-${i}`)));
    for (const { status, body } of first)
      expect({ status, conflicts: body.property_conflicts.length }).toEqual({ status: 200, conflicts: 1 });
    expect(await entry('age')).toMatchObject({ conflicts_count: 1 });
    await upsert('a', { age: 'one' });
    await upsert('a', { age: 'two' });
    expect(await entry('age')).toMatchObject({ conflicts_count: 3 });
    t.clock.advance(11_000);
    await intrude('later');
    await intrude('at once after');
    expect(await entry('age')).toMatchObject({ conflicts_count: 4 });
  });

  it('tells when a key was last seen, with a precision of one hour', async () => {
    const { upsert, entry } = await catalogOf();
    const { body: first } = await upsert('a', { plan: 'pro' });
    t.clock.advance(3 * hour);
    const { body: later } = await upsert('a', { plan: 'pro' });
    expect(await entry('plan')).toMatchObject({ first_seen_at: first.created_at });
    const behind = Date.parse(later.updated_at) - Date.parse((await entry('plan')).last_seen_at);
    expect(Math.abs(behind)).toBeLessThan(hour);
  });

  it('counts the profiles that have a value, without removed values, erased users and devices', async () => {
    const { upsert, entry, server } = await catalogOf();
    for (const name of ['a', 'b', 'c', 'd']) await upsert(name, { plan: 'pro', other: 1 });
    await server.post('/v1/devices', { platform: 'android', token: 'counted', properties: { plan: 'device' } });
    expect(await entry('plan')).toMatchObject({ users_count: 4 });
    await upsert('a', { plan: null });
    await server.delete('/v1/users/b');
    expect(await entry('plan')).toMatchObject({ users_count: 2 });
    expect(await entry('other')).toMatchObject({ users_count: 3 });
  });

  it('reports a key as indexed once an index serves its slot', async () => {
    const { upsert, entry, app } = await catalogOf();
    await upsert('a', { name: 'x', plan: 'pro' });
    const [property] = await t.sql`SELECT slot FROM properties WHERE app_id = ${app.id} AND key = 'plan'`;
    expect(await entry('plan')).toMatchObject({ indexed: false });
    const column = `text_${String(property?.['slot']).padStart(2, '0')}`;
    await t.sql.unsafe(`CREATE INDEX by_slot ON audience (app_id, left(${column}, 256)) WHERE ${column} IS NOT NULL`);
    expect(await entry('plan')).toMatchObject({ indexed: true });
    expect(await entry('name')).toMatchObject({ indexed: false });
  });

  it('shows no key of another app (R-60)', async () => {
    const mine = await catalogOf();
    const theirs = await catalogOf();
    await theirs.upsert('a', { secret_plan: 'x' });
    expect((await mine.server.get('/v1/properties')).body.data).toEqual([]);
  });
});

describe('an app with more than 200 users', () => {
  it('has its profiles counted once a second, and shows new keys at once', async () => {
    const { app, upsert } = await catalogOf();
    await upsert('first', { plan: 'pro' });
    const fill = (from: number, to: number) => t.sql`
      INSERT INTO users (app_id, external_id, id, properties)
      SELECT ${app.id}, 'user-' || i, gen_random_uuid(), (SELECT properties FROM users WHERE app_id = ${app.id} LIMIT 1)
      FROM generate_series(${from}::int, ${to}::int) AS i`;
    let steadyMs = 0;
    const clock = { steadyMs: () => steadyMs };
    const turns: Turns = { run: (_appId, work) => work() };
    const read = createCatalogReader({ sql: t.sql, clock, turns, waitMs: 10_000 });
    const counts = async () => {
      const { rows } = await read(app.id, { afterKey: null, limit: 10 });
      return Object.fromEntries(rows.map(({ key, usersCount }) => [key, usersCount]));
    };
    await fill(2, 200);
    expect(await counts()).toEqual({ plan: 200 });
    await fill(201, 300);
    expect(await counts()).toEqual({ plan: 300 });
    await upsert('last', { plan: 'pro', seats: 1 });
    expect(await counts()).toEqual({ plan: 300, seats: 0 });
    steadyMs += 1000;
    expect(await counts()).toEqual({ plan: 301, seats: 1 });
  });
});

describe('an app that is too large to be counted during a request', () => {
  it('shows counts that the worker refreshes within the hour', async () => {
    const { app, server, entry } = await catalogOf();
    await server.post('/v1/users', { external_id: 'first', properties: { plan: 'pro', seats: 1 } });
    const [plan] = await t.sql`SELECT id FROM properties WHERE app_id = ${app.id} AND key = 'plan'`;
    await t.sql`
      INSERT INTO users (app_id, external_id, id, properties)
      SELECT ${app.id}, 'user-' || i, gen_random_uuid(), jsonb_build_object(${plan?.['id']}::text, 'pro')
      FROM generate_series(1, 10000) AS i`;
    expect(await entry('plan')).toMatchObject({ users_count: 0 });
    const counter = createPropertyCounter({ sql: t.sql, clock: t.clock });
    await counter.runOnce();
    expect(await entry('plan')).toMatchObject({ users_count: 10_001 });
    expect(await entry('seats')).toMatchObject({ users_count: 1 });

    await t.sql`DELETE FROM users WHERE app_id = ${app.id} AND external_id = 'first'`;
    await t.sql`
      INSERT INTO users (app_id, external_id, id) SELECT ${app.id}, 'plain-' || i, gen_random_uuid() FROM generate_series(1, 5) AS i`;
    await counter.runOnce();
    expect(await entry('plan')).toMatchObject({ users_count: 10_001 });
    t.clock.advance(hour);
    await Promise.all([counter.runOnce(), createPropertyCounter({ sql: t.sql, clock: t.clock }).runOnce()]);
    expect(await entry('plan')).toMatchObject({ users_count: 10_000 });
    expect(await entry('seats')).toMatchObject({ users_count: 0 });
  });
});

describe('400', () => {
  it.each([
    ['limit=0', 'limit', 'too_small'],
    ['limit=201', 'limit', 'too_big'],
    ['limit=x', 'limit', 'invalid_format'],
    ['limit=0050', 'limit', 'invalid_format'],
    ['cursor=x', 'cursor', 'invalid_value'],
    ['type=string', 'type', 'unrecognized_keys'],
    ['limit=1&limit=1', 'limit', 'invalid_value'],
  ])('refuses ?%s', async (query, path, code) => {
    const response = await t.server.get(`/v1/properties?${query}`);
    expect(response).toMatchObject({
      status: 400,
      body: { error: 'validation_failed', issues: [{ path: [path], code }] },
    });
  });

  it('refuses the cursor of another app', async () => {
    const mine = await catalogOf();
    const theirs = await catalogOf();
    await mine.upsert('a', { a: 1, b: 1 });
    const { body } = await mine.server.get('/v1/properties?limit=1');
    expect((await theirs.server.get(`/v1/properties?cursor=${encodeURIComponent(body.next_cursor)}`)).status).toBe(400);
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect((await t.request('GET', '/v1/properties')).status).toBe(401);
  });
});

describe('403', () => {
  it('with a client key', async () => {
    expect(await t.client.get('/v1/properties')).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
  });
});
