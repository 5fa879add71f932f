import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadline, TimerWheel } from './timer-wheel.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

class Noted extends Deadline {
  dueAtMs: number | undefined;
  readonly #then: () => void;

  constructor(then: () => void = () => {}) {
    super();
    this.#then = then;
  }

  override onDue(): void {
    this.dueAtMs = performance.now();
    this.#then();
  }
}

test.each([0, 1, 15, 16, 17, 100, 10_000, 16_383, 16_384, 60_000])(
  'a deadline of %i ms is never early, and late by two ticks at most',
  (timeoutMs) => {
    const wheel = new TimerWheel();
    const deadline = new Noted();
    vi.advanceTimersByTime(5);
    const startedAt = performance.now();
    wheel.add(deadline, timeoutMs);
    vi.advanceTimersByTime(timeoutMs + 32);
    expect((deadline.dueAtMs ?? 0) - startedAt).toBeGreaterThanOrEqual(timeoutMs);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('a deadline that was removed does not come, one that removes another before it neither, and then no timer is left', () => {
  const wheel = new TimerWheel();
  const [removed, victim] = [new Noted(), new Noted()];
  const killer = new Noted(() => wheel.remove(victim));
  wheel.add(removed, 50);
  wheel.add(victim, 50);
  wheel.add(killer, 50);
  wheel.remove(removed);
  wheel.remove(removed);
  vi.advanceTimersByTime(200);
  expect([removed, victim, killer].map(({ dueAtMs }) => dueAtMs !== undefined)).toEqual([false, false, true]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a deadline may set the next', () => {
  const wheel = new TimerWheel();
  const second = new Noted();
  const first = new Noted(() => wheel.add(second, 30));
  wheel.add(first, 30);
  vi.advanceTimersByTime(200);
  expect((second.dueAtMs ?? 0) - (first.dueAtMs ?? 0)).toBeGreaterThanOrEqual(30);
});

test('after a long pause of the process all that is due comes at once, and only then when its sockets were read', async () => {
  const wheel = new TimerWheel();
  const deadlines = Array.from({ length: 50 }, () => new Noted());
  for (const [i, deadline] of deadlines.entries()) wheel.add(deadline, i * 1_000);
  const later = new Noted();
  wheel.add(later, 200_000);
  vi.setSystemTime(0);
  const jumped = performance.now() + 100_000;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => jumped);
  const answered = new Noted();
  wheel.add(answered, 0, jumped - 50_000);
  vi.advanceTimersByTime(16);
  expect(deadlines.filter(({ dueAtMs }) => dueAtMs !== undefined)).toEqual([]);
  // An answer that is read meanwhile removes its deadline in this way.
  wheel.remove(answered);
  await new Promise((resolve) => setImmediate(resolve));
  expect(answered.dueAtMs).toBeUndefined();
  expect(deadlines.filter(({ dueAtMs }) => dueAtMs === undefined)).toEqual([]);
  expect(later.dueAtMs).toBeUndefined();
  now.mockRestore();
});
