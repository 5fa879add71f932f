// Client keys are public, so strangers have them: the limits of events by client key, and how an
// app removes such events (contract 10).
import { describe, expect, it } from 'vitest';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { deleteEventName } from '../../src/insight/events/delete-event-name.ts';
import { forgetSamplesOfPeople } from '../../src/insight/events/forget-samples.ts';
import { createTrack, type Track } from '../../src/insight/events/track-events.ts';
import { deleteCreditsOfName } from '../../src/insight/reports/forget-queries.ts';
import { finishErasures } from '../../src/people/users/erasures.ts';
import { clientEventsDefault } from '../../src/teams/apps/caller.ts';
import { editApp } from '../../src/teams/apps/manage-app.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });
const dayMs = 24 * 3_600_000;

async function newShop() {
  const app = await t.newApp();
  const deviceId = await t.registerDevice({}, app);
  return { app, deviceId, server: t.clientOf(app.serverKey), client: t.clientOf(app.clientKey) };
}

const at = (daysAgo: number, moreMs = 0) => new Date(t.clock.nowMs() - daysAgo * dayMs + moreMs).toISOString();
const purchase = (more: object = {}) => ({
  name: 'purchase',
  properties: { amount: 999_999_999_999, currency: 'EUR' },
  ...more,
});

const namesOf = async (app: TestApp): Promise<string[]> => {
  const rows = await t.sql<{ name: string }[]>`
    SELECT name FROM event_names WHERE app_id = ${app.id} UNION SELECT name FROM rollup_deltas WHERE app_id = ${app.id}`;
  return rows.map(({ name }) => name).sort();
};

const partitions = async (): Promise<number> =>
  (await t.sql`SELECT 1 FROM pg_inherits WHERE inhparent = 'events'::regclass`).length;

describe('the time of an event by client key', () => {
  it('in 2001 is 400 with the limit, makes no partition and counts nowhere; a server key may send it', async () => {
    const { app, client, server } = await newShop();
    const before = await partitions();
    for (let month = 1; month <= 12; month++) {
      const occurred_at = `2001-${String(month).padStart(2, '0')}-15T00:00:00Z`;
      const { status, body } = await client.post('/v1/events', purchase({ occurred_at }));
      expect(status).toBe(400);
      expect(body.issues).toEqual([
        { path: ['occurred_at'], code: 'too_small', message: expect.any(String), limit: expect.stringMatching(/Z$/) },
      ]);
      expect(t.clock.nowMs() - Date.parse(body.issues[0].limit)).toBeGreaterThanOrEqual(30 * dayMs);
    }
    expect(await partitions()).toBe(before);
    expect(await namesOf(app)).toEqual([]);
    expect((await server.post('/v1/events', purchase({ occurred_at: '2001-01-15T00:00:00Z' }))).status).toBe(200);
  });

  it('reaches back thirty days, and the answer names each earlier item', async () => {
    const { client } = await newShop();
    t.clock.hold(t.clock.date());
    expect((await client.post('/v1/events', { name: 'a', occurred_at: at(30, 1000) })).status).toBe(200);
    const events = [{ name: 'a', occurred_at: at(30, -1000) }, { name: 'a' }, { name: 'a', occurred_at: at(31) }];
    const { status, body } = await client.post('/v1/events', { events });
    expect({ status, paths: body.issues.map(({ path }: { path: unknown }) => path) }).toEqual({
      status: 400,
      paths: [
        ['events', 0, 'occurred_at'],
        ['events', 2, 'occurred_at'],
      ],
    });
  });
});

describe('names, by client key', () => {
  const ask = (client: ReturnType<typeof t.clientOf>, from: number, count: number) =>
    client.post('/v1/events', { events: Array.from({ length: count }, (_, i) => ({ name: `junk ${from + i}` })) });

  it('are at most 500, and the app has room for names of its own', async () => {
    const { app, client, server } = await newShop();
    for (let from = 0; from < 500; from += 50) expect((await ask(client, from, 50)).status).toBe(200);
    const { status, body } = await ask(client, 500, 2);
    expect({ status, issues: body.issues }).toMatchObject({
      status: 400,
      issues: [
        { path: ['events', 0, 'name'], code: 'too_big', limit: 500 },
        { path: ['events', 1, 'name'], code: 'too_big', limit: 500 },
      ],
    });
    expect(await namesOf(app)).toHaveLength(500);
    expect((await server.post('/v1/events', { name: 'checkout' })).status).toBe(200);
    // Client keys may use any name that the app already has.
    expect((await client.post('/v1/events', { events: [{ name: 'checkout' }, { name: 'junk 1' }] })).status).toBe(200);
    expect((await server.post('/v1/events', { events: [{ name: 'junk 600' }] })).status).toBe(200);
  });

  it('are at most 500 also in racing requests', async () => {
    const { app, client } = await newShop();
    for (let from = 0; from < 450; from += 50) await ask(client, from, 50);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(client, 1_000 + i * 5, 5)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(await namesOf(app)).toHaveLength(500);
  });
});

