import { describe, expect, it } from 'vitest';
import { decodeId, type Uuid } from '../../src/ground/values/ids.ts';
import { forgetPeople } from '../../src/insight/events/forget-people.ts';
import { stepsToForget } from '../../src/operation/process/workers.ts';
import { type ErasureTurn, finishErasures } from '../../src/people/users/erasures.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type Client, setup, type TestApp } from '../setup.ts';
import { openShop } from './webhook-shop.ts';

const t = await setup({ workers: false });
const forget = stepsToForget(t.sql);
const deps = { sql: t.sql, clock: t.clock, forget };

/** Passes the quiet minute after an erasure and clears what is due. */
async function clear(): Promise<void> {
  t.clock.advance(61_000);
  await finishErasures(deps);
}

interface World {
  readonly app: TestApp;
  readonly server: Client;
  readonly register: () => Promise<string>;
  /** Tracks one event of each name for a device or a user. */
  readonly track: (who: { device_id?: string; external_id?: string }, ...names: string[]) => Promise<void>;
  /** How many devices have done something at least `times` times. */
  readonly count: (event: string, times?: number) => Promise<number>;
}

let tokens = 0;
async function newWorld(): Promise<World> {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  return {
    app,
    server,
    register: async () =>
      (await server.post('/v1/devices', { platform: 'android', token: `erased-${++tokens}` })).body.id,
    async track(who, ...names) {
      const { status } = await server.post('/v1/events', { events: names.map((name) => ({ name, ...who })) });
      expect(status).toBe(200);
    },
    async count(event, times = 1) {
      const filter = { event, count: { op: 'gte', value: times } };
      return (await server.post('/v1/segments/preview', { filter })).body.count;
    },
  };
}

const eventsOf = (app: TestApp) =>
  t.sql<
    { name: string; subjectId: Uuid; deviceId: Uuid | null; externalId: string | null; properties: object }[]
  >`SELECT name, subject_id, device_id, external_id, properties FROM events WHERE app_id = ${app.id} ORDER BY id`;
const daysOf = (app: TestApp) => t.sql<{ name: string; subjectId: Uuid; count: number }[]>`
  SELECT name, subject_id, sum(count)::int AS count FROM subject_events WHERE app_id = ${app.id}
  GROUP BY name, subject_id ORDER BY name, subject_id`;
const uuidOf = (id: string): Uuid => decodeId('dev', id) ?? '';

