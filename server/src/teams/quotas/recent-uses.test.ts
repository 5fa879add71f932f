import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRecentUses } from './recent-uses.ts';

function counter(options: { usesMax: number; withinMs: number; subjectsMax?: number }) {
  const time = { ms: 0 };
  return { time, uses: createRecentUses({ subjectsMax: 100, ...options, steadyMs: () => time.ms }) };
}

describe('recent uses', () => {
  it('fit up to their maximum within the time, and again when the oldest has left it', () => {
    const { time, uses } = counter({ usesMax: 3, withinMs: 1000 });
    const answers = [0, 100, 200, 300, 999, 1000, 1001, 1100].map((ms) => {
      time.ms = ms;
      return uses.tryCount('a');
    });
    expect(answers).toEqual([0, 0, 0, 700, 1, 0, 99, 0]);
  });

  it('of one subject are nothing to another', () => {
    const { uses } = counter({ usesMax: 1, withinMs: 1000 });
    expect([uses.tryCount('a'), uses.tryCount('b'), uses.tryCount('a')]).toEqual([0, 0, 1000]);
  });

  it('that are taken back leave room', () => {
    const { uses } = counter({ usesMax: 1, withinMs: 1000 });
    uses.tryCount('a');
    uses.uncount('a');
    uses.uncount('a');
    uses.uncount('nobody');
    expect([uses.tryCount('a'), uses.tryCount('a')]).toEqual([0, 1000]);
  });

  it('stay too many until it has been quiet, where refused ones count as well', () => {
    const { time, uses } = counter({ usesMax: 2, withinMs: 1000 });
    const answers = [0, 400, 800, 1200, 1600, 2700].map((ms) => {
      time.ms = ms;
      return uses.count('a');
    });
    expect(answers).toEqual([false, false, true, true, true, false]);
  });

  it('are full when one more would be too many, and a look is no use', () => {
    const { time, uses } = counter({ usesMax: 2, withinMs: 1000 });
    const seen = [0, 400, 800, 1399, 1400].map((ms) => {
      time.ms = ms;
      const before = [uses.isFull('a'), uses.isFull('a')];
      if (ms <= 400) uses.count('a');
      return before;
    });
    expect(seen).toEqual([0, 0, 1, 0, 0].map((full) => [full === 1, full === 1]));
    expect(uses.isFull('nobody')).toBe(false);
  });

  it('of many subjects take bounded memory: the one that was quiet longest is forgotten', () => {
    const { uses } = counter({ usesMax: 1, withinMs: 1000, subjectsMax: 3 });
    for (const subject of ['a', 'b', 'c', 'a', 'd']) uses.tryCount(subject);
    expect(['d', 'a', 'c'].map((subject) => uses.tryCount(subject) > 0)).toEqual([true, true, true]);
    expect(uses.tryCount('b')).toBe(0);
  });

  it('are never more than they may be in any span, and never refused without need', () => {
    const subject = fc.constantFrom('a', 'b');
    const step = fc.record({ afterMs: fc.nat({ max: 700 }), subject });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 100 }), (usesMax, asked) => {
        const { time, uses } = counter({ usesMax, withinMs: 1000 });
        const admitted: { subject: string; ms: number }[] = [];
        for (const one of asked) {
          time.ms += one.afterMs;
          const recent = admitted.filter((use) => use.subject === one.subject && use.ms > time.ms - 1000);
          const waitMs = uses.tryCount(one.subject);
          expect(waitMs === 0).toBe(recent.length < usesMax);
          if (waitMs === 0) admitted.push({ subject: one.subject, ms: time.ms });
          else expect(waitMs).toBe((recent[0]?.ms ?? 0) + 1000 - time.ms);
        }
      }),
    );
  });
});
