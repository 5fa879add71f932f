import { describe, expect, it } from 'vitest';
import { createTogether, type Outcomes, type TogetherOptions } from './together.ts';

interface Turn {
  readonly key: string;
  readonly items: readonly string[];
  end(outcomes?: Outcomes<string>): void;
  fail(error: Error): void;
}

/** The test ends turns; `turn` resolves with the next one that begins. */
function stage(options: Partial<TogetherOptions> = {}) {
  const begun: Turn[] = [];
  let tell: (() => void) | undefined;
  const { run } = createTogether<string, string>(
    (key, items) =>
      new Promise((resolve, reject) => {
        const done = items.map((item) => ({ status: 'fulfilled' as const, value: `${item} done` }));
        begun.push({ key, items, end: (outcomes = done) => resolve(outcomes), fail: reject });
        tell?.();
      }),
    { turnsMax: 1, itemsMax: 3, waitMs: 60_000, ...options },
  );
  const turn = async (): Promise<Turn> => {
    while (begun.length === 0) {
      await new Promise<void>((resolve) => {
        tell = resolve;
      });
    }
    const [next] = begun.splice(0, 1);
    if (!next) throw new Error('no turn began');
    return next;
  };
  return { run, turn, begun };
}

describe('work that is done together', () => {
  it('begins at once for a single caller', async () => {
    const { run, turn } = stage();
    const result = run('a', 'one');
    const { key, items, end } = await turn();
    expect([key, items]).toEqual(['a', ['one']]);
    end();
    expect(await result).toBe('one done');
  });

  it('is shared by callers that come at the same time, or while others are served', async () => {
    const { run, turn, begun } = stage();
    const first = [run('a', '1'), run('a', '2')];
    const one = await turn();
    expect(one.items).toEqual(['1', '2']);
    const more = ['3', '4', '5', '6'].map((item) => run('a', item));
    one.end();
    expect(await Promise.all(first)).toEqual(['1 done', '2 done']);
    const two = await turn();
    expect(two.items).toEqual(['3', '4', '5']);
    expect(begun).toHaveLength(0);
    two.end();
    const three = await turn();
    expect(three.items).toEqual(['6']);
    three.end();
    expect(await Promise.all(more)).toEqual(['3 done', '4 done', '5 done', '6 done']);
  });

  it('has no more turns at once than it may, of each key', async () => {
    const { run, turn } = stage({ turnsMax: 2, itemsMax: 1 });
    const results = [run('a', '1'), run('a', '2'), run('a', '3'), run('b', '4')];
    const begun = [await turn(), await turn(), await turn()];
    expect(begun.map(({ key, items }) => `${key}${items}`).sort()).toEqual(['a1', 'a2', 'b4']);
    begun.find(({ items }) => items[0] === '2')?.end();
    const last = await turn();
    expect(last.items).toEqual(['3']);
    for (const each of [...begun, last]) each.end();
    expect(await Promise.all(results)).toEqual(['1 done', '2 done', '3 done', '4 done']);
  });

  it('rejects the callers whose part failed, or all where the turn itself fails, and goes on', async () => {
    const { run, turn } = stage();
    const some = [run('a', '1'), run('a', '2')];
    (await turn()).end([
      { status: 'rejected', reason: new Error('not you') },
      { status: 'fulfilled', value: 'you' },
    ]);
    expect(await Promise.allSettled(some)).toMatchObject([
      { status: 'rejected', reason: { message: 'not you' } },
      { status: 'fulfilled', value: 'you' },
    ]);
    const all = [run('a', '3'), run('a', '4')];
    (await turn()).fail(new Error('nobody'));
    expect(await Promise.allSettled(all)).toMatchObject([
      { status: 'rejected', reason: { message: 'nobody' } },
      { status: 'rejected', reason: { message: 'nobody' } },
    ]);
    const next = run('a', '5');
    (await turn()).end();
    expect(await next).toBe('5 done');
  });

  it('refuses a caller that waits too long for a turn, and serves later ones', async () => {
    const { run, turn } = stage({ waitMs: 5 });
    const served = run('a', '1');
    const one = await turn();
    await expect(run('a', '2')).rejects.toMatchObject({ code: 'CONNECTION_BUSY' });
    one.end();
    expect(await served).toBe('1 done');
    const later = run('a', '3');
    const two = await turn();
    expect(two.items).toEqual(['3']);
    two.end();
    expect(await later).toBe('3 done');
  });
});
