import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../rig/src/random.ts';
import { leastPerSecond, sendWindowMs, ttlLeftSeconds } from './send-window.ts';

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

describe('the least rate', () => {
  const hourMs = 3_600_000;
  const dayMs = 24 * hourMs;
  const due = (...groups: [atMs: number, deliveries: number][]) =>
    groups.map(([dueAtMs, deliveries]) => ({ dueAtMs, deliveries }));

  it.each<[string, ReturnType<typeof due>, number, number]>([
    ['for nobody is 1', [], dayMs, 1],
    ['for one is 1', due([0, 1]), 60_000, 1],
    ['for as many as the window has seconds is 1', due([0, 86_400]), dayMs, 1],
    ['for one more is 2', due([0, 86_401]), dayMs, 2],
    ['for a million in a minute', due([0, 1_000_000]), 60_000, 16_667],
    [
      'for zones whose windows do not meet is that of the largest',
      due([0, 60], [hourMs, 600], [2 * hourMs, 120]),
      60_000,
      10,
    ],
    ['for zones at one instant is that of all together', due([0, 300], [0, 300]), 60_000, 10],
    ['for zones that overlap is shared', due([0, 86_400], [hourMs, 86_400]), dayMs, 2],
    ['is not raised by zones that have time enough together', due([0, 43_200], [12 * hourMs, 43_200]), dayMs, 1],
    ['looks at any run of zones', due([0, 1], [hourMs, 172_800], [2 * hourMs, 172_800]), dayMs, 4],
  ])('%s', (_what, groups, windowMs, expected) => {
    expect(leastPerSecond(groups, windowMs)).toBe(expected);
    expect(leastPerSecond(groups.toReversed(), windowMs)).toBe(expected);
  });

  it('is enough, and one less is not, when pushes leave in the order of their due time', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = createRandom(seed);
      const windowSeconds = 5 + random.below(20);
      const groups = Array.from({ length: 1 + random.below(5) }, () => ({
        dueAtMs: random.below(40) * 1000,
        deliveries: random.below(60),
      }));
      const least = leastPerSecond(groups, windowSeconds * 1000);
      expect(finishes(groups, windowSeconds, least), `seed ${seed}`).toBe(true);
      if (least > 1) expect(finishes(groups, windowSeconds, least - 1), `seed ${seed}`).toBe(false);
    }
  });

  /** Sends second by second, the earliest due first. */
  function finishes(groups: ReturnType<typeof due>, windowSeconds: number, perSecond: number): boolean {
    const open = groups.map(({ dueAtMs, deliveries }) => ({ due: dueAtMs / 1000, left: deliveries }));
    open.sort((a, b) => a.due - b.due);
    for (let second = 0; second < 100; second++) {
      let places = perSecond;
      for (const group of open) {
        if (group.due > second || second >= group.due + windowSeconds) continue;
        const sent = Math.min(places, group.left);
        group.left -= sent;
        places -= sent;
      }
    }
    return open.every(({ left }) => left === 0);
  }
});
