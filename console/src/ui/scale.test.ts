import { describe, expect, it } from 'vitest';
import { labelledPoints, spread, ticksUpTo } from './scale.ts';

describe('ticks', () => {
  it.each([
    [0, [0, 1]],
    [1, [0, 0.25, 0.5, 0.75, 1]],
    [3, [0, 1, 2, 3]],
    [7, [0, 2, 4, 6, 8]],
    [100, [0, 25, 50, 75, 100]],
    [101, [0, 50, 100, 150]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [1_234_567, [0, 500_000, 1_000_000, 1_500_000]],
  ])('up to %d are round, begin at zero and reach it', (most, ticks) => {
    expect(ticksUpTo(most)).toEqual(ticks);
  });
});

describe('ticks of counts', () => {
  it.each([
    [1, [0, 1]],
    [2, [0, 1, 2]],
    [7, [0, 2, 4, 6, 8]],
    [9, [0, 5, 10]],
    [100, [0, 25, 50, 75, 100]],
  ])('up to %d are whole', (most, ticks) => {
    expect(ticksUpTo(most, true)).toEqual(ticks);
  });
});

describe('labels at the end of lines', () => {
  it('keep their distance, their order and the chart', () => {
    expect(spread([50, 52, 10], 14, 100)).toEqual([50, 64, 10]);
    expect(spread([98, 99, 100], 14, 100)).toEqual([72, 86, 100]);
    expect(spread([0, 0], 14, 100)).toEqual([0, 14]);
  });
});

describe('labels below', () => {
  it.each([
    [0, 5, []],
    [1, 5, [0]],
    [2, 5, [0, 1]],
    [7, 7, [0, 1, 2, 3, 4, 5, 6]],
    [30, 5, [0, 8, 16, 29]],
    [31, 4, [0, 10, 20, 30]],
  ])('of %d points with room for %d', (points, room, chosen) => {
    expect(labelledPoints(points, room)).toEqual(chosen);
  });
});
