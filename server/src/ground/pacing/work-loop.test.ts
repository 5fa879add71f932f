import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../../rig/src/when-done.ts';
import { createLog } from '../host/log.ts';
import { startWorkLoop } from './work-loop.ts';

type Work = (() => Promise<void>) | undefined;

/** An event that happens once, when the test says so. */
function createSignal<Value = void>() {
  let happen: (value: Value) => void = () => undefined;
  const happened = new Promise<Value>((resolve) => {
    happen = resolve;
  });
  return { happen: (value: Value) => happen(value), happened };
}

/** Returns whether a promise has settled after everything that was ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

function start(claim: () => Promise<Work>, turnsMax = 1, isPaused = () => false) {
  const log = createLog('silent', 'test');
  const loop = startWorkLoop({ name: 'test', turnsMax, log, isPaused, claim });
  whenDone(() => loop.stop());
  return loop;
}

describe('stop', () => {
  it('R-05 waits for a claim under way and for the work that it brings', async () => {
    const claimed = createSignal<Work>();
    const work = createSignal();
    let begun = 0;
    const loop = start(() => claimed.happened);
    const stopped = loop.stop();
    expect(await isSettled(stopped)).toBe(false);
    claimed.happen(() => {
      begun++;
      return work.happened;
    });
    expect(await isSettled(stopped)).toBe(false);
    expect(begun).toBe(1);
    work.happen();
    await stopped;
  });

  it('claims nothing more, although more is waiting', async () => {
    const work = createSignal();
    let claims = 0;
    const loop = start(async () => {
      claims++;
      return () => work.happened;
    }, 3);
    expect(await isSettled(loop.idle())).toBe(false);
    expect(claims).toBe(3);
    const stopped = loop.stop();
    work.happen();
    await stopped;
    loop.wake();
    await isSettled(stopped);
    expect(claims).toBe(3);
  });
});

it('is seen to look for work for as long as each claim finds some', async () => {
  const seen: number[] = [];
  const loop = start(async () => {
    await Promise.resolve();
    const { lastLookedAt } = loop;
    seen.push(lastLookedAt);
    while (performance.now() <= lastLookedAt);
    return seen.length < 3 ? async () => undefined : undefined;
  }, Number.POSITIVE_INFINITY);
  await loop.idle();
  expect(seen.length).toBeGreaterThanOrEqual(3);
  expect(new Set(seen).size).toBe(seen.length);
});

describe('idle', () => {
  it('resolves only when all claimed work has ended and no more is found', async () => {
    const first = createSignal();
    const second = createSignal();
    const found: Work[] = [() => first.happened, () => second.happened];
    const loop = start(async () => found.shift());
    const idle = loop.idle();
    expect(await isSettled(idle)).toBe(false);
    first.happen();
    expect(await isSettled(idle)).toBe(false);
    second.happen();
    await idle;
    expect(found).toEqual([]);
  });

  it('looks once more for those who ask while a look is under way', async () => {
    const looks = [createSignal<Work>(), createSignal<Work>()];
    let looked = 0;
    const loop = start(() => looks[looked++]?.happened ?? Promise.resolve(undefined));
    const idle = loop.idle();
    looks[0]?.happen(undefined);
    expect(await isSettled(idle)).toBe(false);
    looks[1]?.happen(undefined);
    await idle;
    expect(looked).toBe(2);
  });
});

describe('while paused', () => {
  it('R-92 claims nothing, and claims the waiting work when it is woken after the pause', async () => {
    let isPaused = true;
    let claims = 0;
    const waiting: Work[] = [async () => undefined];
    const loop = start(
      async () => {
        claims++;
        return waiting.shift();
      },
      1,
      () => isPaused,
    );
    await loop.idle();
    expect([claims, waiting.length]).toEqual([0, 1]);
    isPaused = false;
    loop.wake();
    await loop.idle();
    expect(waiting).toHaveLength(0);
  });

  it('R-92 lets what it has claimed end, and claims no more', async () => {
    let isPaused = false;
    let claims = 0;
    const work = createSignal();
    const loop = start(
      async () => {
        claims++;
        return () => work.happened;
      },
      2,
      () => isPaused || claims > 0,
    );
    const idle = loop.idle();
    expect(await isSettled(idle)).toBe(false);
    isPaused = true;
    work.happen();
    await idle;
    expect(claims).toBe(1);
  });

  it('keeps looking, so that it does not seem stuck', async () => {
    const loop = start(
      () => Promise.reject(new Error('claimed')),
      1,
      () => true,
    );
    const before = loop.lastLookedAt;
    await loop.idle();
    expect(loop.lastLookedAt).toBeGreaterThan(before);
  });
});

describe('the loop', () => {
  it('goes on after work that failed and after a claim that failed', async () => {
    const done: string[] = [];
    const claims: (() => Promise<Work>)[] = [
      async () => async () => {
        throw new Error('the work failed');
      },
      () => Promise.reject(new Error('the claim failed')),
      async () => async () => void done.push('third'),
    ];
    const loop = start(async () => claims.shift()?.());
    await loop.idle();
    await loop.idle();
    expect(done).toEqual(['third']);
  });

  it('works no more than its maximum at once', async () => {
    const work = createSignal();
    let atOnce = 0;
    let most = 0;
    let left = 5;
    const loop = start(async () => {
      if (left-- <= 0) return undefined;
      return async () => {
        most = Math.max(most, ++atOnce);
        await work.happened;
        atOnce--;
      };
    }, 2);
    expect(await isSettled(loop.idle())).toBe(false);
    expect(atOnce).toBe(2);
    const idle = loop.idle();
    work.happen();
    await idle;
    expect([most, left < 0]).toEqual([2, true]);
  });
});
