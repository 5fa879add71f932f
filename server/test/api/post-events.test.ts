import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Client, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

/** An app of its own with one device. */
async function newShop() {
  const app = await t.newApp();
  const deviceId = await t.registerDevice({}, app);
  return { app, deviceId, server: t.clientOf(app.serverKey), client: t.clientOf(app.clientKey) };
}

interface EventRow {
  readonly subjectId: string;
  readonly name: string;
  readonly at: Date;
  readonly deviceId: string | null;
  readonly externalId: string | null;
  readonly properties: Record<string, unknown>;
  readonly amount: string | null;
  readonly currency: string | null;
}

const eventsOf = (app: TestApp): Promise<EventRow[]> =>
  t.sql<EventRow[]>`
    SELECT subject_id, name, at, device_id, external_id, properties, amount::text, currency
    FROM events WHERE app_id = ${app.id} ORDER BY at, name`;

/** Counts the rows in every table where an event of the app could leave something. */
async function traces(app: TestApp): Promise<number> {
  const tables = ['events', 'event_ids', 'subject_events', 'rollup_deltas', 'event_properties', 'people'];
  const counts = await Promise.all(
    tables.map((table) => t.sql<{ count: number }[]>`SELECT count(*) FROM ${t.sql(table)} WHERE app_id = ${app.id}`),
  );
  return counts.reduce((sum, [row]) => sum + (row?.count ?? 0), 0);
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
const deviceOf = (id: string): string => decodeId('dev', id) ?? '';

describe('POST /v1/events', () => {
  it('stores one event, and answers how many were accepted', async () => {
    const { app, deviceId, client } = await newShop();
    const properties = { section: 'news', tags: ['a', { b: null }], words: 12, ключ: true };
    const answer = await client.post('/v1/events', { name: 'article_read', device_id: deviceId, properties });
    expect([answer.status, answer.body]).toEqual([200, { accepted: 1, duplicates: 0 }]);
    const [event] = await eventsOf(app);
    expect(event).toMatchObject({ name: 'article_read', deviceId: deviceOf(deviceId), externalId: null, properties });
    expect([event?.amount, event?.currency]).toEqual([null, null]);
  });

  it('stores a batch, with purchases as exact decimals', async () => {
    const { app, deviceId, server } = await newShop();
    const amounts = [79.9, 0.1, 0.30000000000000004, 1e12, 123456789.123, 1e-7, 0, 20];
    const events = amounts.map((amount) => ({
      name: 'purchase',
      device_id: deviceId,
      properties: { amount, currency: 'eur' },
    }));
    const answer = await server.post('/v1/events', { events });
    expect(answer.body).toEqual({ accepted: 8, duplicates: 0 });
    const stored = await eventsOf(app);
    expect(new Set(stored.map(({ amount }) => amount))).toEqual(
      new Set(['79.9', '0.1', '0.30000000000000004', '1000000000000', '123456789.123', '0.0000001', '0', '20']),
    );
    expect(new Set(stored.map(({ currency, properties }) => `${currency} ${properties['currency']}`))).toEqual(
      new Set(['EUR EUR']),
    );
    const [sum] = await t.sql<{ amount: string; count: number }[]>`
      SELECT sum(amount)::text AS amount, sum(count)::int AS count FROM rollup_deltas WHERE app_id = ${app.id}`;
    expect(sum).toEqual({ amount: '1000123456889.42300010000000004', count: 8 });
  });

  it('reads -0 as 0, and the last of two equal keys', async () => {
    const { app, server } = await newShop();
    const raw = '{"name":"purchase","name":"purchase","properties":{"amount":-0,"currency":"USD","x":-0}}';
    const answer = await t.request('POST', '/v1/events', {
      key: app.serverKey,
      raw,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(200);
    expect((await eventsOf(app))[0]).toMatchObject({ amount: '0', properties: { amount: 0, x: 0 } });
    expect((await server.post('/v1/events', { name: 'a', properties: null, events: null, id: null })).status).toBe(200);
  });

  it('keeps `__proto__` and `constructor` as ordinary keys (R-72)', async () => {
    const { app } = await newShop();
    const raw = '{"name":"a","properties":{"__proto__":{"amount":1},"constructor":"x","toString":1}}';
    const headers = { 'content-type': 'application/json' };
    expect((await t.request('POST', '/v1/events', { key: app.serverKey, raw, headers })).status).toBe(200);
    const [row] = await t.sql<{ text: string }[]>`SELECT properties::text AS text FROM events WHERE app_id = ${app.id}`;
    expect(Object.entries(JSON.parse(row?.text ?? '')).sort()).toEqual(
      [
        ['__proto__', { amount: 1 }],
        ['constructor', 'x'],
        ['toString', 1],
      ].sort(),
    );
    const polluted = '{"name":"purchase","properties":{"__proto__":{"amount":1,"currency":"EUR"}}}';
    const refused = await t.request('POST', '/v1/events', { key: app.serverKey, raw: polluted, headers });
    expect(refused.body.issues.map(({ path }: { path: string[] }) => path.join('.'))).toEqual([
      'properties.amount',
      'properties.currency',
    ]);
  });

  const purchase = (properties: object) => ({ name: 'purchase', properties });
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));

  it.each<[what: string, event: unknown, issue: [code: string, ...path: (string | number)[]]]>([
    ['no name', {}, ['required', 'name']],
    ['a name that is null', { name: null }, ['invalid_type', 'name']],
    ['a number as name', { name: 7 }, ['invalid_type', 'name']],
    ['an empty name', { name: '' }, ['too_small', 'name']],
    ['a name of 129', { name: 'x'.repeat(129) }, ['too_big', 'name']],
    ['a line break in the name', { name: 'a\nb' }, ['invalid_format', 'name']],
    ['a DEL in the name', { name: 'a\u007f' }, ['invalid_format', 'name']],
    ['a C1 control in the name', { name: '\u0085' }, ['invalid_format', 'name']],
    ['an unknown field', { name: 'a', amount: 1 }, ['unrecognized_keys', 'amount']],
    ['a field of a batch item', { name: 'a', message_id: 'msg_x' }, ['unrecognized_keys', 'message_id']],
    ['properties as an array', { name: 'a', properties: [] }, ['invalid_type', 'properties']],
    ['properties as text', { name: 'a', properties: '{}' }, ['invalid_type', 'properties']],
    ['51 properties', { name: 'a', properties: many(51) }, ['too_big', 'properties']],
    [
      'a property key of 65',
      { name: 'a', properties: { ['k'.repeat(65)]: 1 } },
      ['too_big', 'properties', 'k'.repeat(65)],
    ],
    [
      'properties nested six deep',
      { name: 'a', properties: nested(6) },
      ['too_deep', 'properties', 'a', 'a', 'a', 'a', 'a'],
    ],
    [
      'properties nested six deep by arrays',
      { name: 'a', properties: { a: [[[[[]]]]] } },
      ['too_deep', 'properties', 'a', 0, 0, 0, 0],
    ],
    ['8 KiB and a byte', { name: 'a', properties: { t: 'x'.repeat(8193 - 8) } }, ['too_big', 'properties']],
    ['8 KiB and a byte in UTF-8', { name: 'a', properties: { t: '鐘'.repeat(2729) } }, ['too_big', 'properties']],
    ['a device as a number', { name: 'a', device_id: 1 }, ['invalid_type', 'device_id']],
    ['an empty user', { name: 'a', external_id: '' }, ['too_small', 'external_id']],
    ['a user of 257', { name: 'a', external_id: 'u'.repeat(257) }, ['too_big', 'external_id']],
    ['a user as a number', { name: 'a', external_id: 42 }, ['invalid_type', 'external_id']],
    ['an empty id', { name: 'a', id: '' }, ['too_small', 'id']],
    ['an id of 129', { name: 'a', id: 'x'.repeat(129) }, ['too_big', 'id']],
    ['an id with a space', { name: 'a', id: 'order 1' }, ['invalid_format', 'id']],
    ['an id that is not ASCII', { name: 'a', id: 'é' }, ['invalid_format', 'id']],
    ['an id as a number', { name: 'a', id: 1001 }, ['invalid_type', 'id']],
    ['a time without an offset', { name: 'a', occurred_at: '2026-11-21T10:15:30' }, ['invalid_format', 'occurred_at']],
    ['a day that is none', { name: 'a', occurred_at: '2026-02-30T10:15:30Z' }, ['invalid_format', 'occurred_at']],
    ['a time before 2000', { name: 'a', occurred_at: '1999-12-31T23:59:59Z' }, ['invalid_format', 'occurred_at']],
    ['a time as a number', { name: 'a', occurred_at: 1_763_720_130 }, ['invalid_type', 'occurred_at']],
    ['a purchase of nothing', { name: 'purchase' }, ['required', 'properties', 'amount']],
    ['a purchase without a currency', purchase({ amount: 1 }), ['required', 'properties', 'currency']],
    ['an amount as text', purchase({ amount: '79.9', currency: 'EUR' }), ['invalid_type', 'properties', 'amount']],
    ['an amount that is null', purchase({ amount: null, currency: 'EUR' }), ['invalid_type', 'properties', 'amount']],
    ['a refund', purchase({ amount: -1, currency: 'EUR' }), ['too_small', 'properties', 'amount']],
    ['more than a trillion', purchase({ amount: 1e12 + 1, currency: 'EUR' }), ['too_big', 'properties', 'amount']],
    [
      'a currency of two letters',
      purchase({ amount: 1, currency: 'EU' }),
      ['invalid_format', 'properties', 'currency'],
    ],
    ['a currency of digits', purchase({ amount: 1, currency: '978' }), ['invalid_format', 'properties', 'currency']],
    [
      'a currency in other letters',
      purchase({ amount: 1, currency: 'ÉUR' }),
      ['invalid_format', 'properties', 'currency'],
    ],
    ['a currency as a number', purchase({ amount: 1, currency: 978 }), ['invalid_type', 'properties', 'currency']],
    ['a list', [], ['invalid_type']],
    ['text', 'session_start', ['invalid_type']],
  ])('400 for %s, alone and in a batch, and nothing of the batch is stored', async (_what, event, [code, ...path]) => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const alone = await server.post('/v1/events', event);
    expect([alone.status, alone.body.issues[0].code, alone.body.issues[0].path]).toEqual([400, code, path]);
    const good = { name: 'good', id: 'one', external_id: 'u-1', properties: { a: 1 } };
    const batch = await server.post('/v1/events', { events: [good, good, good, event] });
    expect([batch.status, batch.body.issues[0].code, batch.body.issues[0].path]).toEqual([
      400,
      code,
      ['events', 3, ...path],
    ]);
    expect(await traces(app)).toBe(0);
  });

  it.each([
    ['NaN', '{"name":"purchase","properties":{"amount":NaN,"currency":"EUR"}}', 'invalid_json', []],
    ['a dot as a name', '{"name":"."}', 'invalid_value', ['name']],
    ['two dots as a name', '{"events":[{"name":".."}]}', 'invalid_value', ['events', 0, 'name']],
    ['two dots as a user', '{"name":"a","external_id":".."}', 'invalid_value', ['external_id']],
    [
      '1e400 as an amount',
      '{"name":"purchase","properties":{"amount":1e400,"currency":"EUR"}}',
      'invalid_value',
      ['properties', 'amount'],
    ],
    ['1e400 within', '{"name":"a","properties":{"x":[{"y":-1e400}]}}', 'invalid_value', ['properties', 'x', 0, 'y']],
    ['U+0000 in a name', '{"name":"a\\u0000"}', 'invalid_format', ['name']],
    [
      'half a surrogate pair in a property',
      '{"name":"a","properties":{"x":"\\ud800"}}',
      'invalid_format',
      ['properties', 'x'],
    ],
    ['no object', 'null', 'invalid_type', []],
    ['no body', '', 'required', []],
  ])('400 for %s', async (_what, raw, code, path) => {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await t.request('POST', '/v1/events', { key: t.app.serverKey, raw, headers });
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([400, code, path]);
  });

  it.each<[what: string, body: unknown, code: string, path: string[]]>([
    ['no events', { events: [] }, 'too_small', ['events']],
    ['51 events', { events: Array(51).fill({ name: 'a' }) }, 'too_big', ['events']],
    ['events that are no list', { events: { name: 'a' } }, 'invalid_type', ['events']],
    ['a name beside events', { events: [{ name: 'a' }], name: 'a' }, 'exactly_one_required', []],
    ['a device beside events', { events: [{ name: 'a' }], device_id: 'dev_x' }, 'unrecognized_keys', ['device_id']],
    ['neither', { events: null }, 'required', ['name']],
  ])('400 for %s', async (_what, body, code, path) => {
    const answer = await t.server.post('/v1/events', body);
    expect([answer.status, answer.body.issues[0].code, answer.body.issues[0].path]).toEqual([400, code, path]);
  });

  it('accepts everything up to its limits', async () => {
    const { app, deviceId, server } = await newShop();
    const event = {
      name: 'é'.repeat(128),
      device_id: deviceId,
      external_id: 'ü'.repeat(256),
      id: '~'.repeat(128),
      occurred_at: '2026-11-21T10:15+01:00',
    };
    const answers = [
      await server.post('/v1/events', { ...event, properties: { t: 'x'.repeat(8192 - 8) } }),
      await server.post('/v1/events', { ...event, id: '!', properties: nested(5) }),
      await server.post('/v1/events', { events: Array(50).fill({ name: 'a', properties: many(50) }) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await eventsOf(app)).toHaveLength(52);
    expect((await server.post('/v1/events?dry=1', { name: 'a' })).body.issues[0].path).toEqual(['dry']);
  });

  it('lists at most 50 of many issues', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`field${i}`, 1]));
    for (const body of [unknown, { ...unknown, events: [] }, { events: Array(50).fill({ a: 1, b: 2 }) }]) {
      const answer = await t.server.post('/v1/events', body);
      expect([answer.status, answer.body.issues.length]).toEqual([400, 50]);
    }
  });

  it('reads a body of up to 1 MiB', async () => {
    const properties = { t: 'x'.repeat(8_100) };
    const most = await t.server.post('/v1/events', { events: Array(50).fill({ name: 'a', properties }) });
    expect(most.status).toBe(200);
    const answer = await t.server.post('/v1/events', { name: 'a', properties: { t: 'x'.repeat(1024 * 1024) } });
    expect(answer.body.error).toBe('body_too_large');
  });
});

