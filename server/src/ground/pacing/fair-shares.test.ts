import { describe, expect, it } from 'vitest';
import { createFairShares } from './fair-shares.ts';

/** Counts how many a holder can take, one by one. */
function fill(shares: ReturnType<typeof createFairShares>, holder: string, most: number): number {
  let count = 0;
  while (shares.take(holder, 1, most)) count++;
  return count;
}

describe('a share follows what is free', () => {
  it.each([
    { perFree: 1, floods: 1, each: 150 },
    { perFree: 2, floods: 1, each: 200 },
    { perFree: 1, floods: 2, each: 100 },
    { perFree: 2, floods: 7, each: 40 },
  ])(
    'with $perFree for each free one, $floods holders that want all of 300 have $each',
    ({ perFree, floods, each }) => {
      const shares = createFairShares({ perFree });
      const names = Array.from({ length: floods }, (_, i) => `flood ${i}`);
      // In turns, as requests of several apps arrive.
      const counts = names.map(() => 0);
      for (let isFull = false; !isFull; ) {
        isFull = true;
        for (const [i, name] of names.entries()) {
          if (!shares.take(name, 1, 300)) continue;
          counts[i] = (counts[i] ?? 0) + 1;
          isFull = false;
        }
      }
      for (const count of counts) expect(count).toBe(each);
      expect(shares.take('a newcomer', 1, 300)).toBe(true);
    },
  );

  it('the smaller bound is reached first, and the rest up to the larger one stays free', () => {
    const shares = createFairShares({ perFree: 2 });
    expect(fill(shares, 'app', 300)).toBe(200);
    expect(fill(shares, 'app', 600)).toBe(200);
    expect(shares.taken).toBe(400);
  });
});

it('an amount that does not fit takes nothing, and a returned amount can be taken again', () => {
  const shares = createFairShares({ perFree: 1 });
  expect(shares.take('app', 51, 100)).toBe(false);
  expect(shares.take('app', 50, 100)).toBe(true);
  expect(shares.take('app', 1, 100)).toBe(false);
  shares.give('app', 50);
  expect(shares.taken).toBe(0);
  expect(shares.take('app', 50, 100)).toBe(true);
});

it('nobody gives back more than they hold', () => {
  const shares = createFairShares({ perFree: 1 });
  shares.take('app', 2, 100);
  expect(() => shares.give('app', 3)).toThrow('app holds less than 3');
  expect(() => shares.give('another', 1)).toThrow('another holds less than 1');
});