describe('an erased user', () => {
  it('is named by no event any more, like their devices; amounts and counts stay', async () => {
    const { app, server, register, track } = await newWorld();
    const [phone, tablet, others] = [await register(), await register(), await register()];
    await track({ device_id: phone }, 'anonymous', 'anonymous');
    const { body: ada } = await server.post('/v1/users', { external_id: 'ada', device_id: phone });
    await server.post('/v1/users', { external_id: 'ada', device_id: tablet });
    await server.post('/v1/users', { external_id: 'bob', device_id: others });
    await track({ device_id: phone }, 'linked');
    await track({ external_id: 'ada' }, 'told');
    await track({ device_id: others }, 'linked');
    const purchase = { name: 'purchase', external_id: 'ada', properties: { amount: 79.9, currency: 'EUR', sku: 'x' } };
    await server.post('/v1/events', purchase);
    await track({}, 'nobody');
    const before = await eventsOf(app);
    expect((await server.delete('/v1/users/ada')).body).toEqual({
      external_id: 'ada',
      deleted: true,
      devices_removed: 2,
    });
    await clear();

    const events = await eventsOf(app);
    expect(events.map(({ name, properties }) => ({ name, properties }))).toEqual(
      before.map(({ name, properties }) => ({ name, properties })),
    );
    const named = events.filter(({ deviceId, externalId }) => deviceId !== null || externalId !== null);
    expect(named).toEqual([expect.objectContaining({ name: 'linked', deviceId: uuidOf(others), externalId: 'bob' })]);
    const text = JSON.stringify([events, await daysOf(app)]);
    for (const trace of ['ada', uuidOf(phone), uuidOf(tablet)]) expect(text).not.toContain(trace);
    // The user's events are under the former user id, which resolves to nothing. The device's
    // events are together under one random id.
    const former = decodeId('usr', ada.id);
    expect(events.filter(({ subjectId }) => subjectId === former).map(({ name }) => name)).toEqual([
      ...['linked', 'told', 'purchase'],
    ]);
    const past = events.filter(({ name }) => name === 'anonymous').map(({ subjectId }) => subjectId);
    expect(new Set(past).size).toBe(1);
    expect(await daysOf(app)).toEqual(expect.arrayContaining([{ name: 'anonymous', subjectId: past[0], count: 2 }]));
    expect((await daysOf(app)).map(({ count }) => count).reduce((sum, count) => sum + count, 0)).toBe(6);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('is named nowhere when many are erased at once, and all others keep their data', async () => {
    const { app, server, register, track } = await newWorld();
    const devices = await Promise.all(Array.from({ length: 25 }, register));
    await Promise.all(devices.map((device_id) => track({ device_id }, 'anonymous')));
    await Promise.all(
      devices.map(async (device_id, i) => {
        await server.post('/v1/users', { external_id: `u-${i}`, device_id });
        await track({ device_id }, 'linked');
      }),
    );
    const counted = (await daysOf(app)).map(({ name, count }) => ({ name, count }));
    await Promise.all(devices.slice(1).map((_, i) => server.delete(`/v1/users/u-${i + 1}`)));
    await clear();
    const events = await eventsOf(app);
    expect(events).toHaveLength(50);
    const named = events.filter(({ deviceId, externalId }) => deviceId !== null || externalId !== null);
    expect(named.map(({ name, deviceId }) => [name, deviceId])).toEqual([
      ['anonymous', uuidOf(devices[0] ?? '')],
      ['linked', uuidOf(devices[0] ?? '')],
    ]);
    expect((await daysOf(app)).map(({ name, count }) => ({ name, count }))).toEqual(counted);
    expect(new Set(events.map(({ subjectId }) => subjectId)).size).toBe(50);
  });

  it('leaves their devices a new start: later events belong to the device, even on the same day', async () => {
    const { app, server, register, track, count } = await newWorld();
    const device = await register();
    await track({ device_id: device }, 'open', 'open');
    await server.post('/v1/users', { external_id: 'ada', device_id: device });
    expect(await count('open', 2)).toBe(1);
    await server.delete('/v1/users/ada');
    t.clock.advance(1_000);
    await server.post('/v1/devices', { platform: 'android', token: `erased-${tokens}` });
    await track({ device_id: device }, 'open');
    await clear();
    expect([await count('open', 1), await count('open', 2)]).toEqual([1, 0]);
    const mine = (await eventsOf(app)).filter(({ subjectId }) => subjectId === uuidOf(device));
    expect(mine).toEqual([expect.objectContaining({ name: 'open', deviceId: uuidOf(device) })]);
    expect(await daysOf(app)).toEqual(
      expect.arrayContaining([
        { name: 'open', subjectId: uuidOf(device), count: 1 },
        { name: 'open', subjectId: expect.not.stringMatching(uuidOf(device)), count: 2 },
      ]),
    );
  });

  it('and the next user of the same device, erased too, have separate pasts', async () => {
    const { app, server, register, track } = await newWorld();
    const device = await register();
    for (const external_id of ['ada', 'bob']) {
      await server.post('/v1/devices', { platform: 'android', token: `erased-${tokens}` });
      await track({ device_id: device }, 'before');
      await server.post('/v1/users', { external_id, device_id: device });
      await track({ device_id: device }, 'as user');
      t.clock.advance(1_000);
      await server.delete(`/v1/users/${external_id}`);
      t.clock.advance(1_000);
    }
    await clear();
    const events = await eventsOf(app);
    expect(events).toHaveLength(4);
    expect(new Set(events.map(({ subjectId }) => subjectId)).size).toBe(4);
    expect(events.filter(({ deviceId, externalId }) => deviceId !== null || externalId !== null)).toEqual([]);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('is also erased when only events named them', async () => {
    const { app, server, track } = await newWorld();
    await track({ external_id: 'only-told' }, 'told');
    expect((await server.delete('/v1/users/only-told')).body).toMatchObject({ deleted: true, devices_removed: 0 });
    await clear();
    expect(await eventsOf(app)).toEqual([expect.objectContaining({ name: 'told', deviceId: null, externalId: null })]);
    expect((await server.delete('/v1/users/only-told')).status).toBe(404);
  });

  it('keeps what another app has under the same external id', async () => {
    const [mine, theirs] = [await newWorld(), await newWorld()];
    for (const { track } of [mine, theirs]) await track({ external_id: 'both' }, 'told');
    await mine.server.delete('/v1/users/both');
    await clear();
    expect((await eventsOf(mine.app)).map(({ externalId }) => externalId)).toEqual([null]);
    expect((await eventsOf(theirs.app)).map(({ externalId }) => externalId)).toEqual(['both']);
  });

  it('becomes null in deliveries, which keep everything else', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device_id = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'ada', device_id });
    const content = { title: 'Sale' };
    const { body: message } = await server.post('/v1/messages', { audience: { external_ids: ['ada'] }, content });
    const delivery = async () => (await server.get(`/v1/messages/${message.id}/deliveries`)).body.data[0];
    const before = await delivery();
    expect(before).toMatchObject({ external_id: 'ada', device_id, status: 'sent' });
    await server.delete('/v1/users/ada');
    expect(await delivery()).toEqual({ ...before, external_id: null });
    await clear();
    await server.post('/v1/users', { external_id: 'ada' });
    expect(await delivery()).toEqual({ ...before, external_id: null });
  });

  it('loses the own properties of their devices', async () => {
    const { server } = await newWorld();
    const { body } = await server.post('/v1/devices', {
      platform: 'android',
      token: `erased-${++tokens}`,
      properties: { mail: 'ada@private.example' },
    });
    await server.post('/v1/users', { external_id: 'ada', device_id: body.id });
    await server.delete('/v1/users/ada');
    const { body: page } = await server.get('/v1/devices');
    expect(page.data).toEqual([expect.objectContaining({ id: body.id, properties: {}, external_id: null })]);
  });
});

describe('addresses and names of an erased user in unfinished webhook events and links', () => {
  const content = { title: 'Sale', url: 'https://shop.example/?m={{external_id}}' };

  async function newShop() {
    const app = await t.newApp();
    const shop = await openShop(t, ['message.clicked'], app);
    const link = async (external_id: string, device_id: string): Promise<void> => {
      await shop.server.post('/v1/users', { external_id, device_id });
    };
    const send = async (external_id: string, device: string): Promise<string> => {
      const { body } = await shop.server.post('/v1/messages', { audience: { external_ids: [external_id] }, content });
      return receiptTokenOf(t, body.id, device);
    };
    const told = async () =>
      (
        await t.sql<{ details: { external_id: string | null; url: string | null } }[]>`
          SELECT details FROM webhook_events WHERE app_id = ${app.id} ORDER BY id`
      ).map(({ details }) => [details.external_id, details.url]);
    return { app, shop, link, send, told, follow: (token: string) => t.request('GET', `/v1/r/${token}`) };
  }

  it('are removed from deliveries: such a link redirects nowhere, and another user’s still works', async () => {
    const { app, shop, link, send, follow } = await newShop();
    const [phone, other] = [await t.registerDevice({}, app), await t.registerDevice({}, app)];
    await link('ada', phone);
    await link('bob', other);
    const [hers, his] = [await send('ada', phone), await send('bob', other)];
    expect((await follow(hers)).headers.get('location')).toBe('https://shop.example/?m=ada');
    await shop.server.delete('/v1/users/ada');
    await clear();
    expect((await follow(hers)).status).toBe(404);
    expect((await follow(his)).headers.get('location')).toBe('https://shop.example/?m=bob');
    const urls = await t.sql`
      SELECT d.urls FROM deliveries d JOIN batches b ON b.id = d.batch_id WHERE b.app_id = ${app.id} AND d.urls IS NOT NULL`;
    expect(urls).toHaveLength(1);
  });

  it('are removed from outboxes, even when the device had another user by then, or the name is used again', async () => {
    const { app, shop, link, send, told, follow } = await newShop();
    const [phone, tablet] = [await t.registerDevice({}, app), await t.registerDevice({}, app)];
    await link('ada', phone);
    await link('eve', tablet);
    await follow(await send('ada', phone));
    await follow(await send('eve', tablet));
    await link('bob', tablet);
    await follow(await send('bob', tablet));
    expect(await told()).toEqual(['ada', 'eve', 'bob'].map((name) => [name, `https://shop.example/?m=${name}`]));
    t.clock.advance(1_000);
    for (const name of ['ada', 'eve']) await shop.server.delete(`/v1/users/${name}`);
    await shop.server.post('/v1/users', { external_id: 'ada' });
    await clear();
    expect(await told()).toEqual([
      [null, null],
      [null, null],
      ['bob', 'https://shop.example/?m=bob'],
    ]);
  });
});

describe("the clearing of erased people's data", () => {
  it('skips erasures of the last minute, because a request may still be writing', async () => {
    const { app, server, track } = await newWorld();
    await track({ external_id: 'ada' }, 'told');
    await server.delete('/v1/users/ada');
    await finishErasures(deps);
    expect(await eventsOf(app)).toEqual([expect.objectContaining({ externalId: 'ada' })]);
    await clear();
    expect(await eventsOf(app)).toEqual([expect.objectContaining({ externalId: null })]);
  });

  it('waits for no lease that is longer than any, because the clock was set back (R-100)', async () => {
    const { app, server, track } = await newWorld();
    await track({ external_id: 'ada' }, 'told');
    await server.delete('/v1/users/ada');
    const lease = (length: string) => t.sql`
      UPDATE erasures SET turn_id = user_id, turn_until = ${t.clock.now} + ${length}::interval WHERE app_id = ${app.id}`;
    await lease('6 minutes');
    await clear();
    expect(await eventsOf(app)).toEqual([expect.objectContaining({ externalId: 'ada' })]);
    await lease('2 hours');
    await clear();
    expect(await eventsOf(app)).toEqual([expect.objectContaining({ externalId: null })]);
  });

  it('may be interrupted anywhere and repeated, even by two at once: the result is the same', async () => {
    const { app, server, register, track } = await newWorld();
    const device = await register();
    await track({ device_id: device }, 'a', 'a', 'b', 'c');
    await server.post('/v1/users', { external_id: 'ada', device_id: device });
    await track({ device_id: device }, 'a', 'b');
    await server.delete('/v1/users/ada');
    t.clock.advance(61_000);
    // Fails at the first piece, then twice at the second of the remaining pieces: earlier pieces
    // stay done.
    for (const failing of [1, 2, 2]) {
      let pieces = 0;
      const interrupted = async (turn: ErasureTurn): Promise<void> => {
        const run: ErasureTurn['run'] = async (work, done) => {
          if (++pieces === failing) throw new Error('interrupted');
          await turn.run(work, done);
        };
        await forgetPeople(t.sql, { ...turn, run });
      };
      await expect(finishErasures({ ...deps, forget: [interrupted] })).rejects.toThrow('interrupted');
      expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(1);
    }
    await Promise.all([finishErasures(deps), finishErasures(deps)]);
    await finishErasures(deps);
    const days = await daysOf(app);
    expect(days.map(({ name, count }) => `${name} ${count}`).sort()).toEqual(['a 1', 'a 2', 'b 1', 'b 1', 'c 1']);
    expect(new Set(days.map(({ subjectId }) => subjectId)).size).toBe(2);
    expect(await eventsOf(app)).toHaveLength(6);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('continues after an interruption where it stopped, even within one name', async () => {
    const { app, server, track } = await newWorld();
    const occurred_at = new Date(t.clock.nowMs() - 3 * 86_400_000).toISOString();
    await track({ external_id: 'ada' }, 'a', 'b', 'c');
    await server.post('/v1/events', { name: 'b', external_id: 'ada', occurred_at });
    await server.delete('/v1/users/ada');
    t.clock.advance(61_000);
    const pieces: string[] = [];
    const counting = (piecesMax: number) => async (turn: ErasureTurn) => {
      const run: ErasureTurn['run'] = async (work, done) => {
        if (pieces.length === piecesMax) throw new Error('interrupted');
        await turn.run(work, done);
        pieces.push(`${done?.name}`);
      };
      await forgetPeople(t.sql, { ...turn, run });
    };
    await expect(finishErasures({ ...deps, forget: [counting(2)] })).rejects.toThrow('interrupted');
    await finishErasures({ ...deps, forget: [counting(9)] });
    expect(pieces).toEqual(['a', 'b', 'b', 'c']);
    expect((await eventsOf(app)).map(({ externalId }) => externalId)).toEqual([null, null, null, null]);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('belongs to one process until it ends: others that look do nothing and do not wait', async () => {
    const { app, server, track } = await newWorld();
    await track({ external_id: 'ada' }, 'a', 'b');
    await server.delete('/v1/users/ada');
    t.clock.advance(61_000);
    let looked = 0;
    const watched = async (turn: ErasureTurn): Promise<void> => {
      const run: ErasureTurn['run'] = async (work, done) => {
        await turn.run(work, done);
        looked++;
        await finishErasures({ ...deps, forget: [() => Promise.reject(new Error('there is nothing to do'))] });
      };
      await forgetPeople(t.sql, { ...turn, run });
    };
    await finishErasures({ ...deps, forget: [watched] });
    expect(looked).toBe(2);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it('is taken over when its process has become silent, and that process then does nothing more', async () => {
    const { app, server, track } = await newWorld();
    await track({ external_id: 'ada' }, 'a', 'b');
    await server.delete('/v1/users/ada');
    t.clock.advance(61_000);
    let hasWorked = false;
    const silent = async (turn: ErasureTurn): Promise<void> => {
      t.clock.advance(301_000);
      await finishErasures(deps);
      await turn.run(async () => {
        hasWorked = true;
      });
    };
    await finishErasures({ ...deps, forget: [silent] });
    expect(hasWorked).toBe(false);
    expect((await eventsOf(app)).map(({ externalId }) => externalId)).toEqual([null, null]);
    expect(await t.sql`SELECT 1 FROM erasures WHERE app_id = ${app.id}`).toHaveLength(0);
  });

  it("of one app that fails does not delay another app's", async () => {
    const [sick, well] = [await newWorld(), await newWorld()];
    for (const { server, track } of [sick, well]) {
      await track({ external_id: 'ada' }, 'told');
      await server.delete('/v1/users/ada');
    }
    t.clock.advance(61_000);
    const failing = async (turn: ErasureTurn): Promise<void> => {
      if (turn.appId === sick.app.id) throw new Error('this app is sick');
      await forgetPeople(t.sql, turn);
    };
    await expect(finishErasures({ ...deps, forget: [failing] })).rejects.toThrow('this app is sick');
    expect((await eventsOf(well.app)).map(({ externalId }) => externalId)).toEqual([null]);
    expect((await eventsOf(sick.app)).map(({ externalId }) => externalId)).toEqual(['ada']);
    await finishErasures(deps);
    expect((await eventsOf(sick.app)).map(({ externalId }) => externalId)).toEqual([null]);
  });

  it('loses no event that is tracked on the same day meanwhile, and counts none twice', async () => {
    const { app, server, register, track } = await newWorld();
    const device = await register();
    await track({ device_id: device }, 'open');
    await server.post('/v1/users', { external_id: 'ada', device_id: device });
    await server.delete('/v1/users/ada');
    t.clock.advance(61_000);
    await Promise.all([
      finishErasures(deps),
      ...Array.from({ length: 20 }, () => track({ device_id: device }, 'open')),
    ]);
    await finishErasures(deps);
    const mine = (await eventsOf(app)).filter(({ subjectId }) => subjectId === uuidOf(device));
    expect(mine).toHaveLength(20);
    const days = await daysOf(app);
    expect(days.find(({ subjectId }) => subjectId === uuidOf(device))?.count).toBe(20);
    expect(days.map(({ count }) => count).sort()).toEqual([1, 20]);
  });

  it('carries over every column of an event', async () => {
    const columns = await t.sql<{ name: string }[]>`
      SELECT attname AS name FROM pg_attribute WHERE attrelid = 'events'::regclass AND attnum > 0 AND NOT attisdropped`;
    // The columns that `moveDeviceEvents` inserts again, and the two that it clears. A new column
    // must be added to that statement.
    expect(columns.map(({ name }) => name).sort()).toEqual(
      [
        'app_id',
        'subject_id',
        'id',
        'name',
        'at',
        'properties',
        'amount',
        'currency',
        'device_id',
        'external_id',
      ].sort(),
    );
  });
});
