import { describe, expect, it } from 'vitest';
import { sendWindowMs, ttlLeftSeconds } from './send-window.ts';

describe('the send window', () => {
  it.each([
    [0, 60_000],
    [59, 60_000],
    [60, 60_000],
    [61, 61_000],
    [86_400, 86_400_000],
    [86_401, 86_400_000],
    [2_419_200, 86_400_000],
  ])('of a ttl of %i s lasts %i ms', (ttl, expected) => {
    expect(sendWindowMs(ttl)).toBe(expected);
  });
});

describe('the remaining ttl', () => {
  it.each([
    [100, 0, 100],
    [100, 999, 100],
    [100, 1000, 99],
    [100, 99_999, 1],
    [100, 500_000, 1],
    [0, 500_000, 0],
    [100, -5000, 100],
  ])('of %i s, %i ms after the batch was due, is %i s', (ttl, elapsedMs, expected) => {
    expect(ttlLeftSeconds(ttl, 1_000_000, 1_000_000 + elapsedMs)).toBe(expected);
  });
});
