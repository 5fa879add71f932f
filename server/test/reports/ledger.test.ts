import { describe, expect, it } from 'vitest';
import { rebuildEventTotals } from '../../src/insight/events/rebuild-event-totals.ts';
import { classAhead } from '../../src/insight/reports/class-ahead.ts';
import { rebuildAttribution } from '../../src/insight/reports/rebuild.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { type Bundle, setup } from '../setup.ts';
import { type Ledger, march, playMarch, stage } from './ledger.ts';

const setUp = () => setup({ workers: false });

const settle = (t: Bundle) => settleDue({ sql: t.sql, clock: t.clock });

async function rebuild(t: Bundle): Promise<Awaited<ReturnType<typeof rebuildAttribution>>> {
  await rebuildEventTotals(t.sql, { appId: t.app.id, from: null, to: null });
  return rebuildAttribution({ sql: t.sql, clock: t.clock }, { appId: t.app.id, fromMs: null, toMs: null });
}

/** Compares every report about the month with the sums that were computed by hand. */
async function expectLedger(t: Bundle, ledger: Ledger): Promise<void> {
  const { body } = await t.server.get(`/v1/reports/revenue?${march}&tz=Europe/Berlin`);
  expect(body).toEqual({
    from: '2027-02-28T23:00:00.000Z',
    to: '2027-03-31T22:00:00.000Z',
    window_hours: 24,
    revenue: ledger.revenue,
    messages: ledger.byMessage,
    events: ledger.events,
    has_more: false,
    next_cursor: null,
  });
  const days = await t.server.get(`/v1/reports/revenue?${march}&tz=europe/berlin&group=day`);
  expect(days.body).toMatchObject({ tz: 'Europe/Berlin', group: 'day', messages: ledger.byMessage });
  expect(days.body.groups).toHaveLength(31);
  const ofDays: Record<string, string> = {};
  for (const { from, revenue } of days.body.groups) {
    for (const row of revenue) if (row.currency === 'EUR') ofDays[from] = row.total;
  }
  expect(ofDays).toEqual(ledger.eurByDay);
  // To the millisecond, away from any quarter of an hour.
  const edge = 'from=2027-03-02T12:30:00.000Z&to=2027-03-03T12:00:00.002Z';
  expect((await t.server.get(`/v1/reports/revenue?${edge}`)).body.revenue).toMatchObject([
    { currency: 'EUR', total: '105', direct: { amount: '100' }, influenced: { amount: '5' } },
    { currency: 'JPY', purchases: 3 },
    { currency: 'USD', total: '9.99' },
  ]);
  const short = 'from=2027-03-02T12:30:00.001Z&to=2027-03-03T12:00:00.001Z';
  expect((await t.server.get(`/v1/reports/revenue?${short}`)).body.revenue).toMatchObject([
    { currency: 'EUR', total: '25.1', direct: { amount: '20.1' }, influenced: { amount: '5' } },
  ]);
}

describe('a month computed by hand', () => {
  it('equals the reports: at once, settled, rebuilt, and after its deliveries are deleted', async () => {
    const t = await setUp();
    // Nothing was read and nothing settled meanwhile, so earlier events must count.
    const ledger = await playMarch(stage(t));
    await expectLedger(t, ledger);

    await settle(t);
    const [settled] = await t.sql<{ count: number }[]>`SELECT count(*) AS count FROM attributions`;
    expect(settled?.count).toBe(24);
    await expectLedger(t, ledger);
    await settle(t);
    await expectLedger(t, ledger);

    expect(await rebuild(t)).toMatchObject({ purchases: 24, installs: 2, sessions: 2 });
    await expectLedger(t, ledger);

    t.clock.advance(120 * 86_400_000);
    await t.startWorkers().upkeep.runOnce();
    expect(await t.sql`SELECT FROM deliveries`).toHaveLength(0);
    await expectLedger(t, ledger);

    // Classes whose deliveries are deleted stay as they are.
    expect(await rebuild(t)).toMatchObject({ purchases: 0 });
    await expectLedger(t, ledger);
  });

  it('gives the same with any requested window that equals the stored one', async () => {
    const t = await setUp();
    const ledger = await playMarch(stage(t));
    await settle(t);
    await t.sql`UPDATE apps SET attribution_window_hours = 720 WHERE id = ${t.app.id}`;
    const { body } = await t.server.get(`/v1/reports/revenue?${march}&window_hours=24`);
    expect(body).toMatchObject({
      window_hours: 24,
      revenue: ledger.revenue,
      messages: ledger.byMessage,
      events: ledger.events,
    });
    // The app's new window does not change what is settled.
    const now = await t.server.get(`/v1/reports/revenue?${march}`);
    expect(now.body).toMatchObject({ window_hours: 720, revenue: ledger.revenue });
    const hour = await t.server.get(`/v1/reports/revenue?${march}&window_hours=1`);
    expect(hour.body.revenue[1]).toMatchObject({
      total: '131.12',
      direct: { amount: '1.115' },
      influenced: { amount: '89.905' },
    });
  });
});

describe('more purchases than are classed in one step', () => {
  it.each([
    ['by however many concurrent processes', 4_500, async () => undefined],
    ['also when all of them are late', 1_500, settle],
  ])('are settled once each, %s', async (_when, purchases, before) => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-03-02T10:00:00Z');
    const devices = [await s.deviceOf('anna'), await s.deviceOf('bert')];
    const message = await s.send({ external_ids: ['anna', 'bert'] });
    await s.click(message, devices[0] ?? '');
    await s.at('2027-03-04T00:00:00Z');
    await before(t);
    await classAhead(t);
    // Many purchases at the same instant, so that a chunk may end among them.
    const buyers = ['anna', 'bert', 'cora'];
    for (let i = 0; i < purchases; i += 50) {
      const events = Array.from({ length: 50 }, (_, k) => ({
        name: 'purchase',
        external_id: buyers[(i + k) % 3],
        occurred_at: new Date(Date.parse('2027-03-02T11:00:00Z') + Math.floor((i + k) / 700)).toISOString(),
        properties: { amount: 0.01, currency: 'EUR' },
      }));
      await s.track(...events);
    }
    await s.at('2027-03-04T00:10:00Z');
    const third = { amount: String(purchases / 300), purchases: purchases / 3 };
    const sums = { total: String(purchases / 100), purchases, direct: third, influenced: third, unattributed: third };
    const ask = async () => (await t.server.get(`/v1/reports/revenue?${march}`)).body;
    expect(await ask()).toMatchObject({ revenue: [sums] });
    await Promise.all([settle(t), settle(t), settle(t)]);
    expect(await ask()).toMatchObject({ revenue: [sums] });
    await classAhead(t);
    const [stored] = await t.sql<{ count: number; different: number }[]>`
      SELECT count(*) AS count, count(DISTINCT event_id) AS different FROM attributions`;
    expect(stored).toEqual({ count: purchases, different: purchases });
    expect(await ask()).toMatchObject({ revenue: [sums] });
  });
});
