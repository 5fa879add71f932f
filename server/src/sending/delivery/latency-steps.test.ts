import { describe, expect, it } from 'vitest';
import { lastStep, latencyStep, percentileMs } from './latency-steps.ts';

describe('the step of a latency', () => {
  it.each([
    [0, 0],
    [8, 0],
    [9, 1],
    [11, 1],
    [12, 2],
    [16, 2],
    [17, 3],
    [1_000, 14],
    [1_024, 14],
    [1_025, 15],
    [65_536, 26],
    [70_000, lastStep],
    [10_000_000, lastStep],
  ])('of %d ms is %d', (ms, step) => {
    expect(latencyStep(ms)).toBe(step);
  });
});

describe('a percentile', () => {
  it('is in the step of the exact one, so less than 42 % from it, wherever the latencies lie', () => {
    for (const middle of [12, 55, 180, 900, 7_000]) {
      const latencies = Array.from({ length: 1_000 }, (_, i) => middle * (0.5 + i / 1_000));
      const counts = new Map<number, number>();
      for (const ms of latencies) counts.set(latencyStep(ms), (counts.get(latencyStep(ms)) ?? 0) + 1);
      for (const share of [0.5, 0.95]) {
        const exact = latencies[Math.ceil(share * 1_000) - 1] ?? 0;
        const found = percentileMs(counts, share) ?? 0;
        expect(Math.abs(latencyStep(found) - latencyStep(exact))).toBeLessThanOrEqual(found < 100 ? 1 : 0);
        expect(Math.abs(found - exact) / exact).toBeLessThan(0.42);
      }
    }
  });

  it('of nothing is null', () => {
    expect(percentileMs(new Map(), 0.5)).toBeNull();
  });
});
