import { describe, expect, it } from 'vitest';
import { keepDaysOf } from './retention.ts';

describe('deliveries are kept', () => {
  it.each([
    [90, 24, 90],
    [30, 24, 30],
    [30, 360, 30],
    [30, 361, 31],
    [30, 720, 60],
    [90, 720, 90],
    [90, 0, 90],
  ])('RETENTION_DAYS=%i with a window of %i hours: %i days', (retentionDays, windowHours, days) => {
    expect(keepDaysOf(retentionDays, windowHours)).toBe(days);
  });
});