describe('keys of a name, by client key', () => {
  it('are at most 100, the answer names each that is too many, and a server key adds others', async () => {
    const { app, client, server } = await newShop();
    const properties = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`key ${from + i}`, 1]));
    for (const from of [0, 50]) {
      expect((await client.post('/v1/events', { name: 'a', properties: properties(from, 50) })).status).toBe(200);
    }
    const tooMany = await client.post('/v1/events', { events: [{ name: 'a', properties: properties(99, 3) }] });
    expect({ status: tooMany.status, issues: tooMany.body.issues }).toMatchObject({
      status: 400,
      issues: [
        { path: ['events', 0, 'properties', 'key 100'], code: 'too_big', limit: 100 },
        { path: ['events', 0, 'properties', 'key 101'], code: 'too_big', limit: 100 },
      ],
    });
    expect((await client.post('/v1/events', { name: 'b', properties: properties(99, 3) })).status).toBe(200);
    expect((await server.post('/v1/events', { name: 'a', properties: properties(99, 3) })).status).toBe(200);
    expect((await client.post('/v1/events', { name: 'a', properties: properties(99, 3) })).status).toBe(200);
    const [{ count } = { count: 0 }] = await t.sql<{ count: number }[]>`
      SELECT count(*) FROM event_properties WHERE app_id = ${app.id} AND name = 'a' AND by_client`;
    expect(count).toBe(100);
  });
});

describe('keys of a name, by client key and on several processes', () => {
  it('are at most 100 also when requests for them race', async () => {
    const { app } = await newShop();
    const trackOn = Array.from({ length: 10 }, () =>
      createTrack({ sql: t.sql, txSql: t.sql, clock: t.clock, waitMs: 30_000 }),
    );
    const bring = (track: Track, from: number, count: number) => {
      const properties = Object.fromEntries(Array.from({ length: count }, (_, i) => [`key ${from + i}`, 1]));
      const event = { name: 'a', properties, propertiesText: JSON.stringify(properties) };
      return track({
        appId: app.id,
        isServer: false,
        clientEvents: clientEventsDefault,
        pathOf: () => [],
        events: [{ ...event, deviceId: null, externalId: null, id: null, occurredAtMs: null, purchase: null }],
      });
    };
    await bring(trackOn[0] as Track, 0, 50);
    // All judge before any of them stores its keys.
    const { all } = await t.sql.begin(async (tx) => {
      await tx`LOCK TABLE event_properties IN SHARE MODE`;
      const all = Promise.allSettled(trackOn.map((track, i) => bring(track, 100 * (i + 1), 20)));
      await untilLockWaits(tx, 2, { name: 'tests' });
      return { all };
    });
    const answers = await all;
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    const [{ count } = { count: 0 }] = await t.sql<{ count: number }[]>`
      SELECT count(*) FROM event_properties WHERE app_id = ${app.id} AND name = 'a'`;
    expect(count).toBe(90);
  });
});

describe('samples of values', () => {
  const samplesOf = async (app: TestApp, key: string): Promise<unknown> => {
    const [row] = await t.sql<{ samples: unknown[] }[]>`
      SELECT samples FROM event_properties WHERE app_id = ${app.id} AND key = ${key}`;
    return row?.samples;
  };
  const erased = async () => {
    t.clock.advance(120_000);
    await finishErasures({ sql: t.sql, clock: t.clock, forget: [forgetSamplesOfPeople] });
  };

  it('are kept from server keys and never from client keys', async () => {
    const { app, deviceId, client, server } = await newShop();
    const event = (email: string) => ({ name: 'signed_up', device_id: deviceId, properties: { email, age: 31 } });
    await client.post('/v1/events', event('stranger@example.com'));
    expect(await samplesOf(app, 'email')).toEqual([]);
    await server.post('/v1/events', event('known@example.com'));
    await client.post('/v1/events', event('another@example.com'));
    expect(await samplesOf(app, 'email')).toEqual(['known@example.com']);
    expect(await samplesOf(app, 'age')).toEqual([31]);
  });

  it('are deleted with their person, tracked by name or by device, and those of other people stay', async () => {
    const { app, deviceId, server } = await newShop();
    const track = (email: string, by: object) =>
      server.post('/v1/events', { name: 'signed_up', properties: { email, half: 1.5, 'ключ"\\': email }, ...by });
    await track('anonymous@example.com', { device_id: deviceId });
    await server.post('/v1/users', { external_id: 'ada', device_id: deviceId });
    await track('ada@example.com', { external_id: 'ada' });
    await track('bob@example.com', { external_id: 'bob' });
    for (const key of ['email', 'ключ"\\']) {
      expect(await samplesOf(app, key)).toEqual(['anonymous@example.com', 'ada@example.com', 'bob@example.com']);
    }
    expect((await server.delete('/v1/users/ada')).status).toBe(200);
    await erased();
    for (const key of ['email', 'ключ"\\']) expect(await samplesOf(app, key)).toEqual(['bob@example.com']);
    // The sample belongs to the first person who sent it.
    expect(await samplesOf(app, 'half')).toEqual([]);
    const [{ left } = { left: 0 }] = await t.sql<{ left: number }[]>`
      SELECT count(*) AS left FROM event_properties WHERE app_id = ${app.id} AND sample_subjects::text LIKE '%ada@%'`;
    expect(left).toBe(0);
  });

  it('from an unknown person are deleted with the first erasure of the app', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/events', { name: 'a', external_id: 'ada', properties: { email: 'x@example.com' } });
    await t.sql`UPDATE event_properties SET sample_subjects = '{}' WHERE app_id = ${app.id}`;
    await server.delete('/v1/users/ada');
    await erased();
    expect(await samplesOf(app, 'email')).toEqual([]);
  });
});

