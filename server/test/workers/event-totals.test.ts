import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCataloguedEvent, listEventCatalog } from '../../src/insight/events/event-catalog.ts';
import { foldTotals } from '../../src/insight/events/fold-totals.ts';
import { rebuildEventTotals } from '../../src/insight/events/rebuild-event-totals.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });

interface Sum {
  readonly name: string;
  readonly bucket: Date;
  readonly currency: string;
  readonly count: number;
  readonly amount: string;
}

/** The sums of a report: both tables in one snapshot. */
const summed = (app: TestApp): Promise<Sum[]> => t.sql<Sum[]>`
  SELECT name, bucket, currency, sum(count)::int AS count, sum(amount)::text AS amount
  FROM (
    SELECT name, bucket, currency, count, amount FROM rollups WHERE app_id = ${app.id}
    UNION ALL
    SELECT name, bucket, currency, count, amount FROM rollup_deltas WHERE app_id = ${app.id}
  ) AS s
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

/** The same sums computed from the events. */
const direct = (app: TestApp): Promise<Sum[]> => t.sql<Sum[]>`
  SELECT name, date_bin('15 minutes', at, timestamptz '2000-01-01Z') AS bucket, coalesce(currency, '') AS currency,
    count(*)::int AS count, coalesce(sum(amount), 0)::text AS amount
  FROM events WHERE app_id = ${app.id} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

interface DayRow {
  readonly name: string;
  readonly subjectId: string;
  readonly day: string;
  readonly count: number;
  readonly lastAt: Date;
}

const days = (app: TestApp): Promise<DayRow[]> => t.sql<DayRow[]>`
  SELECT name, subject_id, day::text, count, last_at FROM subject_events WHERE app_id = ${app.id} ORDER BY 1, 2, 3`;

