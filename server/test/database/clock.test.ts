// which clock has stepped, and what a process believes meanwhile. The host's clocks and the
// database's are the test's.

import type { Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { type ClockStep, createClock } from '../../src/ground/database/clock.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A process on a host, with a database on another host whose clock agrees at first. */
async function setUp() {
  const database = { aheadMs: 0, isAway: false };
  const startedAtMs = Date.parse('2026-11-27T12:00:00Z');
  let passedMs = 0;
  const realMs = (): number => startedAtMs + passedMs;
  const sql = (async () => {
    if (database.isAway) throw new Error('away');
    return [{ nowMs: realMs() + database.aheadMs }];
  }) as unknown as Sql;
  const fixed = { wall: 0, steady: 0 };
  const clock = await createClock(sql, {
    wallMs: () => startedAtMs + fixed.wall,
    steadyMs: () => fixed.steady,
  });
  const steps: ClockStep[] = [];
  clock.onStep((step) => void steps.push(step));
  return {
    clock,
    database,
    steps,
    pass(ms: number) {
      passedMs += ms;
      fixed.wall += ms;
      fixed.steady += ms;
    },
    sleep(ms: number) {
      passedMs += ms;
      fixed.wall += ms;
    },
    setHost(byMs: number) {
      fixed.wall += byMs;
    },
    /** By how much the process is ahead of real time. */
    aheadMs: () => clock.nowMs() - realMs(),
    /** A statement answers with the database's time. */
    read: () => clock.beginReading()(realMs() + database.aheadMs),
  };
}

it('the steady time is told without the clock too, as limits ask for it', async () => {
  const { clock, pass } = await setUp();
  const { steadyMs } = clock;
  const before = steadyMs();
  pass(1000);
  expect(steadyMs() - before).toBe(1000);
});

describe('R-100 a step of the clock', () => {
  it.each([-2 * hourMs, -10 * minuteMs, 10 * minuteMs, 2 * hourMs])(
    'of the host alone, by %i ms, changes no time: the database agrees with the steady clock',
    async (byMs) => {
      const t = await setUp();
      t.setHost(byMs);
      expect(t.clock.isInDoubt()).toBe(true);
      await t.clock.synchronize();
      expect(t.clock.isInDoubt()).toBe(false);
      expect(t.steps).toEqual([{ clock: 'host', byMs }]);
      expect(t.aheadMs()).toBe(0);
    },
  );

  it('while the host slept is followed at once, and ages what was begun before', async () => {
    const t = await setUp();
    const begunAtMs = t.clock.steadyMs();
    t.sleep(2 * hourMs);
    expect(t.clock.steadyMs() - begunAtMs).toBe(2 * hourMs);
    expect(t.clock.isInDoubt()).toBe(true);
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.steps).toEqual([{ clock: 'both', byMs: 2 * hourMs }]);
    expect(t.aheadMs()).toBe(0);
  });

  it('of the database alone, back, is followed at once: nothing may expire by the later time', async () => {
    const t = await setUp();
    t.database.aheadMs = -10 * minuteMs;
    t.read();
    expect(t.clock.isInDoubt()).toBe(true);
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.steps).toEqual([{ clock: 'database', byMs: -10 * minuteMs }]);
    expect(t.aheadMs()).toBe(-10 * minuteMs);
  });

  it('of the database alone, forward, is believed after four seconds, and not by what is due only then', async () => {
    const t = await setUp();
    t.database.aheadMs = 10 * minuteMs;
    t.read();
    await t.clock.synchronize();
    t.pass(3_999);
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(true);
    expect(t.aheadMs()).toBe(0);
    t.pass(1);
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.steps).toEqual([{ clock: 'database', byMs: 10 * minuteMs }]);
    expect(t.aheadMs()).toBe(10 * minuteMs);
  });

  it('of the database that is taken back in time was none', async () => {
    const t = await setUp();
    t.database.aheadMs = 2 * hourMs;
    t.read();
    await t.clock.synchronize();
    t.pass(1000);
    t.database.aheadMs = 0;
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.clock.isTrusted()).toBe(true);
    expect(t.steps).toEqual([]);
  });

  it('of the database to the time of a host that was right all along is believed at once', async () => {
    const t = await setUp();
    t.database.aheadMs = -10 * minuteMs;
    await t.clock.synchronize();
    t.database.aheadMs = 0;
    t.read();
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.aheadMs()).toBe(0);
  });

  it('leaves the clock in doubt while the database does not answer', async () => {
    const t = await setUp();
    t.database.isAway = true;
    t.sleep(hourMs);
    expect(t.clock.isInDoubt()).toBe(true);
    await expect(t.clock.synchronize()).rejects.toThrow('away');
    expect(t.clock.isInDoubt()).toBe(true);
    t.database.isAway = false;
    await t.clock.synchronize();
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.aheadMs()).toBe(0);
  });

  it('is noticed by functions of the clock that were handed on alone', async () => {
    const t = await setUp();
    const { steadyMs, nowMs, isInDoubt } = t.clock;
    const [begunAtMs, begunNowMs] = [steadyMs(), nowMs()];
    t.sleep(hourMs);
    expect(steadyMs() - begunAtMs).toBe(hourMs);
    expect(isInDoubt()).toBe(true);
    await t.clock.synchronize();
    expect(nowMs() - begunNowMs).toBe(hourMs);
  });

  it('by half a second is none, as often as it happens', async () => {
    const t = await setUp();
    const watching = t.clock.watch();
    t.setHost(500);
    expect(t.clock.isInDoubt()).toBe(false);
    t.setHost(-500);
    t.read();
    expect(t.clock.isInDoubt()).toBe(false);
    watching.stop();
  });

  it.each([
    ['both', 60_000, (t: Awaited<ReturnType<typeof setUp>>) => t.sleep(hourMs)],
    ['host', 60_000, (t: Awaited<ReturnType<typeof setUp>>) => t.setHost(hourMs)],
    [
      'database',
      hourMs,
      (t: Awaited<ReturnType<typeof setUp>>) => {
        t.database.aheadMs = -hourMs;
        t.read();
      },
    ],
  ] as const)('of %s makes refusals for the time our own fault for %i ms', async (_which, forMs, step) => {
    const t = await setUp();
    step(t);
    await t.clock.synchronize();
    expect(t.clock.isTrusted()).toBe(false);
    t.pass(forMs - 1);
    expect(t.clock.isTrusted()).toBe(false);
    t.pass(1);
    expect(t.clock.isTrusted()).toBe(true);
  });

  it('is not a process that stood still, whose requests still say nothing of the other side', async () => {
    const t = await setUp();
    const { steps, interruptions } = t.clock;
    t.pass(hourMs);
    expect(t.clock.isInDoubt()).toBe(false);
    expect(t.clock.steps).toBe(steps);
    expect(t.clock.interruptions).toBe(interruptions + 1);
    expect(t.aheadMs()).toBe(0);
  });
});