describe('what an app accepts from client keys', () => {
  const within2s = () => t.clock.advance(2_000);

  it('is everything by default', async () => {
    const { client } = await newShop();
    expect((await client.post('/v1/events', { events: [{ name: 'anything' }, purchase()] })).status).toBe(200);
  });

  it('answers a new name with 403 and the item’s path, and accepts names that the app or reports know', async () => {
    const { app, client, server } = await newShop();
    await server.post('/v1/events', { name: 'checkout' });
    await client.post('/v1/events', { name: 'known before' });
    await editApp(t, app.id, { newNames: false });
    within2s();
    const events = [{ name: 'checkout' }, { name: 'install' }, { name: 'made up' }, { name: 'made up too' }];
    const refused = await client.post('/v1/events', { events });
    expect(refused).toMatchObject({ status: 403, body: { error: 'wrong_key_scope', path: ['events', 2] } });
    expect(Object.keys(refused.body)).toEqual(['error', 'message', 'path', 'request_id']);
    expect(await client.post('/v1/events', { name: 'made up' })).toMatchObject({ status: 403, body: { path: [] } });
    expect(await namesOf(app)).toEqual(['checkout', 'known before']);
    const fine = [{ name: 'checkout' }, { name: 'known before' }, { name: 'session_start' }, purchase()];
    expect((await client.post('/v1/events', { events: fine })).status).toBe(200);
    expect((await server.post('/v1/events', { name: 'made up' })).status).toBe(200);
    expect((await client.post('/v1/events', { name: 'made up' })).status).toBe(200);
  });

  it('answers a purchase with 403 and the item’s path, and accepts it from server keys', async () => {
    const { app, client, server } = await newShop();
    await editApp(t, app.id, { purchases: false });
    within2s();
    const refused = await client.post('/v1/events', { events: [{ name: 'a' }, purchase()] });
    expect(refused).toMatchObject({ status: 403, body: { error: 'wrong_key_scope', path: ['events', 1] } });
    expect(await namesOf(app)).toEqual([]);
    expect((await server.post('/v1/events', purchase())).status).toBe(200);
    await editApp(t, app.id, { purchases: true });
    within2s();
    expect((await client.post('/v1/events', purchase())).status).toBe(200);
  });

  it('changes with an audit entry, and a change of nothing writes none', async () => {
    const { app } = await newShop();
    await editApp(t, app.id, {});
    await editApp(t, app.id, { purchases: true });
    await editApp(t, app.id, { newNames: false });
    const entries = await t.sql`
      SELECT before, after FROM audit_entries WHERE app_id = ${app.id} AND action = 'app.events'`;
    expect(entries).toEqual([
      { before: { new_names: true, purchases: true }, after: { new_names: false, purchases: true } },
    ]);
  });
});