describe('the user of an event', () => {
  it('404 for an unknown device, another app’s or a malformed id, and nothing of the batch is stored', async () => {
    const { app, deviceId, server, client } = await newShop();
    const { deviceId: foreign } = await newShop();
    for (const key of [server, client]) {
      for (const device_id of [unknownId('dev'), foreign, 'dev_x', '']) {
        const events = [
          { name: 'a', device_id: deviceId, properties: { x: 1 } },
          { name: 'b', device_id },
        ];
        const answer = await key.post('/v1/events', { events });
        expect([answer.status, answer.body.error]).toEqual([404, 'not_found']);
      }
    }
    expect(await traces(app)).toBe(0);
  });

  it('is the one that a server key names, who need not exist yet', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/events', {
      events: [
        { name: 'a', external_id: 'u-1' },
        { name: 'b', external_id: 'u-1' },
      ],
    });
    const [a, b] = await eventsOf(app);
    expect(a?.subjectId).toBe(b?.subjectId);
    const { body: user } = await server.post('/v1/users', { external_id: 'u-1' });
    expect(decodeId('usr', user.id)).toBe(a?.subjectId);
  });

  it('is the user of the device at receipt, and the named one for earlier events', async () => {
    const { app, deviceId, server } = await newShop();
    const { body: owner } = await server.post('/v1/users', { external_id: 'owner', device_id: deviceId });
    await server.post('/v1/events', {
      events: [
        { name: 'a', device_id: deviceId },
        { name: 'b', device_id: deviceId, external_id: 'other' },
      ],
    });
    const [a, b] = await eventsOf(app);
    expect([a?.externalId, a?.subjectId]).toEqual(['owner', decodeId('usr', owner.id)]);
    expect(b).toMatchObject({ externalId: 'other', deviceId: deviceOf(deviceId) });
    expect(b?.subjectId).not.toBe(a?.subjectId);
  });

  it('is nobody without user and device: the event counts in the sums, and no filter can find it', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/events', { events: [{ name: 'a' }, { name: 'a' }] });
    expect(new Set((await eventsOf(app)).map(({ subjectId }) => subjectId)).size).toBe(2);
    expect(await t.sql`SELECT 1 FROM subject_events WHERE app_id = ${app.id}`).toHaveLength(0);
    const [sum] = await t.sql<
      { count: number }[]
    >`SELECT sum(count)::int AS count FROM rollup_deltas WHERE app_id = ${app.id}`;
    expect(sum?.count).toBe(2);
  });

  it('403 when a client key names a user, but 400 first when a field is wrong', async () => {
    const { app, deviceId, client } = await newShop();
    const event = { name: 'a', device_id: deviceId, external_id: 'u-1' };
    const refused = await client.post('/v1/events', event);
    expect([refused.status, refused.body.error]).toEqual([403, 'wrong_key_scope']);
    expect((await client.post('/v1/events', { ...event, name: '' })).status).toBe(400);
    expect((await client.post('/v1/events', { ...event, device_id: unknownId('dev') })).status).toBe(403);
    expect((await client.post('/v1/events', { ...event, external_id: null })).status).toBe(200);
    expect(await eventsOf(app)).toHaveLength(1);
  });

  it('sets when the device was last seen at a session’s start, at most once in ten minutes and never to an earlier time', async () => {
    const { app, deviceId, client } = await newShop();
    const id = deviceOf(deviceId);
    const lastSeen = async (): Promise<Date | undefined> => {
      const [row] = await t.sql<{ at: Date }[]>`SELECT last_seen_at AS at FROM audience WHERE device_id = ${id}`;
      return row?.at;
    };
    const registeredAt = await lastSeen();
    const session = (more: object = {}) =>
      client.post('/v1/events', { name: 'session_start', device_id: deviceId, ...more });
    await session();
    expect(await lastSeen()).toEqual(registeredAt);
    await t.sql`UPDATE audience SET last_seen_at = now() - interval '1 hour' WHERE device_id = ${id}`;
    const longAgo = new Date(t.clock.nowMs() - 20 * 24 * 3_600_000);
    await session({ occurred_at: longAgo.toISOString() });
    await client.post('/v1/events', { name: 'article_read', device_id: deviceId });
    const before = await lastSeen();
    await session({ id: 's-1' });
    const after = await lastSeen();
    expect(after?.getTime()).toBeGreaterThan((before?.getTime() ?? 0) + 3_000_000);
    await t.sql`UPDATE audience SET last_seen_at = now() - interval '1 hour' WHERE device_id = ${id}`;
    expect((await session({ id: 's-1' })).body.duplicates).toBe(1);
    expect((await lastSeen())?.getTime()).toBeLessThan(after?.getTime() ?? 0);
    const [of] = await eventsOf(app);
    expect(of?.at).toEqual(longAgo);
  });
});

