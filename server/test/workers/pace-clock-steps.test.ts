// a step of the database's clock neither stops a pace nor opens it. Paces count on the steady
// clock of their process, and a row's times are relative.
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import type { Clock } from '../../src/ground/database/clock.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import type { Rate } from '../../src/sending/channels/channel.ts';
import { createPace, createPaces, type Pace } from '../../src/sending/delivery/pace.ts';
import { askForAccount, askForMessage, claimNextPacedBatch } from '../../src/sending/delivery/pace-queries.ts';
import { setup } from '../setup.ts';

const { sql } = await createTestDatabase();
const minuteMs = 60_000;
const steps: [string, number][] = [
  ['back by ten minutes', -10 * minuteMs],
  ['forward by ten minutes', 10 * minuteMs],
  ['back by two hours', -120 * minuteMs],
  ['forward by two hours', 120 * minuteMs],
  ['back by half a second', -500],
];

/** Clocks of processes on one database, whose clock a test sets; time passes as the test says. */
function startTime() {
  const time = { steadyMs: 0, databaseMs: Date.parse('2026-11-27T10:00:00Z') };
  /** A process knows the database's clock as of its start, and notices no step by itself. */
  const newProcess = (): Clock => {
    const differenceMs = time.databaseMs - time.steadyMs;
    return {
      get now() {
        return sql`${new Date(time.databaseMs)}::timestamptz`;
      },
      nowMs: () => time.steadyMs + differenceMs,
      steadyMs: () => time.steadyMs,
    } as Clock;
  };
  return {
    newProcess,
    pass(ms: number) {
      time.steadyMs += ms;
      time.databaseMs += ms;
    },
    step(ms: number) {
      time.databaseMs += ms;
    },
    nowMs: () => time.steadyMs,
  };
}
type Time = ReturnType<typeof startTime>;

/** Uses every token of these processes when it is due, and answers when that was. */
async function useAll(time: Time, paces: readonly Pace[], ms: number): Promise<number[]> {
  const used: number[] = [];
  const waiting = paces.map((pace) => ({ pace, dueMs: undefined as number | undefined }));
  for (const endMs = time.nowMs() + ms; time.nowMs() < endMs; time.pass(5)) {
    for (const each of waiting) {
      for (;;) {
        each.dueMs ??= each.pace.take();
        if (each.dueMs === undefined && (await each.pace.ask()) <= time.nowMs()) continue;
        if (each.dueMs === undefined || each.dueMs > time.nowMs()) break;
        if (!each.pace.isLate(each.dueMs)) used.push(time.nowMs());
        each.dueMs = undefined;
      }
    }
  }
  return used;
}

const inWindow = (used: readonly number[], fromMs: number): number =>
  used.filter((at) => at >= fromMs && at < fromMs + 1000).length;
const fullestSecond = (used: readonly number[]): number => Math.max(...used.map((at) => inWindow(used, at)));

describe('R-100 the rate of a message, when the clock of the database is set', () => {
  it.each(steps)(
    '%s, is kept by two processes within two in a hundred, and goes on within a second',
    async (_how, ms) => {
      const time = startTime();
      const message = { appId: mintUuid(), messageId: mintUuid(), perSecond: 100 };
      const paces = [0, 1].map(() => createPaces({ sql, clock: time.newProcess() }).ofMessage(message));
      const before = await useAll(time, paces, 1500);
      time.step(ms);
      const after = await useAll(time, paces, 3000);
      expect(fullestSecond([...before, ...after])).toBeLessThanOrEqual(102);
      expect(inWindow(after, 2500)).toBeGreaterThanOrEqual(90);
      expect(inWindow(after, 3500)).toBeGreaterThanOrEqual(90);
    },
  );

  it.each(steps)('%s, keeps no batch from being claimed', async (_how, ms) => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await t.registerMany(60);
    const message = { audience: { all: true }, content: { title: 'Sale' }, per_second: 1 };
    expect((await t.server.post('/v1/messages', message)).status).toBe(200);
    const [batch] = await t.sql<{ messageId: string; appId: string }[]>`SELECT message_id, app_id FROM batches`;
    if (!batch) throw new Error('no batch');
    await askForMessage(t.sql, t.clock, { ...batch, perSecond: 1 }, null);
    expect(await claimNextPacedBatch(t.sql, t.clock, mintUuid())).toBeUndefined();
    // The row as another clock would have written it.
    await t.sql`UPDATE message_paces SET asked_at = asked_at - ${ms}::float8 * interval '1 millisecond'`;
    t.clock.advance(2000);
    expect(await claimNextPacedBatch(t.sql, t.clock, mintUuid())).toBeDefined();
  });
});

describe('R-100 the pace of an account at its provider, when the clock of the database is set', () => {
  const rate: Rate = { perSecondLeast: 50, perSecondMost: 500, rampMs: 10_000, savedMost: 50, usableMs: 1000 };

  it.each(steps)('%s, goes on at the rate that it had reached', async (how, ms) => {
    const time = startTime();
    const paces = [0, 1].map(() => createPaces({ sql, clock: time.newProcess() }).ofAccount(how, rate));
    await useAll(time, paces, 10_000);
    time.step(ms);
    const after = await useAll(time, paces, 2500);
    expect(inWindow(after, 10_500)).toBeGreaterThanOrEqual(400);
    expect(inWindow(after, 11_500)).toBeGreaterThanOrEqual(400);
    expect(fullestSecond(after)).toBeLessThanOrEqual(550);
  });

  it('back while it grows, goes on growing', async () => {
    const time = startTime();
    const pace = createPaces({ sql, clock: time.newProcess() }).ofAccount('grows', rate);
    await useAll(time, [pace], 3000);
    time.step(-10 * minuteMs);
    const after = await useAll(time, [pace], 7000);
    expect(inWindow(after, 9000)).toBeGreaterThanOrEqual(400);
  });

  it('back, and a process that never asked before gets tokens at once', async () => {
    const time = startTime();
    const clock = time.newProcess();
    for (let ask = 0; ask < 20; ask++) await askForAccount(sql, clock, 'known', rate, null);
    time.step(-10 * minuteMs);
    const pace = createPaces({ sql, clock: time.newProcess() }).ofAccount('known', rate);
    expect(inWindow(await useAll(time, [pace], 1500), 500)).toBeGreaterThanOrEqual(45);
  });
});

it('R-100 a row that says to wait for an hour is asked again within a second', async () => {
  const time = startTime();
  let asked = 0;
  const pace = createPace(time.newProcess(), 15, async () => {
    asked++;
    return { count: 0, inMs: 60 * minuteMs, apartMs: 10, nowMs: time.nowMs() };
  });
  await useAll(time, [pace], 3000);
  expect(asked).toBeGreaterThanOrEqual(3);
});

it('R-100 a pace asks again a second after the database failed, and not sooner', async () => {
  const time = startTime();
  const away = Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' });
  const asked: number[] = [];
  const pace = createPace(time.newProcess(), 15, () => {
    asked.push(time.nowMs());
    return Promise.reject(away);
  });
  expect(await useAll(time, [pace], 2500)).toEqual([]);
  expect(asked).toEqual([0, 1000, 2000]);
});
