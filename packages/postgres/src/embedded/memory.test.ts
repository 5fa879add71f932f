import { totalmem } from 'node:os';
import { expect, it } from 'vitest';
import { memoryOfProcess, sharedBuffersMb } from './memory.ts';

it.each([
  [0.5, 128],
  [1, 128],
  [2, 256],
  [4, 512],
  [8, 1024],
  [64, 1024],
])('of %d GB, a new cluster keeps its tables in %d MB', (gb, expected) => {
  expect(sharedBuffersMb(gb * 2 ** 30)).toBe(expected);
});

it('never counts on more memory than the machine has', () => {
  expect(memoryOfProcess()).toBeGreaterThan(0);
  expect(memoryOfProcess()).toBeLessThanOrEqual(totalmem());
});
