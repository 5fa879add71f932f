import { describe, expect, test } from 'vitest';
import { createBucket, createPace, googlePace, type Slice } from './pace.ts';

/** The number of pushes in each second, while one more push is always ready. */
function sendSteadily(waitMs: (nowMs: number) => number, seconds: number, startMs = 0): number[] {
  const sent = new Array<number>(seconds).fill(0);
  let nowMs = startMs;
  for (;;) {
    nowMs += waitMs(nowMs);
    const second = Math.floor((nowMs - startMs) / 1_000);
    if (second >= seconds) return sent;
    sent[second] = (sent[second] ?? 0) + 1;
  }
}

describe('a process that is alone', () => {
  test('delays no small send', () => {
    const waitMs = createBucket(googlePace);
    const waits = Array.from({ length: googlePace.perSecondLeast }, () => waitMs(1_000));
    expect(waits.every((wait) => wait === 0)).toBe(true);
    expect(waitMs(1_000)).toBeGreaterThan(0);
  });

  test('grows to 5,000 a second within a minute, and never beyond', () => {
    const sent = sendSteadily(createBucket(googlePace), 70);
    expect(sent[1]).toBeLessThan(800);
    expect(sent[30]).toBeGreaterThan(2_000);
    expect(sent[30]).toBeLessThan(3_500);
    for (const count of sent) expect(count).toBeLessThanOrEqual(5_500);
    expect(sent[65]).toBeGreaterThanOrEqual(4_500);
  });

  test('begins again after a rest of a minute', () => {
    const waitMs = createBucket(googlePace);
    sendSteadily(waitMs, 70);
    const again = sendSteadily(waitMs, 3, 140_000);
    expect(again[1]).toBeLessThan(800);
  });

  test('sends pushes that come at once one after another', () => {
    const waitMs = createBucket({ perSecondMax: 10, perSecondLeast: 10, rampMs: 60_000 });
    const waits = Array.from({ length: 30 }, () => waitMs(0));
    expect(waits.slice(0, 11)).toEqual([...new Array(10).fill(0), 100]);
    expect(waits.at(-1)).toBe(2_000);
  });
});

describe('a pace by slices', () => {
  const aloneMs = 77;
  /** Slices of ten places, a millisecond apart, one slice after the other. */
  function bySlices() {
    const time = { ms: 0 };
    let nextAtMs = 0;
    let asked = 0;
    const takeSlice = async (): Promise<Slice> => {
      asked++;
      const startInMs = Math.max(nextAtMs, time.ms) - time.ms;
      nextAtMs = time.ms + startInMs + 10;
      return { count: 10, startInMs, apartMs: 1 };
    };
    const pace = createPace(
      takeSlice,
      () => aloneMs,
      () => time.ms,
    );
    return { time, pace, askedTimes: () => asked };
  }

  test('asks once for the places of many pushes, and again before they are used up', async () => {
    const { pace, askedTimes } = bySlices();
    const waits = [await pace.waitMs()];
    for (let push = 1; push < 100; push++) {
      waits.push(await pace.waitMs());
      // Lets the slice that was asked for ahead arrive.
      await Promise.resolve();
    }
    expect(waits).toEqual(Array.from({ length: 100 }, (_, place) => place));
    expect(askedTimes()).toBeLessThanOrEqual(12);
  });

  test('answers at once while there are places', async () => {
    const { pace } = bySlices();
    await pace.waitMs();
    expect([pace.waitMs(), pace.waitMs()]).toEqual([1, 2]);
  });

  test('gives up places that were not used in time, because after a rest they would be too many at once', async () => {
    const { time, pace, askedTimes } = bySlices();
    await pace.waitMs();
    time.ms = 60_000;
    expect(await pace.waitMs()).toBe(0);
    expect(await pace.waitMs()).toBe(1);
    expect(askedTimes()).toBe(2);
  });

  test('is that of a single process while the database does not answer', async () => {
    const pace = createPace(
      () => Promise.reject(new Error('the database is away')),
      () => aloneMs,
      () => 0,
    );
    expect(await pace.waitMs()).toBe(aloneMs);
  });
});
