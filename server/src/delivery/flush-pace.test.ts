import { expect, it } from 'vitest';
import { flushEveryMs } from './batch.ts';
import { createFlushPace } from './flush-pace.ts';

it('R-02 leaves a commit the time of the slowest recent one, within the 500 ms', () => {
  const pace = createFlushPace();
  expect(pace.waitMs).toBe(200);
  for (let flush = 0; flush < 20; flush++) pace.note(20);
  expect(pace.waitMs).toBe(280);
  pace.note(120);
  expect(pace.waitMs + 120).toBeLessThan(flushEveryMs);
  pace.note(10);
  expect(pace.waitMs + 96).toBeLessThan(flushEveryMs);
});

it('forgets a slow commit', () => {
  const pace = createFlushPace();
  pace.note(300);
  for (let flush = 0; flush < 20; flush++) pace.note(5);
  expect(pace.waitMs).toBe(295);
});

it('does not ask a slow database for more and more commits', () => {
  const pace = createFlushPace();
  pace.note(10_000);
  expect(pace.waitMs).toBe(150);
});
