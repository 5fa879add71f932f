import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeId, encodeId, type Uuid } from '../src/ground/values/ids.ts';
import { type Audience, audienceSchema } from '../src/people/audience/audience.ts';
import { countAudience } from '../src/people/audience/count-audience.ts';
import { propertyLists, readProperties } from '../src/people/audience/property-columns.ts';
import { audiencePredicate, countUnmatched, type ResolvedAudience } from '../src/people/audience/queries.ts';
import type { Property, PropertyValue } from '../src/people/properties/property.ts';
import { findPropertiesByKeys } from '../src/people/properties/queries.ts';
import { untilUndone } from './lock-waits.ts';
import { setup, type TestApp, unknownId } from './setup.ts';

const t = await setup({ workers: false });

const contextOf = (appId: Uuid) => ({ tx: t.sql, clock: t.clock, appId });
/** No audience here has a filter. */
const resolved = (audience: Audience) => ({ ...audience, exclude: null }) as ResolvedAudience;

type Row = Readonly<Record<string, unknown>>;

async function rowOf(deviceId: string): Promise<Row> {
  const [row] = await t.sql`SELECT * FROM audience WHERE device_id = ${decodeId('dev', deviceId) ?? ''}`;
  return row ?? {};
}

/** The properties in an audience row by key, read as a send reads them. */
async function propertiesOn(
  app: TestApp,
  deviceId: string,
  keys: readonly string[],
): Promise<Map<string, PropertyValue>> {
  const properties = await findPropertiesByKeys(t.sql, app.id, keys);
  const [row] = await t.sql<Record<string, unknown[]>[]>`
    SELECT json_agg(a.device_id) AS device_ids ${propertyLists(t.sql, properties)} FROM audience a
    WHERE a.app_id = ${app.id} AND a.device_id = ${decodeId('dev', deviceId) ?? ''}`;
  return readProperties((column) => row?.[column]?.[0], properties);
}

const android = (token: string, fields: object = {}) => ({ platform: 'android', token, ...fields });

