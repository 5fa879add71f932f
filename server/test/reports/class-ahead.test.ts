import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../rig/src/random.ts';
import { foldTotals } from '../../src/insight/events/fold-totals.ts';
import { forgetPeople } from '../../src/insight/events/forget-people.ts';
import { rebuildAttribution } from '../../src/insight/reports/rebuild.ts';
import { settleAlone, settleDue } from '../../src/insight/reports/settle.ts';
import { type ErasureTurn, finishErasures } from '../../src/people/users/erasures.ts';
import { newestReceiptTokenOf } from '../receipt-tokens.ts';
import { type Bundle, setup } from '../setup.ts';
import { march, playMarch, type Stage, stage } from './ledger.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const spring = 'from=2027-03-01T00:00:00Z&to=2027-05-01T00:00:00Z';

/** Runs the worker's tasks of every minute and of shorter intervals. */
async function work(t: Bundle): Promise<void> {
  await foldTotals({ sql: t.sql });
  await settleAlone({ sql: t.sql, clock: t.clock });
}

const paths = [
  `revenue?${spring}&limit=100`,
  `revenue?${spring}&group=day&tz=Asia/Kathmandu&limit=100`,
  'revenue?from=2027-03-02T03:04:05.678Z&to=2027-03-03T09:10:11.123Z&limit=100',
  `engagement?${spring}&limit=100`,
];

async function read(t: Bundle, path: string): Promise<unknown> {
  const { status, body } = await t.server.get(`/v1/reports/${path}`);
  expect(status).toBe(200);
  return body;
}

/** Reads the report without the classes that were computed ahead. */
async function readAnew(t: Bundle, path: string): Promise<unknown> {
  await t.sql`UPDATE open_progress SET window_hours = window_hours + 1`;
  const body = await read(t, path);
  await t.sql`UPDATE open_progress SET window_hours = window_hours - 1`;
  return body;
}

async function countRows(t: Bundle): Promise<{ credits: number; changes: number }> {
  const [row] = await t.sql<{ credits: number; changes: number }[]>`
    SELECT (SELECT count(*) FROM open_credits) AS credits, (SELECT count(*) FROM people_changes) AS changes`;
  return row ?? { credits: 0, changes: 0 };
}

interface Device {
  readonly id: string;
  readonly token: string;
}

async function addDevice(t: Bundle): Promise<Device> {
  const token = JSON.stringify(t.pushSubscription());
  return { id: await t.registerDevice({ token }), token };
}

