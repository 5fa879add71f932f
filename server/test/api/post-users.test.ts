import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { setup, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

const postRaw = (raw: string) =>
  t.request('POST', '/v1/users', { key: t.app.serverKey, raw, headers: { 'content-type': 'application/json' } });

function issueCodes(response: Awaited<ReturnType<typeof t.request>>): string[] {
  return response.body.issues.map(
    (issue: { path: unknown[]; code: string }) => `${issue.path.join('.')} ${issue.code}`,
  );
}

const keysOf = async (server = t.server): Promise<string[]> => {
  const { body } = await server.get('/v1/properties?limit=200');
  return body.data.map((entry: { key: string }) => entry.key);
};

describe('200', () => {
  it('answers the profile in the shape of the contract', async () => {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'u-42', properties: { age: 30, trial: 'yes' } });
    const { status, body } = await t.server.post('/v1/users', {
      external_id: 'u-42',
      first_name: 'Ada',
      country: 'de',
      language: 'de',
      timezone: 'europe/berlin',
      properties: { plan: 'pro', age: '31', trial: null },
      device_id,
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^usr_[0-9A-Za-z]{22}$/),
      external_id: 'u-42',
      created: false,
      first_name: 'Ada',
      country: 'DE',
      language: 'de',
      timezone: 'Europe/Berlin',
      properties: { plan: 'pro', age: 30 },
      devices: [device_id],
      property_conflicts: [{ key: 'age', expected: 'number', received: 'string', value: '31', kept: 30 }],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Object.keys(body)).toEqual([
      ...['id', 'external_id', 'created', 'first_name', 'country', 'language', 'timezone', 'properties', 'devices'],
      ...['property_conflicts', 'created_at', 'updated_at'],
    ]);
  });

  it('creates once, and then keeps the id and the creation time', async () => {
    const { body: first } = await t.server.post('/v1/users', { external_id: 'once' });
    expect(first).toMatchObject({
      created: true,
      first_name: null,
      properties: {},
      devices: [],
      property_conflicts: [],
    });
    t.clock.advance(5_000);
    const { body: second } = await t.server.post('/v1/users', { external_id: 'once', first_name: 'Bo' });
    expect(second).toMatchObject({ created: false, id: first.id, created_at: first.created_at, first_name: 'Bo' });
    expect(Date.parse(second.updated_at) - Date.parse(first.updated_at)).toBeGreaterThanOrEqual(5_000);
  });

  it('keeps fields that an upsert leaves out, and clears fields that are null', async () => {
    const full = { external_id: 'merge', first_name: 'Ada', country: 'FR', language: 'fr', timezone: 'Europe/Paris' };
    await t.server.post('/v1/users', { ...full, properties: { plan: 'pro', seats: 3 } });
    const kept = await t.server.post('/v1/users', { external_id: 'merge' });
    expect(kept.body).toMatchObject({ ...full, properties: { plan: 'pro', seats: 3 } });
    const cleared = await t.server.post('/v1/users', {
      external_id: 'merge',
      first_name: null,
      country: null,
      language: null,
      timezone: null,
      properties: { seats: null, plan: 'team' },
      device_id: null,
    });
    expect(cleared.body).toMatchObject({
      first_name: null,
      country: null,
      language: null,
      timezone: null,
      properties: { plan: 'team' },
    });
    const emptied = await t.server.post('/v1/users', { external_id: 'merge', properties: null });
    expect(emptied.body.properties).toEqual({});
  });

  it.each([
    ['pt-br', 'pt-BR'],
    ['ZH-HANT', 'zh-Hant'],
    ['iw', 'iw'],
    ['FIL', 'fil'],
  ])('stores the language %s in canonical case', async (given, stored) => {
    const { body } = await t.server.post('/v1/users', { external_id: 'tongue', language: given });
    expect(body.language).toBe(stored);
  });

  it.each(['XK', 'xk', 'gb', 'US'])('takes the country %s in any letter case', async (given) => {
    const { body } = await t.server.post('/v1/users', { external_id: 'traveller', country: given });
    expect(body.country).toBe(given.toUpperCase());
  });

  it('compares external ids exactly: case, spaces and Unicode forms count', async () => {
    const ids = ['Zo\u00eb', 'Zoe\u0308', 'zo\u00eb', ' Zo\u00eb', '🔔-carillon', 'a'.repeat(256), 'x/y?z#%', '0'];
    const users = await Promise.all(ids.map((external_id) => t.server.post('/v1/users', { external_id })));
    expect(users.map(({ body }) => body.external_id)).toEqual(ids);
    expect(new Set(users.map(({ body }) => body.id)).size).toBe(ids.length);
  });

  it('the same external id in two apps is two users (R-60)', async () => {
    const other = await t.newApp();
    const here = await t.server.post('/v1/users', { external_id: 'both', first_name: 'Here' });
    const there = await t.clientOf(other.serverKey).post('/v1/users', { external_id: 'both' });
    expect(there.body).toMatchObject({ created: true, first_name: null });
    expect(there.body.id).not.toBe(here.body.id);
  });

  it('lists at most the 100 newest active devices', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 103; i++) {
      const { body } = await t.server.post('/v1/devices', { platform: 'android', token: `crowd-${i}` });
      ids.push(body.id);
    }
    await t.server.post('/v1/users', { external_id: 'crowd', device_id: ids[0] });
    // Linked before the limit per user existed.
    await t.sql`
      UPDATE audience a SET user_id = o.user_id, external_id = o.external_id, user_created_at = o.user_created_at
      FROM audience o WHERE o.external_id = 'crowd' AND a.device_id = ANY(${ids.map((id) => decodeId('dev', id) ?? '')}::uuid[])`;
    await t.server.delete(`/v1/devices/${ids[102]}`);
    const { body } = await t.server.post('/v1/users', { external_id: 'crowd' });
    expect(body.devices).toEqual(ids.slice(2, 102).toReversed());
  });
});

