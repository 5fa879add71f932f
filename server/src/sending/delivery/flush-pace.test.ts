import { expect, it } from 'vitest';
import { flushEveryMs } from './batch.ts';
import { createFlushPace } from './flush-pace.ts';

/** The pace after many flushes that each took this long. */
function paceAfter(tookMs: number) {
  const pace = createFlushPace();
  for (let flush = 0; flush < 20; flush++) pace.note(tookMs);
  return pace;
}

it.each([20, 100, 150, 200, 250])(
  'R-02 of flushes that take %d ms, two that follow each other end within the 500 ms',
  (tookMs) => {
    const { waitMs, unwrittenMsMax } = paceAfter(tookMs);
    expect(waitMs + tookMs).toBeLessThanOrEqual(flushEveryMs);
    expect(Math.max(waitMs, unwrittenMsMax) + tookMs).toBeLessThanOrEqual(flushEveryMs);
  },
);

it.each([300, 400, 450])('R-02 while flushes take %d ms, no push begins during one', (tookMs) => {
  const { waitMs, unwrittenMsMax } = paceAfter(tookMs);
  expect(unwrittenMsMax + tookMs).toBeLessThanOrEqual(flushEveryMs);
  expect(waitMs).toBeLessThanOrEqual(unwrittenMsMax);
});

it('lets pushes go on during flushes of a database that keeps up', () => {
  const { waitMs, unwrittenMsMax } = paceAfter(20);
  expect(unwrittenMsMax).toBe(flushEveryMs / 2);
  expect(waitMs + 20).toBeLessThan(unwrittenMsMax);
  expect(waitMs).toBeGreaterThanOrEqual(150);
});

it('forgets a slow commit', () => {
  const pace = createFlushPace();
  pace.note(300);
  for (let flush = 0; flush < 20; flush++) pace.note(5);
  expect(pace.waitMs).toBe(195);
});

it('gathers also while the database is slow', () => {
  const pace = paceAfter(10_000);
  expect([pace.waitMs, pace.unwrittenMsMax]).toEqual([50, 50]);
});