describe('classes that are computed ahead of settling', () => {
  it.each([1, 2])(
    'equal the classes that a report computes itself, whatever changes after them, seed %i',
    async (seed) => {
      const t = await setup({ workers: false });
      const s = stage(t);
      const random = createRandom(seed);
      let ms = Date.parse('2027-03-01T08:00:00Z');
      const ago = (limitMs: number): string => new Date(ms - random.below(limitMs)).toISOString();
      await s.at(new Date(ms).toISOString());
      const devices = [await addDevice(t), await addDevice(t), await addDevice(t), await addDevice(t)];
      const sent: { message: string; device: string }[] = [];
      const user = (): string => random.pick(['ada', 'bob', 'cleo']);
      const steps: Record<string, (device: string) => Promise<unknown>> = {
        work: () => work(t),
        login: (device) => s.login(user(), device),
        logout: (device) => s.logout(device),
        async send(device) {
          const both = [...new Set([device, random.pick(devices).id])];
          const message = await s.send({ device_ids: both });
          for (const each of both) sent.push({ message, device: each });
        },
        async click() {
          const [one] = sent.splice(random.below(Math.max(1, sent.length)), 1);
          if (one) await s.click(one.message, one.device);
        },
        buyOnDevice: (device) => s.buy({ device_id: device }, 1.25, random.pick(['EUR', 'CHF'])),
        buy: () => s.buy({ external_id: user() }, 0.1, 'EUR'),
        buyBefore: (device) => s.buy({ device_id: device }, 3, 'EUR', ago(40 * hourMs)),
        buyJustBefore: () => s.buy({ external_id: user() }, 5, 'EUR', ago(12 * minuteMs)),
        visit: (device) =>
          s.track({ name: 'session_start', device_id: device }, { name: 'install', external_id: user() }),
        async erase() {
          if (random.below(3) > 0) return;
          await t.server.delete(`/v1/users/${user()}`);
          // The devices of erased people register again.
          for (const { id, token } of devices) expect(await t.registerDevice({ token })).toBe(id);
        },
        async clear() {
          await finishErasures({ sql: t.sql, clock: t.clock, forget: [(turn) => forgetPeople(t.sql, turn)] });
        },
      };
      const names = Object.keys(steps);
      const usual = ['work', 'work', 'work', 'send', 'send', 'click', 'buyOnDevice', 'buy', 'login', 'visit'];
      let [creditsSeen, changesSeen] = [0, 0];
      for (let step = 0; step < 110; step++) {
        ms += minuteMs * (1 + random.below(40));
        await s.at(new Date(ms).toISOString());
        await steps[random.pick([...names, ...usual])]?.(random.pick(devices).id);
        const { credits, changes } = await countRows(t);
        creditsSeen += credits;
        changesSeen += Math.min(credits, changes);
        const path = random.pick(paths);
        expect(await read(t, path), `step ${step}: ${path}`).toEqual(await readAnew(t, path));
      }
      expect(creditsSeen).toBeGreaterThan(100);
      expect(changesSeen).toBeGreaterThan(10);
      await work(t);
      await finishErasures({ sql: t.sql, clock: t.clock, forget: [(turn) => forgetPeople(t.sql, turn)] });
      await work(t);
      await s.at(new Date(ms + 25 * hourMs).toISOString());
      await work(t);
      expect(await countRows(t)).toEqual({ credits: 0, changes: 0 });
    },
    180_000,
  );

  it('are right for a month computed by hand, with a worker running all the time', async () => {
    const t = await setup({ workers: false });
    const plain = stage(t);
    const s: Stage = {
      ...plain,
      async at(instant) {
        await plain.at(instant);
        await work(t);
      },
    };
    const ledger = await playMarch(s);
    for (const _turn of [1, 2]) {
      const { body } = await t.server.get(`/v1/reports/revenue?${march}`);
      expect(body).toMatchObject({ revenue: ledger.revenue, messages: ledger.byMessage, events: ledger.events });
      await work(t);
    }
    await rebuildAttribution({ sql: t.sql, clock: t.clock }, { appId: t.app.id, fromMs: null, toMs: null });
    const { body } = await t.server.get(`/v1/reports/revenue?${march}`);
    expect(body).toMatchObject({ revenue: ledger.revenue, messages: ledger.byMessage, events: ledger.events });
  });

  it('are computed again after a new window of the app, and after a rebuild', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await s.deviceOf('ada');
    await s.send({ device_ids: [device] });
    await s.at('2027-03-01T11:00:00Z');
    await s.buy({ external_id: 'ada' }, 7, 'EUR');
    await s.at('2027-03-01T11:10:00Z');
    const influenced = async (): Promise<string> =>
      (await t.server.get(`/v1/reports/revenue?${spring}`)).body.revenue[0].influenced.amount;
    await work(t);
    expect(await countRows(t)).toMatchObject({ credits: 1 });
    expect(await influenced()).toBe('7');
    await t.sql`UPDATE apps SET attribution_window_hours = 2 WHERE id = ${t.app.id}`;
    expect(await influenced()).toBe('0');
    await work(t);
    expect(await influenced()).toBe('0');
    expect(await countRows(t)).toMatchObject({ credits: 0 });
    await t.sql`UPDATE apps SET attribution_window_hours = 24 WHERE id = ${t.app.id}`;
    expect(await influenced()).toBe('7');
    await work(t);
    expect(await countRows(t)).toMatchObject({ credits: 1 });
    await rebuildAttribution({ sql: t.sql, clock: t.clock }, { appId: t.app.id, fromMs: null, toMs: null });
    expect(await countRows(t)).toMatchObject({ credits: 0 });
    expect(await influenced()).toBe('7');
    await work(t);
    expect(await influenced()).toBe('7');
    expect(await countRows(t)).toMatchObject({ credits: 1 });
  });

  it('are computed again when an outcome, and the click before it, are stored late', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await t.registerDevice({ token: t.pushSubscription('slow') });
    await s.login('ada', device);
    // Settles once. Purchases that are not settled are classed ahead from now on.
    await work(t);
    let release: (() => void) | undefined;
    const sent = new Promise<void>((resolve) => {
      t.push.script('slow', (_request, response) => {
        release = () => {
          response.writeHead(201, { location: 'https://push.test.example/m/slow-1' });
          response.end();
        };
        resolve();
      });
    });
    const audience = { device_ids: [device] };
    const answer = t.server.post('/v1/messages', { audience, content: { title: 'Sale' } });
    await sent;
    const token = await newestReceiptTokenOf(t, device);
    const { status } = await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
    expect(status).toBe(200);
    await s.at('2027-03-01T08:01:00Z');
    await s.buy({ external_id: 'ada' }, 7, 'EUR');
    await s.at('2027-03-01T08:20:00Z');
    await work(t);
    const classes = async (): Promise<string[]> => {
      const [row] = (await t.server.get(`/v1/reports/revenue?${spring}`)).body.revenue;
      return [row.direct.amount, row.unattributed.amount];
    };
    expect(await classes()).toEqual(['0', '7']);
    release?.();
    expect((await answer).body.report).toMatchObject({ sent: 1 });
    expect(await classes()).toEqual(['7', '0']);
    await work(t);
    expect(await countRows(t)).toEqual({ credits: 1, changes: 0 });
    expect(await classes()).toEqual(['7', '0']);
  });

  it('are deleted with an erasure, as far as it has come', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await t.registerDevice();
    await s.send({ device_ids: [device] });
    await s.buy({ device_id: device }, 2, 'EUR');
    await s.login('ada', device);
    await s.buy({ external_id: 'ada' }, 7, 'EUR');
    await s.at('2027-03-01T08:20:00Z');
    await work(t);
    const influenced = async (): Promise<string> => {
      const path = `revenue?${spring}`;
      const body = await read(t, path);
      expect(body).toEqual(await readAnew(t, path));
      return (body as { revenue: [{ influenced: { amount: string } }] }).revenue[0].influenced.amount;
    };
    expect(await influenced()).toBe('9');
    await t.server.delete('/v1/users/ada');
    await work(t);
    await influenced();
    await s.at('2027-03-01T08:30:00Z');
    // The person's events are cleared, and the rest is not.
    const clear = (turn: ErasureTurn) => forgetPeople(t.sql, turn);
    const fail = () => Promise.reject(new Error('interrupted'));
    const erasing = finishErasures({ sql: t.sql, clock: t.clock, forget: [clear, fail] });
    await expect(erasing).rejects.toThrow('interrupted');
    expect(await influenced()).toBe('0');
    await work(t);
    expect(await influenced()).toBe('0');
    await finishErasures({ sql: t.sql, clock: t.clock, forget: [clear] });
    expect(await t.sql`SELECT FROM erasures`).toHaveLength(0);
    expect(await influenced()).toBe('0');
    await work(t);
    expect(await influenced()).toBe('0');
    expect(await countRows(t)).toEqual({ credits: 0, changes: 0 });
  });

  it('stay right after the clock was set back by two hours (R-100)', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await s.deviceOf('ada');
    await s.send({ device_ids: [device] });
    await s.at('2027-03-01T10:00:00Z');
    await s.buy({ external_id: 'ada' }, 1, 'EUR');
    await s.at('2027-03-01T10:20:00Z');
    await work(t);
    await s.at('2027-03-01T08:20:00Z');
    await t.sql`UPDATE attribution_checks SET checked_at = checked_at + interval '2 hours'`;
    await s.buy({ external_id: 'ada' }, 2, 'EUR');
    await s.at('2027-03-01T08:40:00Z');
    await work(t);
    for (const path of paths) expect(await read(t, path)).toEqual(await readAnew(t, path));
    const [row] = (await t.server.get(`/v1/reports/revenue?${spring}`)).body.revenue;
    expect(row).toMatchObject({ total: '3', influenced: { amount: '3', purchases: 2 } });
    const [check] = await t.sql`SELECT checked_at <= now() AS is_past FROM attribution_checks`;
    expect(check).toEqual({ isPast: true });
  });

  it('stay right while another process settles', async () => {
    const t = await setup({ workers: false });
    const s = stage(t);
    await s.at('2027-03-01T08:00:00Z');
    const device = await s.deviceOf('ada');
    await s.send({ device_ids: [device] });
    for (let hour = 9; hour < 20; hour++) {
      await s.at(`2027-03-01T${String(hour).padStart(2, '0')}:00:00Z`);
      await s.buy({ external_id: 'ada' }, 1, 'EUR');
    }
    await work(t);
    await s.at('2027-03-02T17:30:00Z');
    await Promise.all([work(t), settleDue({ sql: t.sql, clock: t.clock }), settleDue({ sql: t.sql, clock: t.clock })]);
    for (const path of paths) expect(await read(t, path)).toEqual(await readAnew(t, path));
    const [row] = (await t.server.get(`/v1/reports/revenue?${spring}`)).body.revenue;
    expect(row).toMatchObject({ total: '11', influenced: { amount: '11', purchases: 11 } });
  });
});
