import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runEvery } from '../../src/workers.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a task that takes longer than its turns never runs beside itself, and goes on after it ended or failed', async () => {
  const runs: { end: () => void; fail: (error: Error) => void }[] = [];
  const warn = vi.fn();
  const run = () => new Promise<void>((end, fail) => runs.push({ end, fail }));
  const timer = runEvery({ what: 'a long task', everyMs: 1_000, run }, { warn });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(runs).toHaveLength(1);
  runs[0]?.fail(new Error('no'));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(runs).toHaveLength(2);
  expect(warn).toHaveBeenCalledTimes(1);
  runs[1]?.end();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toHaveLength(3);
  clearInterval(timer);
});