describe('event delete', () => {
  const noSleep = async () => undefined;
  const deleteName = (app: TestApp, name: string, sleep: () => Promise<void> = noSleep) =>
    deleteEventName(t, {
      appId: app.id,
      name,
      sleep,
      forgetCredits: (tx) => deleteCreditsOfName(tx, app.id, name),
    });
  const rowsOf = async (app: TestApp, name: string) => {
    const counts: Record<string, number> = {};
    for (const table of [
      'events',
      'subject_events',
      'rollups',
      'rollup_deltas',
      'event_names',
      'event_properties',
      'client_names',
    ]) {
      const [row] = await t.sql<{ count: number }[]>`
        SELECT count(*) FROM ${t.sql(table)} WHERE app_id = ${app.id} AND name = ${name}`;
      if (row && row.count > 0) counts[table] = row.count;
    }
    return counts;
  };

  it('deletes the events of a name with their counts, sums and properties, on every day, and nothing else', async () => {
    const { app, deviceId, client, server } = await newShop();
    const event = (name: string, daysAgo: number) => ({
      name,
      device_id: deviceId,
      occurred_at: at(daysAgo),
      properties: { a: 1 },
    });
    for (const name of ['junk', 'kept']) {
      await client.post('/v1/events', { events: [0, 1, 29].map((days) => event(name, days)) });
      await server.post('/v1/events', event(name, 400));
    }
    expect(await deleteName(app, 'junk')).toBe(4);
    expect(await rowsOf(app, 'junk')).toEqual({});
    expect(await rowsOf(app, 'kept')).toMatchObject({ events: 4, subject_events: 4, client_names: 1 });
    const { body } = await server.get(`/v1/reports/events?from=${at(360)}&to=${at(-1)}`);
    expect(body.events).toEqual({ kept: { count: 3 } });
    expect(await deleteName(app, 'junk')).toBeUndefined();
    expect(await deleteName(app, 'never there')).toBeUndefined();
  });

  it('frees the name for the share of client keys, also in a process that remembers it', async () => {
    const { app, client } = await newShop();
    for (let from = 0; from < 500; from += 50) {
      await client.post('/v1/events', { events: Array.from({ length: 50 }, (_, i) => ({ name: `junk ${from + i}` })) });
    }
    expect((await client.post('/v1/events', { name: 'own' })).status).toBe(400);
    await deleteName(app, 'junk 7');
    t.clock.advance(2_000);
    expect((await client.post('/v1/events', { name: 'own' })).status).toBe(200);
    // Its place is taken, so the old name would now exceed the limit.
    expect((await client.post('/v1/events', { name: 'junk 7' })).status).toBe(400);
  });

  it('deletes the events that a process takes meanwhile because it remembers the name', async () => {
    const { app, client } = await newShop();
    await client.post('/v1/events', { name: 'junk' });
    await editApp(t, app.id, { newNames: false });
    t.clock.advance(2_000);
    expect((await client.post('/v1/events', { name: 'junk' })).status).toBe(200);
    const pause = async () => {
      await client.post('/v1/events', { name: 'junk' });
    };
    expect(await deleteName(app, 'junk', pause)).toBe(3);
    t.clock.advance(2_000);
    expect((await client.post('/v1/events', { name: 'junk' })).status).toBe(403);
    expect(await rowsOf(app, 'junk')).toEqual({});
  });

  it('of purchases deletes their revenue and attribution', async () => {
    const { app, client, server } = await newShop();
    await client.post('/v1/events', purchase());
    await t.sql`
      INSERT INTO attributions (app_id, subject_id, event_id, at, currency, amount, window_hours, class)
      VALUES (${app.id}, ${mintUuid()}, ${mintUuid()}, now(), 'EUR', 5, 24, 'unattributed')`;
    await deleteName(app, 'purchase');
    const { body } = await server.get(`/v1/reports/revenue?from=${at(30)}&to=${at(-1)}`);
    expect(body.revenue).toEqual([]);
    expect(await t.sql`SELECT 1 FROM attributions WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('keeps events, counts and sums in agreement with requests that track meanwhile', async () => {
    const { app, deviceId, server } = await newShop();
    const event = { name: 'busy', device_id: deviceId };
    for (let i = 0; i < 5; i++) await server.post('/v1/events', { events: Array(20).fill(event) });
    let isDone = false;
    const tracking = (async () => {
      while (!isDone) await server.post('/v1/events', { events: Array(5).fill(event) });
    })();
    await deleteName(app, 'busy');
    isDone = true;
    await tracking;
    const [sums] = await t.sql<{ events: number; days: number; sums: number }[]>`
      SELECT (SELECT count(*) FROM events WHERE app_id = ${app.id})::int AS events,
        (SELECT coalesce(sum(count), 0) FROM subject_events WHERE app_id = ${app.id})::int AS days,
        (SELECT coalesce(sum(count), 0) FROM (
          SELECT count FROM rollups WHERE app_id = ${app.id} UNION ALL SELECT count FROM rollup_deltas WHERE app_id = ${app.id}) s
        )::int AS sums`;
    expect([sums?.days, sums?.sums]).toEqual([sums?.events, sums?.events]);
  });

  it('is written in the audit log before it begins', async () => {
    const { app, client } = await newShop();
    await client.post('/v1/events', { name: 'junk' });
    await deleteName(app, 'junk');
    expect(
      await t.sql`SELECT target, after FROM audit_entries WHERE app_id = ${app.id} AND action = 'event.delete'`,
    ).toEqual([{ target: 'junk', after: { events: 1 } }]);
  });
});
