import { expect, test } from 'vitest';
import { batchesMax, mayHaveAnother } from './worker.ts';

/**
 * Apps take, one after the other, all turns that they may have, and no batch ends. Returns the
 * turns of each app and the number of free turns.
 */
function fill(apps: number): { held: number[]; free: number } {
  const held = Array.from({ length: apps }, () => 0);
  let free = batchesMax;
  for (let taken = -1; taken !== free; ) {
    taken = free;
    for (const [app, count] of held.entries()) {
      if (free === 0 || !mayHaveAnother(count, free)) continue;
      held[app] = count + 1;
      free--;
    }
  }
  return { held, free };
}

test('R-62 apps whose batches do not end leave a turn for another app, until each app has one turn', () => {
  for (let apps = 1; apps < batchesMax; apps++) {
    const { held, free } = fill(apps);
    expect(Math.min(...held)).toBeGreaterThan(0);
    expect(free).toBeGreaterThan(0);
    expect(mayHaveAnother(0, free)).toBe(true);
  }
});

test('a single app has as many turns as it needs to fill its slots', () => {
  expect(fill(1).held).toEqual([8]);
});