describe('the audience row of a device', () => {
  it("holds the device's facts and its user's profile", async () => {
    const { body } = await t.server.post(
      '/v1/devices',
      android('facts', { locale: 'de-AT', timezone: 'Europe/Vienna', os: 'A' }),
    );
    expect(await rowOf(body.id)).toMatchObject({
      active: true,
      platform: 'android',
      locale: 'de-AT',
      timezone: 'Europe/Vienna',
      os: 'A',
      model: null,
      userId: null,
      externalId: null,
      firstName: null,
      country: null,
      language: null,
      userTimezone: null,
    });
    const { body: user } = await t.server.post('/v1/users', {
      external_id: 'u-1',
      first_name: 'Ada',
      country: 'AT',
      language: 'de',
      timezone: 'Asia/Tokyo',
      device_id: body.id,
    });
    const row = await rowOf(body.id);
    expect(row).toMatchObject({
      userId: decodeId('usr', user.id),
      externalId: 'u-1',
      firstName: 'Ada',
      country: 'AT',
      language: 'de',
      userTimezone: 'Asia/Tokyo',
      timezone: 'Europe/Vienna',
    });
    expect((row['userCreatedAt'] as Date).toISOString()).toBe(user.created_at);
    await t.server.post('/v1/users', { external_id: 'u-1', first_name: null, country: 'DE' });
    expect(await rowOf(body.id)).toMatchObject({ firstName: null, country: 'DE', language: 'de' });
  });

  it("shows the user's value when both have a property, and the device's own when the user's is gone", async () => {
    const keys = ['both', 'own', 'users'];
    const { body } = await t.server.post('/v1/devices', android('beneath', { properties: { both: 'device', own: 1 } }));
    await t.server.post('/v1/users', {
      external_id: 'u-2',
      properties: { both: 'user', users: true },
      device_id: body.id,
    });
    const read = async () => Object.fromEntries(await propertiesOn(t.app, body.id, keys));
    expect(await read()).toEqual({ both: 'user', own: 1, users: true });
    await t.server.post('/v1/devices', android('beneath', { properties: { both: 'device again', own: 2 } }));
    expect(await read()).toEqual({ both: 'user', own: 2, users: true });
    await t.server.post('/v1/users', { external_id: 'u-2', properties: { both: null } });
    expect(await read()).toEqual({ both: 'device again', own: 2, users: true });
    await t.server.post('/v1/devices', android('beneath', { properties: null }));
    expect(await read()).toEqual({ users: true });
    await t.server.post('/v1/users', { external_id: 'u-3', device_id: body.id });
    expect(await read()).toEqual({});
  });

  it('keeps keys without a slot readable beside those with one', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const values: Record<string, PropertyValue> = Object.fromEntries([
      ...Array.from({ length: 33 }, (_, i) => [`text_${i}`, `value ${i}`]),
      ...Array.from({ length: 32 }, (_, i) => [`number_${i}`, i / 8]),
      ...Array.from({ length: 12 }, (_, i) => [`bool_${i}`, i % 2 === 0]),
    ]);
    const device = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'wide', properties: values, device_id: device });
    expect(Object.fromEntries(await propertiesOn(app, device, Object.keys(values)))).toEqual(values);
    const [used] = await t.sql`SELECT count(slot) AS slots FROM properties WHERE app_id = ${app.id}`;
    expect(used).toEqual({ slots: 70 });
    await server.post('/v1/users', { external_id: 'wide', properties: { text_32: null, number_31: 9, text_0: null } });
    const read = await propertiesOn(app, device, ['text_0', 'text_32', 'number_31', 'bool_11']);
    expect(Object.fromEntries(read)).toEqual({ number_31: 9, bool_11: false });
  });

  it("reaches every device of a user, each with its own properties below the user's", async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const devices: string[] = [];
    for (let i = 0; i < 5; i++) {
      const properties = i < 3 ? {} : { seat: i };
      const { body } = await server.post('/v1/devices', android(`fan-${i}`, { properties }));
      devices.push(body.id);
      await server.post('/v1/users', { external_id: 'fan', device_id: body.id });
    }
    await server.post('/v1/users', { external_id: 'fan', language: 'fr', properties: { plan: 'pro' } });
    for (const [i, device] of devices.entries()) {
      expect(await rowOf(device)).toMatchObject({ externalId: 'fan', language: 'fr' });
      const read = Object.fromEntries(await propertiesOn(app, device, ['plan', 'seat']));
      expect(read).toEqual(i < 3 ? { plan: 'pro' } : { plan: 'pro', seat: i });
    }
  });

  it('is correct when a key gets its slot while a profile waits for the devices', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const devices: string[] = [];
    for (const token of ['early', 'late']) {
      const { body } = await server.post('/v1/devices', android(token));
      devices.push(body.id);
      await server.post('/v1/users', { external_id: 'waits', device_id: body.id });
    }
    const ids = devices.map((id) => decodeId('dev', id) ?? '');
    const [first = ''] = ids.toSorted();
    let upserted: ReturnType<typeof server.post> | undefined;
    await t.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM devices WHERE id = ${first} FOR UPDATE`;
      upserted = server.post('/v1/users', { external_id: 'waits', first_name: 'Ada' });
      await untilUndone(t.sql);
      const other = ids.indexOf(first) === 0 ? 'late' : 'early';
      await server.post('/v1/devices', android(other, { properties: { topic: 'sport' } }));
    });
    expect(await upserted).toMatchObject({ status: 200 });
    await expectInStep(app);
  });

  it('is correct after any mixture of racing requests', async () => {
    const keys = ['a', 'b', 'c'];
    const value = fc.constantFrom<PropertyValue | null>('x', 'y', 1, 2, true, null);
    const properties = fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 3 });
    const device = fc.integer({ min: 0, max: 3 });
    const user = fc.constantFrom('ann', 'bob');
    const request = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('register' as const), device, properties }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('upsert' as const), user, properties }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('alias' as const), user, device, properties }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('refresh' as const), device, other: device }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('opt out' as const), device }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), user }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('identify' as const), user, device }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('log out' as const), device }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 12, maxLength: 24 }), async (requests) => {
        const app = await t.newApp();
        const server = t.clientOf(app.serverKey);
        const ids = await Promise.all(
          [0, 1, 2, 3].map(async (i) => (await server.post('/v1/devices', android(`token-${i}`))).body.id),
        );
        const answers = await Promise.all(
          requests.map((one) => {
            if (one.kind === 'register')
              return server.post('/v1/devices', android(`token-${one.device}`, { properties: one.properties }));
            if (one.kind === 'refresh')
              return server.post('/v1/devices', android(`token-${one.other}`, { device_id: ids[one.device] }));
            if (one.kind === 'opt out') return server.delete(`/v1/devices/${ids[one.device]}`);
            if (one.kind === 'erase') return server.delete(`/v1/users/${one.user}`);
            if (one.kind === 'identify' || one.kind === 'log out') {
              const external_id = one.kind === 'identify' ? one.user : null;
              return server.post('/v1/identify', { device_id: ids[one.device], external_id });
            }
            const device_id = one.kind === 'alias' ? ids[one.device] : null;
            return server.post('/v1/users', { external_id: one.user, properties: one.properties, device_id });
          }),
        );
        // Only erasing a user that does not exist is refused.
        for (const [i, answer] of answers.entries()) {
          expect(
            answer.status === 200 || (answer.status === 404 && requests[i]?.kind === 'erase'),
            JSON.stringify(answer.body),
          ).toBe(true);
        }
        await expectInStep(app);
      }),
      { numRuns: 15, seed: 20261121, endOnFailure: true },
    );
  });
});

/** Computes every audience row of an app from `devices` and `users`, and compares. */
async function expectInStep(app: TestApp): Promise<void> {
  const catalog = await t.sql<Property[]>`SELECT id, key, type, slot FROM properties WHERE app_id = ${app.id}`;
  const users = await t.sql`SELECT * FROM users WHERE app_id = ${app.id}`;
  const rows = await t.sql`SELECT * FROM audience WHERE app_id = ${app.id}`;
  const devices = await t.sql`SELECT * FROM devices WHERE app_id = ${app.id}`;
  expect(rows.map((row) => row['deviceId']).toSorted()).toEqual(devices.map((device) => device['id']).toSorted());
  for (const row of rows) {
    const device = devices.find((one) => one['id'] === row['deviceId']);
    const user = users.find((one) => one['externalId'] === row['externalId']);
    expect(row['active']).toBe(device?.['status'] === 'active');
    expect(row['userId']).toBe(user?.['id'] ?? null);
    expect(row['externalId']).toBe(user?.['externalId'] ?? null);
    expect(device?.['identifiedAt'] === null).toBe(user === undefined);
    const expected = { ...device?.['properties'], ...user?.['properties'] };
    for (const { id, type, slot } of catalog) {
      const word = { string: 'text', number: 'number', boolean: 'bool' }[type];
      const column = `${word}${String(slot).padStart(2, '0')}`;
      expect(row[column], `property ${id}`).toBe(expected[id] ?? null);
    }
    expect(row['overflow']).toEqual({});
  }
}

describe('an audience', () => {
  const all: Audience = { all: true };
  const exact = { isEstimated: false };

  async function populate() {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const register = async (platform: string, token: string): Promise<string> =>
      (await server.post('/v1/devices', { platform, token })).body.id;
    const ios = await register('ios', 'ab'.repeat(32));
    const first = await register('android', 'first');
    const second = await register('android', 'second');
    const web = await t.registerDevice({}, app);
    const gone = await register('android', 'gone');
    for (const device_id of [ios, first]) await server.post('/v1/users', { external_id: 'ann', device_id });
    await server.post('/v1/users', { external_id: 'bob', device_id: web });
    await server.post('/v1/users', { external_id: 'cat', device_id: gone });
    await server.delete(`/v1/devices/${gone}`);
    const select = async (audience: Audience): Promise<string[]> => {
      const rows = await t.sql<{ deviceId: string }[]>`
        SELECT a.device_id FROM audience a WHERE ${audiencePredicate(contextOf(app.id), resolved(audience))} ORDER BY a.device_id`;
      return rows.map((row) => encodeId('dev', row.deviceId));
    };
    return { app, server, ios, first, second, web, gone, select };
  }

  it('of all contains every active device of the app, and no other', async () => {
    const { app, select, ios, first, second, web } = await populate();
    await populate();
    expect((await select(all)).toSorted()).toEqual([ios, first, second, web].toSorted());
    expect(await countAudience(contextOf(app.id), resolved(all))).toEqual({
      ...exact,
      web: 1,
      ios: 1,
      android: 2,
      devices: 4,
      users: 2,
    });
    expect(await countUnmatched(contextOf(app.id), resolved(all), 4)).toBe(0);
  });

  it('of listed devices leaves out unknown, malformed, foreign and inactive ids, and counts them', async () => {
    const { app, select, first, web, gone } = await populate();
    const foreign = await t.registerDevice();
    const nothing = [unknownId('dev'), 'dev_', '', foreign, gone, first.replace('dev_', 'usr_'), `' OR true --`];
    const audience: Audience = { device_ids: [first, web, first, ...nothing, ...nothing] };
    expect((await select(audience)).toSorted()).toEqual([first, web].toSorted());
    expect(await countAudience(contextOf(app.id), resolved(audience))).toEqual({
      ...exact,
      web: 1,
      ios: 0,
      android: 1,
      devices: 2,
      users: 2,
    });
    expect(await countUnmatched(contextOf(app.id), resolved(audience), 2)).toBe(nothing.length);
  });

  it('of external ids contains all active devices of those users, and counts the users without any', async () => {
    const { app, select, ios, first } = await populate();
    const audience: Audience = { external_ids: ['ann', 'ann', 'cat', 'ANN', 'nobody', `'; --`] };
    expect((await select(audience)).toSorted()).toEqual([ios, first].toSorted());
    expect(await countAudience(contextOf(app.id), resolved(audience))).toEqual({
      ...exact,
      web: 0,
      ios: 1,
      android: 1,
      devices: 2,
      users: 1,
    });
    expect(await countUnmatched(contextOf(app.id), resolved(audience), 2)).toBe(4);
  });

  it("of another app's external ids is empty (R-60)", async () => {
    const { select } = await populate();
    await t.server.post('/v1/users', { external_id: 'only-theirs', device_id: await t.registerDevice() });
    expect(await select({ external_ids: ['only-theirs'] })).toEqual([]);
  });

  it('accepts 10,000 ids', async () => {
    const { app, first } = await populate();
    const device_ids = [
      first,
      ...Array.from({ length: 9_999 }, (_, i) =>
        encodeId('dev', `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`),
      ),
    ];
    expect(audienceSchema.safeParse({ device_ids }).success).toBe(true);
    expect(await countUnmatched(contextOf(app.id), resolved({ device_ids }), 1)).toBe(9_999);
  });
});