const directDays = (app: TestApp): Promise<DayRow[]> => t.sql<DayRow[]>`
  SELECT name, subject_id, (at AT TIME ZONE 'UTC')::date::text AS day, count(*)::int AS count, max(at) AS last_at
  FROM events WHERE app_id = ${app.id} AND (device_id IS NOT NULL OR external_id IS NOT NULL)
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

const names = (app: TestApp) =>
  t.sql`SELECT name, count, last_at FROM event_names WHERE app_id = ${app.id} ORDER BY name`;

async function newShop() {
  const app = await t.newApp();
  const devices = [await t.registerDevice({}, app), await t.registerDevice({}, app)];
  return { app, devices, server: t.clientOf(app.serverKey) };
}

const minuteMs = 60_000;

describe('the sums of events', () => {
  it('equal the events after random batches, with folds at random moments during and between them', async () => {
    const event = fc.record({
      name: fc.constantFrom('purchase', 'session_start', 'a', 'é'),
      device: fc.option(fc.nat(1), { nil: null }),
      user: fc.option(fc.constantFrom('u-1', 'u-2'), { nil: null }),
      id: fc.option(fc.nat(12), { nil: null }),
      minutesAgo: fc.nat(3_000),
      cents: fc.nat(100_000),
      currency: fc.constantFrom('EUR', 'usd'),
    });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.array(event, { minLength: 1, maxLength: 12 }) },
      { weight: 1, arbitrary: fc.constant('fold' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
        const { app, devices, server } = await newShop();
        await Promise.all(
          steps.map(async (what) => {
            if (what === 'fold') return foldTotals({ sql: t.sql });
            const events = what.map(({ name, device, user, id, minutesAgo, cents, currency }) => ({
              name,
              occurred_at: new Date(t.clock.nowMs() - minutesAgo * minuteMs).toISOString(),
              ...(device !== null && { device_id: devices[device] }),
              ...(user !== null && { external_id: user }),
              ...(id !== null && { id: `id-${id}` }),
              ...(name === 'purchase' && { properties: { amount: cents / 100, currency } }),
            }));
            const answer = await server.post('/v1/events', { events });
            expect(answer.status).toBe(200);
          }),
        );
        expect(await summed(app)).toEqual(await direct(app));
        expect(await days(app)).toEqual(await directDays(app));
        await foldTotals({ sql: t.sql });
        expect(await t.sql`SELECT 1 FROM rollup_deltas WHERE app_id = ${app.id}`).toHaveLength(0);
        expect(await summed(app)).toEqual(await direct(app));
      }),
      { numRuns: 12 },
    );
  });

  it('are exact in any one snapshot during folds', async () => {
    const { app, server } = await newShop();
    const events = Array.from({ length: 50 }, (_, i) => ({
      name: 'purchase',
      occurred_at: new Date(t.clock.nowMs() - i * 20 * minuteMs).toISOString(),
      properties: { amount: 0.1, currency: 'EUR' },
    }));
    await server.post('/v1/events', { events });
    const expected = await direct(app);
    const folding = foldTotals({ sql: t.sql });
    for (let look = 0; look < 10; look++) expect(await summed(app)).toEqual(expected);
    await folding;
    expect(await summed(app)).toEqual(expected);
  });
});

describe('rebuildEventTotals', () => {
  async function trackSome() {
    const { app, devices, server } = await newShop();
    const at = (daysAgo: number) => new Date(t.clock.nowMs() - daysAgo * 86_400_000).toISOString();
    const purchase = { name: 'purchase', properties: { amount: 19.99, currency: 'EUR' } };
    const answer = await server.post('/v1/events', {
      events: [
        { ...purchase, device_id: devices[0], occurred_at: at(0) },
        { ...purchase, external_id: 'u-1', occurred_at: at(2) },
        { ...purchase, external_id: 'u-1', occurred_at: at(2) },
        { name: 'read', device_id: devices[1], occurred_at: at(45), properties: { section: 'news', words: 7 } },
        { name: 'read', occurred_at: at(45) },
        { name: 'old', device_id: devices[1], occurred_at: '2003-05-05T12:00:00Z' },
      ],
    });
    expect(answer.body.accepted).toBe(6);
    return { app, devices, server };
  }

  const expectExact = async (app: TestApp): Promise<void> => {
    expect(await summed(app)).toEqual(await direct(app));
    expect(await days(app)).toEqual(await directDays(app));
  };

  it('computes sums, daily counts and catalog from the events again, whatever their state was', async () => {
    const { app } = await trackSome();
    await foldTotals({ sql: t.sql });
    const catalog = await listEventCatalog(t.sql, app.id, null, 50);
    const counted = [...(await names(app))];
    await t.sql`UPDATE rollups SET count = count + 7, amount = amount + 1 WHERE app_id = ${app.id} AND name = 'read'`;
    await t.sql`DELETE FROM rollups WHERE app_id = ${app.id} AND name = 'old'`;
    await t.sql`
      INSERT INTO rollups (app_id, name, bucket, currency, count, amount, last_at)
      VALUES (${app.id}, 'never', date_bin('15 minutes', now(), timestamptz '2000-01-01Z'), '', 3, 0, now())`;
    await t.sql`UPDATE event_names SET count = 99 WHERE app_id = ${app.id}`;
    await t.sql`UPDATE subject_events SET count = 99, last_at = now() WHERE app_id = ${app.id} AND name = 'purchase'`;
    await t.sql`DELETE FROM subject_events WHERE app_id = ${app.id} AND name = 'read'`;
    await t.sql`
      INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
      VALUES (${app.id}, 'never', ${app.id}, current_date, 3, now())`;
    await t.sql`DELETE FROM event_properties WHERE app_id = ${app.id} AND key = 'words'`;

    const seen: Date[] = [];
    const request = { appId: app.id, from: null, to: null, onDay: (day: Date) => seen.push(day) };
    expect(await rebuildEventTotals(t.sql, request)).toEqual({ days: 4, events: 6 });
    expect(seen).toHaveLength(4);
    await expectExact(app);
    expect([...(await names(app))]).toEqual(counted);
    const again = await listEventCatalog(t.sql, app.id, null, 50);
    const shape = (events: typeof catalog) =>
      events.map(({ properties, ...rest }) => ({ ...rest, keys: properties.map(({ key, type }) => `${key} ${type}`) }));
    expect(shape(again)).toEqual(shape(catalog));

    // Counts that are too low, with times that are too late.
    await t.sql`UPDATE subject_events SET count = 1, last_at = now() WHERE app_id = ${app.id} AND count = 2`;
    await rebuildEventTotals(t.sql, request);
    await expectExact(app);
  });

  it('stays within its span, widened to whole days, and may be repeated', async () => {
    const { app } = await trackSome();
    await foldTotals({ sql: t.sql });
    await t.sql`DELETE FROM rollups WHERE app_id = ${app.id}`;
    const from = new Date(t.clock.nowMs() - 3 * 86_400_000);
    for (let run = 0; run < 2; run++) {
      expect(await rebuildEventTotals(t.sql, { appId: app.id, from, to: null })).toMatchObject({ events: 3 });
    }
    expect((await summed(app)).reduce((sum, { count }) => sum + count, 0)).toBe(3);
    await rebuildEventTotals(t.sql, { appId: app.id, from: null, to: null });
    await expectExact(app);
  });

  it('loses and doubles nothing that is tracked or folded meanwhile', async () => {
    const { app, devices, server } = await trackSome();
    const track = async (): Promise<void> => {
      const events = devices.flatMap((device_id) =>
        Array.from({ length: 10 }, () => ({ name: 'read', device_id, properties: { section: 'sport' } })),
      );
      for (let i = 0; i < 10; i++) expect((await server.post('/v1/events', { events })).status).toBe(200);
    };
    const tracking = Promise.all([track(), track()]);
    const rebuilding = (async () => {
      for (let i = 0; i < 3; i++) await rebuildEventTotals(t.sql, { appId: app.id, from: null, to: null });
    })();
    const folding = (async () => {
      for (let i = 0; i < 10; i++) await foldTotals({ sql: t.sql });
    })();
    await Promise.all([tracking, rebuilding, folding]);
    await expectExact(app);
  });

  it('keeps the sums of events that retention has deleted, and does not touch other apps', async () => {
    const { app } = await trackSome();
    const other = await trackSome();
    await foldTotals({ sql: t.sql });
    await t.sql`INSERT INTO event_retention (kept_since) VALUES (now() - interval '30 days')`;
    await t.sql`DELETE FROM events WHERE app_id = ${app.id} AND at < now() - interval '30 days'`;
    await t.sql`UPDATE rollups SET count = 50 WHERE app_id = ${other.app.id}`;
    expect(await rebuildEventTotals(t.sql, { appId: app.id, from: null, to: null })).toMatchObject({ events: 3 });
    const kept = (await summed(app)).filter(({ name }) => name !== 'purchase');
    expect(kept.map(({ name, count }) => [name, count])).toEqual([
      ['old', 1],
      ['read', 2],
    ]);
    expect((await summed(other.app)).every(({ count }) => count === 50)).toBe(true);
    await t.sql`DELETE FROM event_retention`;
  });
});

describe('the event catalog', () => {
  it('lists tracked names with exact counts, keys, types and five samples', async () => {
    const { app, server } = await newShop();
    const track = (...events: object[]) => server.post('/v1/events', { events });
    await track(
      { name: 'b', properties: { n: 1, s: 'x', o: {}, l: [1], z: null, t: true } },
      { name: 'a', occurred_at: '2026-01-02T03:04:05.678Z' },
    );
    await foldTotals({ sql: t.sql });
    await track({ name: 'a', occurred_at: '2026-01-02T03:04:05.677Z' });
    for (let i = 0; i < 9; i++) await track({ name: 'b', properties: { n: i, s: `${'é'.repeat(63)}😀${i}` } });
    await track({ name: 'b', properties: { n: 'text' } });
    const [a, b, ...more] = await listEventCatalog(t.sql, app.id, null, 10);
    expect(more).toEqual([]);
    expect(a).toEqual({ name: 'a', count: 2, lastAt: new Date('2026-01-02T03:04:05.678Z'), properties: [] });
    expect(b?.count).toBe(11);
    const byKey = new Map(b?.properties.map(({ key, type, samples }) => [`${key} ${type}`, samples]));
    expect([...byKey.keys()].sort()).toEqual([
      ...['l array', 'n number', 'n string', 'o object', 's string', 't boolean', 'z null'],
    ]);
    expect(byKey.get('n number')).toHaveLength(5);
    expect(byKey.get('n string')).toEqual(['text']);
    expect(byKey.get('o object')).toEqual([]);
    // Cut before the surrogate pair that a cut at 64 units would split.
    expect(byKey.get('s string')).toEqual(['x', 'é'.repeat(63)]);
    expect(await listEventCatalog(t.sql, app.id, 'a', 10)).toEqual([b]);
    expect(await findCataloguedEvent(t.sql, app.id, 'b')).toEqual(b);
    expect(await findCataloguedEvent(t.sql, app.id, 'c')).toBeUndefined();
    expect(await listEventCatalog(t.sql, (await t.newApp()).id, null, 10)).toEqual([]);
  });

  it('holds at most 200 properties of a name, whatever is sent', async () => {
    const { app, devices } = await newShop();
    const server = t.clientOf(app.serverKey);
    for (let batch = 0; batch < 6; batch++) {
      const properties = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${batch}-${i}`, i]));
      const answer = await server.post('/v1/events', { name: 'a', device_id: devices[0], properties });
      expect(answer.status).toBe(200);
    }
    const event = await findCataloguedEvent(t.sql, app.id, 'a');
    expect(event?.properties).toHaveLength(200);
  });
});
