import { expect, test } from 'vitest';
import { createPace, googlePace, type Pace } from './pace.ts';

/** How many go out in each second, when always one more is ready. */
function sendSteadily(pace: Pace, seconds: number, startMs = 0): number[] {
  const sent = new Array<number>(seconds).fill(0);
  let nowMs = startMs;
  for (;;) {
    nowMs += pace.waitMs(nowMs);
    const second = Math.floor((nowMs - startMs) / 1_000);
    if (second >= seconds) return sent;
    sent[second] = (sent[second] ?? 0) + 1;
  }
}

test('a small send waits for nothing', () => {
  const pace = createPace(googlePace);
  const waits = Array.from({ length: googlePace.perSecondLeast }, () => pace.waitMs(1_000));
  expect(waits.every((wait) => wait === 0)).toBe(true);
  expect(pace.waitMs(1_000)).toBeGreaterThan(0);
});

test('a large one grows to 5,000 a second within a minute, and never beyond', () => {
  const sent = sendSteadily(createPace(googlePace), 70);
  expect(sent[1]).toBeLessThan(800);
  expect(sent[30]).toBeGreaterThan(2_000);
  expect(sent[30]).toBeLessThan(3_500);
  for (const count of sent) expect(count).toBeLessThanOrEqual(5_500);
  expect(sent[65]).toBeGreaterThanOrEqual(4_500);
});

test('after a rest of a minute it begins anew', () => {
  const pace = createPace(googlePace);
  sendSteadily(pace, 70);
  const again = sendSteadily(pace, 3, 140_000);
  expect(again[1]).toBeLessThan(800);
});

test('many who come at once are sent one after the other', () => {
  const pace = createPace({ perSecondMax: 10, perSecondLeast: 10, rampMs: 60_000 });
  const waits = Array.from({ length: 30 }, () => pace.waitMs(0));
  expect(waits.slice(0, 11)).toEqual([...new Array(10).fill(0), 100]);
  expect(waits.at(-1)).toBe(2_000);
});
