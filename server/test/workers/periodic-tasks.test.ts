import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type PeriodicTask, runInTurn } from '../../src/ground/pacing/in-turn.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Run {
  readonly what: string;
  readonly atMs: number;
  end(): void;
  fail(error: Error): void;
}

/** Tasks that record when they run. Those named in `long` run until the test ends them. */
function start(tasks: readonly Omit<PeriodicTask, 'run'>[], { long = [] as string[], random = 0 } = {}) {
  const begunAtMs = performance.now();
  const runs: Run[] = [];
  const warn = vi.fn();
  const run = (what: string) =>
    new Promise<void>((end, fail) => {
      runs.push({ what, atMs: performance.now() - begunAtMs, end, fail });
      if (!long.includes(what)) end();
    });
  const running = runInTurn(
    tasks.map((task) => ({ ...task, run: () => run(task.what) })),
    { log: { warn }, random: () => random },
  );
  return { runs, warn, running, told: () => runs.map(({ what, atMs }) => `${what} ${atMs}`) };
}

describe('periodic tasks', () => {
  it('R-98 run one after another: a task that falls due waits until the current one has ended or failed', async () => {
    const { runs, warn, running } = start(
      [
        { what: 'long', everyMs: 10_000 },
        { what: 'short', everyMs: 2_000 },
      ],
      { long: ['long'] },
    );
    await vi.advanceTimersByTimeAsync(30_000);
    const { what } = runs.at(-1) ?? {};
    const before = runs.length;
    expect(what).toBe('long');
    runs.at(-1)?.fail(new Error('no'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(runs.slice(before).map((run) => run.what)).toContain('short');
    running.stop();
  });

  it('do not make up for missed turns, and keep their own interval', async () => {
    const { runs, told, running } = start([{ what: 'task', everyMs: 1_000 }], { long: ['task'] });
    await vi.advanceTimersByTimeAsync(5_000);
    runs[0]?.end();
    await vi.advanceTimersByTimeAsync(1_000);
    runs[1]?.end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(told()).toEqual(['task 500', 'task 5500', 'task 6500']);
    running.stop();
  });

  it.each([
    [0, ['a 5000', 'b 10000', 'late 60000']],
    [0.5, ['a 7500', 'b 15000', 'late 90000']],
    [0.999, ['a 9995', 'b 19990', 'late 119940']],
  ])('have their first turn at a random moment (%d)', async (random, firsts) => {
    const tasks = [
      { what: 'a', everyMs: 10_000 },
      { what: 'b', everyMs: 20_000 },
      { what: 'late', everyMs: 3_600_000, firstAfterMs: 60_000 },
    ];
    const { runs, told, running } = start(tasks, { random });
    await vi.advanceTimersByTimeAsync(120_000);
    const first = (what: string): number => runs.findIndex((run) => run.what === what);
    expect(['a', 'b', 'late'].map((what) => told()[first(what)])).toEqual(firsts);
    running.stop();
  });

  it('begin no turn after a stop', async () => {
    const { runs, running } = start([{ what: 'task', everyMs: 1_000 }]);
    await vi.advanceTimersByTimeAsync(1_600);
    running.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(runs).toHaveLength(2);
  });
});