describe('200, properties', () => {
  it('accepts strings, numbers and booleans of any legal value, and returns them exactly', async () => {
    const properties = {
      empty: '',
      date: '2026-11-21',
      template: '{{properties.x}}',
      sql: `'; DROP TABLE users; --`,
      bytes: 'ä'.repeat(512),
      tiny: 5e-324,
      huge: 1.7976931348623157e308,
      third: 0.1,
      whole: 9007199254740991,
      yes: true,
      no: false,
    };
    const { body } = await t.server.post('/v1/users', { external_id: 'values', properties });
    expect(body.properties).toEqual(properties);
    expect((await t.server.get('/v1/users/values')).body.properties).toEqual(properties);
  });

  it('stores -0 as 0', async () => {
    const { body } = await postRaw('{"external_id":"zero","properties":{"balance":-0}}');
    expect(Object.is(body.properties.balance, 0)).toBe(true);
    expect((await t.server.get('/v1/users/zero')).body.properties).toEqual({ balance: 0 });
  });

  it('R-72 names that every object inherits are ordinary keys', async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'size', 'first', 'last'];
    const raw = JSON.stringify({
      external_id: 'proto',
      properties: Object.fromEntries(names.map((name) => [`K${name}`, name])),
    });
    const { status, body } = await postRaw(raw.replaceAll('"K', '"'));
    expect(status).toBe(200);
    expect(Object.entries(body.properties).toSorted()).toEqual(names.map((name) => [name, name]).toSorted());
    const found = await t.server.get('/v1/users/proto');
    expect(Object.keys(found.body.properties).toSorted()).toEqual(names.toSorted());
    expect(await keysOf()).toEqual(expect.arrayContaining(names));
    expect(({} as Record<string, unknown>)['size']).toBeUndefined();
  });

  it('a null for an unknown key has no effect and adds nothing to the catalog', async () => {
    const { body } = await t.server.post('/v1/users', { external_id: 'nulls', properties: { never_there: null } });
    expect(body).toMatchObject({ properties: {}, property_conflicts: [] });
    expect(await keysOf()).not.toContain('never_there');
  });

  it.each([
    ['string', 'text', [1, true]],
    ['number', 2.5, ['2.5', false]],
    ['boolean', true, ['true', 1]],
  ])('a %s stays one: other types are reported, and neither coerced nor written', async (type, first, others) => {
    const key = `typed_${type}`;
    await t.server.post('/v1/users', { external_id: `typed-${type}`, properties: { [key]: first } });
    for (const value of others) {
      const other = { external_id: `typed-${type}`, properties: { [key]: value, beside: 'written' } };
      const { status, body } = await t.server.post('/v1/users', other);
      expect(status).toBe(200);
      expect(body.properties).toEqual({ [key]: first, beside: 'written' });
      expect(body.property_conflicts).toEqual([{ key, expected: type, received: typeof value, value, kept: first }]);
    }
  });

  it('a conflict stores nothing when nothing was stored', async () => {
    await t.server.post('/v1/users', { external_id: 'has-score', properties: { score: 1 } });
    const { body } = await t.server.post('/v1/users', { external_id: 'no-score', properties: { score: 'A' } });
    expect(body).toMatchObject({ created: true, properties: {} });
    expect(body.property_conflicts).toEqual([
      { key: 'score', expected: 'number', received: 'string', value: 'A', kept: null },
    ]);
  });

  it('two racing first values of different types give one winner and one conflict', async () => {
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all(
        ['text', 7].map((value, i) =>
          t.server.post('/v1/users', { external_id: `racer-${round}-${i}`, properties: { [`race_${round}`]: value } }),
        ),
      );
      expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
      const conflicts = answers.flatMap((answer) => answer.body.property_conflicts);
      expect(conflicts).toHaveLength(1);
      const written = answers.map((answer) => Object.keys(answer.body.properties).length);
      expect(written.toSorted()).toEqual([0, 1]);
    }
  });

  it('many racing requests with the same and other new keys number each key once', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const properties = { [`shared_${i % 5}`]: i, [`own_${i}`]: `${i}`, all: true };
        return server.post('/v1/users', { external_id: `many-${i}`, properties });
      }),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(200));
    const rows = await t.sql`SELECT key, id, type, slot FROM properties WHERE app_id = ${app.id}`;
    expect(rows).toHaveLength(46);
    expect(new Set(rows.map((row) => row['id'])).size).toBe(46);
    for (const [i, answer] of answers.entries()) {
      expect(answer.body.properties).toEqual({ [`shared_${i % 5}`]: i, [`own_${i}`]: `${i}`, all: true });
    }
  });

  it('concurrent upserts of one user run one after another: one creates, and no key is lost', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        t.server.post('/v1/users', { external_id: 'busy', properties: { [`part_${i}`]: i, counter: i } }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(30).fill(200));
    expect(answers.filter((answer) => answer.body.created)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    const { body } = await t.server.get('/v1/users/busy');
    expect(Object.keys(body.properties)).toHaveLength(31);
  });

  it('keys without a slot are properties like any other', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`flag_${i}`, i % 2 === 0]));
    const { body } = await server.post('/v1/users', { external_id: 'flags', properties });
    expect(body.properties).toEqual(properties);
    expect((await server.get('/v1/users/flags')).body.properties).toEqual(properties);
    const changed = await server.post('/v1/users', {
      external_id: 'flags',
      properties: { flag_39: 'no', flag_38: null },
    });
    expect(changed.body.property_conflicts).toMatchObject([{ key: 'flag_39', expected: 'boolean', kept: false }]);
    expect(changed.body.properties).not.toHaveProperty('flag_38');
  });
});