describe('ids of events', () => {
  const track = (client: Client, ...events: object[]) => client.post('/v1/events', { events });

  it('count once: per app for server keys, per device for client keys, separately', async () => {
    const { app, deviceId, server, client } = await newShop();
    const second = await t.registerDevice({}, app);
    const event = { name: 'a', id: 'order-1' };
    const on = { ...event, device_id: deviceId };
    const answers = [];
    for (const [key, given] of [
      [server, event],
      [server, { ...event, name: 'b' }],
      [server, on],
      [client, on],
      [client, on],
      [client, { ...event, device_id: second }],
    ] as const) {
      answers.push((await track(key, given)).body);
    }
    const once = { accepted: 1, duplicates: 0 };
    const repeat = { accepted: 0, duplicates: 1 };
    expect(answers).toEqual([once, repeat, repeat, once, repeat, once]);
    expect(await eventsOf(app)).toHaveLength(3);
    expect((await track((await newShop()).server, event)).body).toEqual(once);
  });

  it('count once within a batch, which keeps the first', async () => {
    const { app, server } = await newShop();
    const { body } = await track(
      server,
      { name: 'a', id: '1' },
      { name: 'b', id: '1' },
      { name: 'c' },
      { name: 'd', id: '2' },
    );
    expect(body).toEqual({ accepted: 3, duplicates: 1 });
    expect((await eventsOf(app)).map(({ name }) => name).sort()).toEqual(['a', 'c', 'd']);
  });

  it('400 when a client key gives an id without a device', async () => {
    const { app, deviceId, client } = await newShop();
    const { status, body } = await track(client, { name: 'a', id: '1', device_id: deviceId }, { name: 'a', id: '1' });
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([400, 'required', ['events', 1, 'device_id']]);
    expect(await traces(app)).toBe(0);
  });

  it('50 concurrent equal events are one event, even in overlapping batches', async () => {
    const { app, deviceId, server } = await newShop();
    const ids = Array.from({ length: 20 }, (_, i) => ({
      name: `event-${i % 3}`,
      id: `id-${i}`,
      device_id: deviceId,
      external_id: `u-${i % 7}`,
      properties: { [`p${i}`]: i },
    }));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => track(server, ...(i % 2 ? ids : ids.toReversed()))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200));
    const accepted = answers.reduce((sum, { body }) => sum + body.accepted, 0);
    const duplicates = answers.reduce((sum, { body }) => sum + body.duplicates, 0);
    expect([accepted, duplicates]).toEqual([20, 980]);
    expect(await eventsOf(app)).toHaveLength(20);
    const [days] = await t.sql<{ count: number }[]>`
      SELECT sum(count)::int AS count FROM subject_events WHERE app_id = ${app.id}`;
    expect(days?.count).toBe(20);
  });

  it('stay free when their request is refused', async () => {
    const { server } = await newShop();
    const event = { name: 'a', id: 'x' };
    expect((await track(server, event, { name: 'b', device_id: unknownId('dev') })).status).toBe(404);
    expect((await track(server, event)).body).toEqual({ accepted: 1, duplicates: 0 });
  });
});

