import { expect, it } from 'vitest';
import { createPace, untilToken } from './pace.ts';
import type { Grant } from './pace-queries.ts';

/** A pace whose row gives ten tokens, a millisecond apart, one grant after the other. */
function startPace({ usableMs = 1000, answerMs = 0 } = {}) {
  const time = { ms: 0 };
  const clock = { nowMs: () => time.ms, steadyMs: () => time.ms };
  const asked: (number | null)[] = [];
  let takenUntilMs = 0;
  const pace = createPace(clock, usableMs, async (sinceMs): Promise<Grant> => {
    asked.push(sinceMs);
    const nowMs = time.ms;
    const inMs = Math.max(takenUntilMs - nowMs, 0);
    takenUntilMs = nowMs + inMs + 10;
    time.ms += answerMs;
    return { count: 10, inMs, apartMs: 1, nowMs };
  });
  return { time, clock, pace, asked };
}

it('asks once for the tokens of many pushes, and again before they are used up', async () => {
  const { pace, asked } = startPace();
  const due: (number | undefined)[] = [];
  await pace.ask();
  for (let push = 0; push < 100; push++) {
    due.push(pace.take());
    // Lets the tokens that were asked for ahead arrive.
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  }
  expect(due).toEqual(Array.from({ length: 100 }, (_, nth) => nth));
  expect(asked.length).toBeLessThanOrEqual(20);
});

it('asks one question at a time, and says how long ago the last one was', async () => {
  const { time, pace, asked } = startPace();
  await Promise.all([pace.ask(), pace.ask(), pace.ask()]);
  time.ms = 70;
  await pace.ask();
  expect(asked).toEqual([null, 70]);
});

it('gives up tokens that were not used in time, because after a rest they would be too many at once', async () => {
  const { time, pace } = startPace({ usableMs: 15 });
  await pace.ask();
  time.ms = 20;
  expect(pace.take()).toBe(5);
  time.ms = 60_000;
  expect(pace.take()).toBeUndefined();
});

it('counts from the moment of the answer, however long the answer took', async () => {
  const { pace } = startPace({ answerMs: 8 });
  await pace.ask();
  expect([pace.take(), pace.take()]).toEqual([0, 1]);
});

it('is not counted from the future or from before its question, when the clock of the database is wrong', async () => {
  for (const wrongMs of [-3_600_000, 3_600_000]) {
    const time = { ms: 0 };
    const clock = { nowMs: () => time.ms, steadyMs: () => time.ms };
    const pace = createPace(clock, 1000, async () => {
      time.ms += 8;
      return { count: 1, inMs: 0, apartMs: 1, nowMs: time.ms + wrongMs };
    });
    await pace.ask();
    const due = pace.take() ?? Number.NaN;
    expect(due).toBeGreaterThanOrEqual(0);
    expect(due).toBeLessThanOrEqual(8);
  }
});

it('fails with its question when the fault is our own', async () => {
  const clock = { nowMs: () => 0, steadyMs: () => 0 };
  const pace = createPace(clock, 1000, () => Promise.reject(new TypeError('a fault')));
  await expect(pace.ask()).rejects.toThrow('a fault');
});

it('R-100 a wait for a token hears a stop', async () => {
  const { clock } = startPace();
  let isStopping = false;
  const pace = createPace(clock, 1000, async () => {
    isStopping = true;
    return { count: 0, inMs: 500, apartMs: 1000, nowMs: 0 };
  });
  await untilToken(clock, pace, () => isStopping);
  expect(isStopping).toBe(true);
});