describe('200, a device', () => {
  it('that is anonymous becomes the user’s', async () => {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'owner', device_id });
    const { body } = await t.server.get('/v1/devices?external_id=owner');
    expect(body.data).toMatchObject([{ id: device_id, external_id: 'owner' }]);
  });

  it('that belongs to another user moves to this one', async () => {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'former', device_id });
    const { body } = await t.server.post('/v1/users', { external_id: 'latter', device_id });
    expect(body.devices).toEqual([device_id]);
    expect((await t.server.get('/v1/users/former')).body.devices).toEqual([]);
  });

  it('keeps the instant of its link when the same link is repeated', async () => {
    const device_id = await t.registerDevice();
    const identifiedAt = async () => {
      const [row] = await t.sql`SELECT identified_at FROM devices WHERE id = ${decodeId('dev', device_id) ?? ''}`;
      return row?.['identifiedAt'].getTime();
    };
    await t.server.post('/v1/users', { external_id: 'linked', device_id });
    const first = await identifiedAt();
    t.clock.advance(10_000);
    await t.server.post('/v1/users', { external_id: 'linked', device_id });
    expect(await identifiedAt()).toBe(first);
    await t.server.post('/v1/users', { external_id: 'linked-again', device_id });
    expect(await identifiedAt()).toBeGreaterThan(first);
  });

  it('that several users claim at once ends with one of them, without a deadlock', async () => {
    const devices = await Promise.all(Array.from({ length: 4 }, () => t.registerDevice()));
    const answers = await Promise.all(
      Array.from({ length: 48 }, (_, i) =>
        t.server.post('/v1/users', {
          external_id: `rival-${i % 3}`,
          device_id: devices[(i * 5) % 4],
          properties: { turn: i },
        }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(48).fill(200));
    const owners = await Promise.all([0, 1, 2].map((i) => t.server.get(`/v1/users/rival-${i}`)));
    expect(owners.flatMap(({ body }) => body.devices).toSorted()).toEqual(devices.toSorted());
  });
});