describe('requests that arrive together', () => {
  /**
   * Sends requests while two earlier ones are kept waiting, so that these wait together and share a
   * turn.
   */
  async function sharingATurn(app: TestApp, send: () => ReturnType<Client['post']>[]) {
    const server = t.clientOf(app.serverKey);
    await server.post('/v1/events', { events: [{ name: 'a' }, { name: 'b' }, { name: 'poison' }] });
    const answers: ReturnType<Client['post']>[] = [];
    await transaction(t.sql, async (holder) => {
      await holder`LOCK TABLE rollup_deltas IN EXCLUSIVE MODE`;
      for (const turns of [1, 2]) {
        void server.post('/v1/events', { name: 'a' });
        await untilLockWaits(t.sql, turns, { text: 'rollup_deltas' });
      }
      answers.push(...send());
      // A later request is answered, so these requests have arrived.
      expect((await server.get('/v1/segments')).status).toBe(200);
    });
    return Promise.all(answers);
  }

  it('are each stored whole, with their own answers, and duplicates are reported once', async () => {
    const { app, deviceId, server, client } = await newShop();
    const events = (i: number) => [
      { name: 'b', id: `id-${i % 2}`, device_id: deviceId },
      { name: 'purchase', external_id: `u-${i % 3}`, properties: { amount: 0.1 * (i + 1), currency: 'EUR' } },
    ];
    const answers = await sharingATurn(app, () => [
      ...[0, 1, 2, 3].map((i) => server.post('/v1/events', { events: events(i) })),
      client.post('/v1/events', { name: 'b', id: 'id-0', device_id: deviceId }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(answers.reduce((sum, { body }) => sum + body.accepted, 0)).toBe(4 + 2 + 1);
    expect(answers.reduce((sum, { body }) => sum + body.duplicates, 0)).toBe(2);
    const [sums] = await t.sql<{ amount: string; count: number }[]>`
      SELECT sum(amount)::text AS amount, sum(count)::int AS count FROM rollup_deltas
      WHERE app_id = ${app.id} AND name = 'purchase'`;
    expect(sums).toEqual({ amount: '1.00000000000000004', count: 4 });
    const [days] = await t.sql<{ count: number }[]>`
      SELECT sum(count)::int AS count FROM subject_events WHERE app_id = ${app.id}`;
    expect(days?.count).toBe(7);
  });

  it('are not refused because of each other: an unknown device, one name too many, a value that the database refuses', async () => {
    const { app, deviceId, server, client } = await newShop();
    await t.sql`
      INSERT INTO event_names (app_id, name, count, last_at)
      SELECT ${app.id}, 'name ' || i, 1, now() FROM generate_series(1, 1000) AS i`;
    // Stands for any unforeseen error.
    await t.sql`
      ALTER TABLE subject_events ADD CONSTRAINT unforeseen CHECK (name <> 'poison' OR count = 0) NOT VALID`;
    const answers = await sharingATurn(app, () => [
      server.post('/v1/events', { events: [{ name: 'a', id: '1' }, { name: 'b' }] }),
      server.post('/v1/events', {
        events: [
          { name: 'a', id: '2' },
          { name: 'a', device_id: unknownId('dev') },
        ],
      }),
      client.post('/v1/events', { events: [{ name: 'a' }, { name: 'one too many' }] }),
      server.post('/v1/events', {
        events: [
          { name: 'a', id: '3' },
          { name: 'poison', device_id: deviceId },
        ],
      }),
      server.post('/v1/events', { events: [{ name: 'a', id: '4' }, { name: 'b' }] }),
    ]);
    await t.sql`ALTER TABLE subject_events DROP CONSTRAINT unforeseen`;
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 500, 200]);
    expect(answers[2]?.body.issues[0].path).toEqual(['events', 1, 'name']);
    const [seen] = await t.sql<{ count: number }[]>`SELECT count(*) FROM event_ids WHERE app_id = ${app.id}`;
    expect(seen?.count).toBe(2);
    // The shop's first three, the two that were kept waiting, and two times two.
    expect(await eventsOf(app)).toHaveLength(9);
  });
});

describe('the time of an event', () => {
  it('is its receipt by the database’s clock, or the time it names, and never in the future', async () => {
    const { app, server } = await newShop();
    const now = async (): Promise<number> => {
      const [row] = await t.sql<{ at: Date }[]>`SELECT clock_timestamp() AS at`;
      return row?.at.getTime() ?? 0;
    };
    const from = await now();
    await server.post('/v1/events', {
      events: [
        { name: 'a' },
        { name: 'b', occurred_at: '2100-12-31T23:59:59Z' },
        { name: 'c', occurred_at: '2026-11-01T10:20:30.123999+05:30' },
      ],
    });
    const to = await now();
    const byName = new Map((await eventsOf(app)).map(({ name, at }) => [name, at.getTime()]));
    for (const name of ['a', 'b']) {
      expect(byName.get(name)).toBeGreaterThanOrEqual(Math.floor(from));
      expect(byName.get(name)).toBeLessThanOrEqual(to);
    }
    expect(byName.get('c')).toBe(Date.parse('2026-11-01T04:50:30.123Z'));
  });

  it('decides its quarter of an hour and its day, however late it arrives', async () => {
    const { app, deviceId, server } = await newShop();
    const times = [
      '2026-10-31T23:59:59.999Z',
      '2026-11-01T00:00:00Z',
      '2026-11-01T00:14:59.999Z',
      '2003-05-05T12:15:00Z',
    ];
    await server.post('/v1/events', {
      events: times.map((occurred_at) => ({ name: 'a', device_id: deviceId, occurred_at })),
    });
    const buckets = await t.sql<{ bucket: Date; count: number }[]>`
      SELECT bucket, sum(count)::int AS count FROM rollup_deltas WHERE app_id = ${app.id} GROUP BY 1 ORDER BY 1`;
    expect(buckets.map(({ bucket, count }) => [bucket.toISOString(), count])).toEqual([
      ['2003-05-05T12:15:00.000Z', 1],
      ['2026-10-31T23:45:00.000Z', 1],
      ['2026-11-01T00:00:00.000Z', 2],
    ]);
    const days = await t.sql<{ day: string; count: number }[]>`
      SELECT day::text, count FROM subject_events WHERE app_id = ${app.id} ORDER BY day`;
    expect([...days]).toEqual([
      { day: '2003-05-05', count: 1 },
      { day: '2026-10-31', count: 1 },
      { day: '2026-11-01', count: 2 },
    ]);
  });
});

describe('the event names of an app', () => {
  const fill = (app: TestApp, count: number) => t.sql`
    INSERT INTO event_names (app_id, name, count, last_at)
    SELECT ${app.id}, 'name ' || i, 1, now() FROM generate_series(1, ${count}::int) AS i`;
  const namesOf = async (app: TestApp): Promise<string[]> => {
    const rows = await t.sql<{ name: string }[]>`
      SELECT name FROM event_names WHERE app_id = ${app.id} UNION SELECT name FROM rollup_deltas WHERE app_id = ${app.id}`;
    return rows.map(({ name }) => name);
  };
  const issuesOf = ({ body }: { body: { issues?: { path: unknown; code: string }[] } }) =>
    body.issues?.map(({ path, code }) => [path, code]);

  it('are at most 1,000 in all for a new one by client key; known, reserved and servers’ names are still accepted', async () => {
    const { app, client, server } = await newShop();
    await fill(app, 998);
    const batch = (...names: string[]) => ({ events: names.map((name) => ({ name })) });
    const tooMany = await client.post('/v1/events', batch('name 1', 'a', 'b', 'a', 'c', 'c'));
    expect([tooMany.status, issuesOf(tooMany)]).toEqual([
      400,
      [
        [['events', 4, 'name'], 'too_big'],
        [['events', 5, 'name'], 'too_big'],
      ],
    ]);
    expect(await namesOf(app)).toHaveLength(998);
    expect((await client.post('/v1/events', batch('a', 'b'))).status).toBe(200);
    expect(issuesOf(await client.post('/v1/events', { name: 'c' }))).toEqual([[['name'], 'too_big']]);
    expect((await client.post('/v1/events', batch('a', 'b', 'name 998', 'install', 'session_start'))).status).toBe(200);
    expect((await server.post('/v1/events', { name: 'c' })).status).toBe(200);
    expect((await client.post('/v1/events', { name: 'c' })).status).toBe(200);
    expect((await client.post('/v1/events', { name: 'd' })).status).toBe(400);
  });

  it('are at most 10,000 by server keys', async () => {
    const { app, server } = await newShop();
    await fill(app, 9_999);
    expect((await server.post('/v1/events', { name: 'last' })).status).toBe(200);
    expect(issuesOf(await server.post('/v1/events', { name: 'one more' }))).toEqual([[['name'], 'too_big']]);
  });

  it('stay within the limit when many requests bring new ones at once, and when events repeat', async () => {
    const { app, client, deviceId } = await newShop();
    await fill(app, 990);
    const names = Array.from({ length: 20 }, (_, i) => `repeat ${i}`);
    expect((await client.post('/v1/events', { id: 'x', device_id: deviceId, name: 'name 1' })).status).toBe(200);
    for (const name of names) {
      const { body } = await client.post('/v1/events', { id: 'x', device_id: deviceId, name });
      expect(body).toEqual({ accepted: 0, duplicates: 1 });
    }
    const answers = await Promise.all(
      [...names, ...names.map((name) => `new ${name}`)].map((name) => client.post('/v1/events', { name })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(await namesOf(app)).toHaveLength(1_000);
  });
});
