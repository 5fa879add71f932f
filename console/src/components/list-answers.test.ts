import { describe, expect, test } from 'vitest';
import { tellDevices, tellProperties, tellRequests } from './list-answers.ts';

describe('the sentence above a list', () => {
  test.each([
    [[], 'No properties yet.'],
    [[0, 0], '2 properties; no value of another type came.'],
    [[3], '1 property; it got values of another type.'],
    [[3, 0], '2 properties; 1 of them got values of another type.'],
  ])('of properties with %j conflicts reads as %s', (conflicts, text) => {
    const rows = conflicts.map((conflicts_count) => ({ conflicts_count }));
    expect(tellProperties({ rows, isWhole: true } as never)).toBe(text);
  });

  test.each([
    [0, 0, 'No active devices, now or 7 days ago.'],
    [1, 0, '1 active device, 1 more than 7 days ago.'],
    [0, 2, '0 active devices, 2 fewer than 7 days ago.'],
    [5, 5, '5 active devices, as many as 7 days ago.'],
  ])('of %d devices, %d before, reads as %s', (now, before, text) => {
    const span = { name: 'last_7_days', now: { active_devices: now }, before: { active_devices: before } };
    expect(tellDevices({ spans: [span] } as never)).toBe(text);
  });

  test('of a log without a request claims nothing of the time before', () => {
    expect(tellRequests([])).toBe('No request is kept.');
  });
});