describe('400', () => {
  const user = (fields: object) => ({ external_id: 'bad', ...fields });
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, [' required']],
    ['no external_id', {}, ['external_id required']],
    ['a null external_id', { external_id: null }, ['external_id invalid_type']],
    ['a number as external_id', { external_id: 42 }, ['external_id invalid_type']],
    ['an empty external_id', { external_id: '' }, ['external_id too_small']],
    ['an external_id that is a step in a path', { external_id: '..' }, ['external_id invalid_value']],
    ['an external_id that is a dot', { external_id: '.' }, ['external_id invalid_value']],
    ['a long external_id', { external_id: 'a'.repeat(257) }, ['external_id too_big']],
    ['a long first name', user({ first_name: 'a'.repeat(129) }), ['first_name too_big']],
    ['a country that is none', user({ country: 'ZZ' }), ['country invalid_value']],
    ['a country of three letters', user({ country: 'DEU' }), ['country invalid_value']],
    ['a language that is no tag', user({ language: 'german' }), ['language invalid_format']],
    [
      'a long language',
      user({ language: `de-${'x-'.repeat(10)}aaaaaaaa-aaaaaaaa` }),
      ['language too_big', 'language invalid_format'],
    ],
    ['an unknown time zone', user({ timezone: 'Mars/Olympus' }), ['timezone unknown_timezone']],
    ['properties that are no object', user({ properties: 'plan=pro' }), ['properties invalid_type']],
    ['an empty key', user({ properties: { '': 1 } }), ['properties. invalid_format']],
    ['a key that begins with a digit', user({ properties: { '1st': 1 } }), ['properties.1st invalid_format']],
    [
      'a key of 65 characters',
      user({ properties: { ['k'.repeat(65)]: 1 } }),
      [`properties.${'k'.repeat(65)} invalid_format`],
    ],
    ['an object as a value', user({ properties: { a: { b: 1 } } }), ['properties.a invalid_type']],
    ['an array as a value', user({ properties: { a: [1] } }), ['properties.a invalid_type']],
    ['a value of 1,025 bytes', user({ properties: { a: 'x'.repeat(1025) } }), ['properties.a too_big']],
    ['a device_id that is no string', user({ device_id: {} }), ['device_id invalid_type']],
    ['an unknown field', user({ email: 'a@b.example' }), ['email unrecognized_keys']],
    [
      'several faults at once',
      user({ country: 'ZZ', properties: { a: [] } }),
      ['country invalid_value', 'properties.a invalid_type'],
    ],
  ])('refuses %s', async (_name, body, expected) => {
    const response = await t.server.post('/v1/users', body);
    expect(response).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(issueCodes(response)).toEqual(expected);
  });

  it('suggests GB for UK', async () => {
    const { body } = await t.server.post('/v1/users', { external_id: 'brit', country: 'UK' });
    expect(body.issues[0]).toMatchObject({ path: ['country'], message: expect.stringContaining('GB') });
  });

  it('lists the known fields beside an unknown one', async () => {
    const { body } = await t.server.post('/v1/users', { external_id: 'x', email: 'a' });
    expect(body.issues[0].allowed).toEqual(
      expect.arrayContaining([
        'external_id',
        'first_name',
        'country',
        'language',
        'timezone',
        'properties',
        'device_id',
      ]),
    );
  });

  it('R-71 refuses U+0000 and unpaired surrogates in every string, keys included', async () => {
    for (const bad of ['\\u0000', '\\ud83d']) {
      for (const raw of [
        `{"external_id":"a${bad}"}`,
        `{"external_id":"a","first_name":"${bad}"}`,
        `{"external_id":"a","properties":{"k":"${bad}"}}`,
        `{"external_id":"a","properties":{"k${bad}":1}}`,
      ]) {
        expect((await postRaw(raw)).body.issues?.[0]?.code).toBe('invalid_format');
      }
    }
  });

  it('R-72 refuses a 101st property of one user, and writes nothing of the request', async () => {
    const many = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, i]));
    await t.server.post('/v1/users', { external_id: 'full', properties: many(100, 'full_') });
    const response = await t.server.post('/v1/users', {
      external_id: 'full',
      first_name: 'Ada',
      properties: { one_more: 1 },
    });
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual(['properties too_many_properties']);
    expect((await t.server.get('/v1/users/full')).body.first_name).toBeNull();
    expect(await t.sql`SELECT 1 FROM properties WHERE app_id = ${t.app.id} AND key = 'one_more'`).toHaveLength(0);
    const swapped = await t.server.post('/v1/users', {
      external_id: 'full',
      properties: { one_more: 1, full_0: null },
    });
    expect(swapped.status).toBe(200);
  });

  it('R-72 refuses a key beyond the 1,000 of an app, and writes nothing of the request', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    for (let page = 0; page < 10; page++) {
      const properties = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key_${page}_${i}`, i]));
      expect((await server.post('/v1/users', { external_id: `page-${page}`, properties })).status).toBe(200);
    }
    const response = await server.post('/v1/users', { external_id: 'late', properties: { key_0_0: 1, too_late: 1 } });
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual(['properties too_many_properties']);
    expect((await server.get('/v1/users/late')).status).toBe(404);
    expect((await server.post('/v1/users', { external_id: 'late', properties: { key_0_0: 1 } })).status).toBe(200);
  });

  it('refuses an unknown query parameter', async () => {
    const response = await t.server.post('/v1/users?upsert=1', { external_id: 'a' });
    expect(issueCodes(response)).toEqual(['upsert unrecognized_keys']);
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect(await t.request('POST', '/v1/users', { body: {} })).toMatchObject({
      status: 401,
      body: { error: 'missing_key' },
    });
  });
});

describe('403', () => {
  it('with a client key, before the body is looked at', async () => {
    const response = await t.client.post('/v1/users', { nonsense: true });
    expect(response).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('while the app is suspended', async () => {
    const app = await t.newApp();
    await t.sql`UPDATE apps SET suspended_at = now() WHERE id = ${app.id}`;
    const response = await t.clientOf(app.serverKey).post('/v1/users', { external_id: 'a' });
    expect(response).toMatchObject({ status: 403, body: { error: 'app_suspended' } });
  });
});

describe('404', () => {
  it("for an unknown, a malformed and another app's device the same, and writes nothing (R-60)", async () => {
    const other = await t.newApp();
    const foreign = await t.registerDevice({}, other);
    for (const device_id of [unknownId('dev'), 'dev_1', '', foreign]) {
      const response = await t.server.post('/v1/users', {
        external_id: 'ghost',
        properties: { ghostly: 1 },
        device_id,
      });
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        error: 'not_found',
        message: expect.any(String),
        request_id: expect.any(String),
      });
    }
    expect((await t.server.get('/v1/users/ghost')).status).toBe(404);
    expect(await t.sql`SELECT 1 FROM properties WHERE key = 'ghostly'`).toHaveLength(0);
    expect((await t.clientOf(other.serverKey).get('/v1/devices')).body.data).toMatchObject([{ external_id: null }]);
  });
});