describe('the users of an audience', () => {
  /** Half of all random ids are below. */
  const half = '80000000-0000-0000-0000-000000000000';

  /** A device of each user in turn, and for every fourth device of none; `users` null: of none at all. */
  async function fill(devices: number, users: number | null): Promise<TestApp> {
    const app = await t.newApp();
    await t.sql`
      INSERT INTO audience (app_id, device_id, platform, active, created_at, last_seen_at, user_id, external_id, user_created_at)
      SELECT ${app.id}, gen_random_uuid(), CASE i WHEN 0 THEN 'web' ELSE 'android' END, true, now(), now(),
        CASE WHEN linked THEN md5((i % ${users ?? 1}::int)::text)::uuid END,
        CASE WHEN linked THEN (i % ${users ?? 1}::int)::text END, CASE WHEN linked THEN now() END
      FROM (
        SELECT i, ${users !== null} AND i % 4 > 0 AS linked FROM generate_series(0, ${devices - 1}::int) AS i
      ) AS made`;
    return app;
  }

  it('are counted exactly up to 100,000 devices; above, within a hundredth, and the answer says so', async () => {
    const app = await fill(100_001, 53_000);
    const server = t.clientOf(app.serverKey);
    const android = { filter: { field: 'device.platform', op: 'eq', value: 'android' } };
    // A preview may take two seconds, which are few on a busy machine.
    const post = async (path: string, body: object) => {
      for (;;) {
        const answer = await server.post(path, body);
        if (answer.status !== 503) return answer.body;
      }
    };
    const ask = async (audience: object) => [
      await post('/v1/segments/preview', { audience }),
      await post('/v1/messages', { audience, content: { title: 'Hello' }, dry_run: true }),
    ];
    const countTruth = async (): Promise<number> => {
      const [truth] = await t.sql<{ users: number }[]>`
        SELECT count(DISTINCT user_id) AS users FROM audience WHERE app_id = ${app.id} AND active`;
      return truth?.users ?? 0;
    };
    const users = await countTruth();
    // The planner first expects few devices, then as many as there are.
    for (const prepare of [t.sql`SELECT`, t.sql`ANALYZE audience`]) {
      await prepare;
      for (const few of await ask(android)) {
        expect(few).toMatchObject({ count: 100_000, users, by_channel: { webpush: 0, apns: 0, fcm: 100_000 } });
        expect(few).not.toHaveProperty('users_estimated');
      }
      for (const many of await ask({ all: true })) {
        expect(many).toMatchObject({ count: 100_001, users_estimated: true, by_channel: { webpush: 1, fcm: 100_000 } });
        expect(Math.abs(many.users / users - 1)).toBeLessThan(0.01);
        expect(many.users).not.toBe(users);
      }
    }
    // Now it expects more than there are.
    await t.sql`UPDATE audience SET active = false WHERE app_id = ${app.id} AND device_id < ${half}`;
    for (const few of await ask({ all: true })) {
      expect(few).toMatchObject({ users: await countTruth() });
      expect(few).not.toHaveProperty('users_estimated');
    }
  });

  it.each([
    ['nobody', null, 0],
    // This person is not in the sixteenth.
    ['one person', 1, 1],
  ])('of %s are counted exactly, however many devices there are', async (_who, users, expected) => {
    const app = await fill(100_001, users);
    const counted = await countAudience(contextOf(app.id), resolved({ all: true }));
    expect(counted).toMatchObject({ devices: 100_001, users: expected, isEstimated: true });
  });
});
