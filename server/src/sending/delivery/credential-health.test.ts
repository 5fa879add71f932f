import { describe, expect, it } from 'vitest';
import { isSuspect } from './credential-health.ts';

describe('a credential', () => {
  it.each([
    ['with 3 refused tokens and never a success is suspect', 3, 3, false, false, true],
    ['with 2 refused tokens is not', 2, 2, false, false, false],
    ['that worked once needs 20 attempts', 19, 19, true, false, false],
    ['that worked once, 20 of 20 refused, is suspect', 20, 20, true, false, true],
    ['with half of its attempts refused is suspect', 20, 10, true, false, true],
    ['with less than half refused is not', 20, 9, true, false, false],
    ['with a success in the hour is not', 1000, 999, true, true, false],
  ])('%s', (_what, refused, suspicious, everSucceeded, succeededWithinHour, expected) => {
    expect(isSuspect({ refused, suspicious, everSucceeded, succeededWithinHour })).toBe(expected);
  });
});
