import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createFairSlots } from './fair-slots.ts';

/**
 * Takes slots until the next one would wait, and returns how many it got. The waiting take stays
 * pending.
 */
function takeAll(slots: ReturnType<typeof createFairSlots>, holder: string): number {
  let taken = 0;
  while (slots.take(holder) === undefined) taken++;
  return taken;
}

describe('fair slots', () => {
  it('leave some free for a newcomer when one holder takes all it can', () => {
    const slots = createFairSlots({ slotsMax: 400, perFree: 1 });
    expect(takeAll(slots, 'a')).toBe(200);
    expect(slots.take('b')).toBeUndefined();
  });

  it('R-62 serve a newcomer at once while seven others hold all that they could get', () => {
    const slots = createFairSlots({ slotsMax: 400, perFree: 1 });
    const held = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((greedy) => takeAll(slots, greedy));
    expect(held[0]).toBe(200);
    expect(slots.take('newcomer')).toBeUndefined();
  });

  it('R-62 give a holder above its share nothing more until the others have theirs', async () => {
    const slots = createFairSlots({ slotsMax: 400, perFree: 1 });
    takeAll(slots, 'a');
    takeAll(slots, 'b');
    let waiting = 0;
    for (let given = 0; given < 66; given++) {
      slots.give('a');
      if (slots.take('b') !== undefined) waiting++;
    }
    expect(waiting).toBeGreaterThan(0);
    expect(slots.take('a')).toBeInstanceOf(Promise);
    expect(slots.take('c')).toBeUndefined();
  });

  it('go to the waiting holders in turn as they come free', async () => {
    const slots = createFairSlots({ slotsMax: 3, perFree: 2 });
    expect([slots.take('a'), slots.take('a'), slots.take('b')]).toEqual([undefined, undefined, undefined]);
    const order: string[] = [];
    const wait = (holder: string) => slots.take(holder)?.then(() => void order.push(holder));
    const waits = [wait('a'), wait('a'), wait('a'), wait('c'), wait('b')];
    for (const holder of ['a', 'a', 'b', 'c', 'a', 'b', 'a']) {
      slots.give(holder);
      await Promise.resolve();
    }
    await Promise.all(waits);
    expect(order.slice(0, 3).toSorted()).toEqual(['a', 'b', 'c']);
    expect(order.slice(3)).toEqual(['a', 'a']);
  });

  it('lose none: when all are given back, all can be taken again', () => {
    const slots = createFairSlots({ slotsMax: 10, perFree: 4 });
    for (let round = 0; round < 3; round++) {
      const taken = ['a', 'b'].map((holder) => ({ holder, count: takeAll(slots, holder) }));
      expect(taken).toEqual([
        { holder: 'a', count: 8 },
        { holder: 'b', count: 2 },
      ]);
      // Returned slots serve the waiting takes above, which are returned in turn.
      for (const { holder, count } of taken) for (let i = 0; i < count + 1; i++) slots.give(holder);
    }
  });

  it('begin small where a start is given, grow with each success, and begin again after a failure', () => {
    const slots = createFairSlots({ slotsMax: 400, perFree: 1, start: 3 });
    expect([slots.take('a'), slots.take('a'), slots.take('a')]).toEqual([undefined, undefined, undefined]);
    expect(slots.take('a')).toBeInstanceOf(Promise);
    expect(slots.take('b')).toBeUndefined();
    slots.give('b');
    // One slot was returned and one earned: one goes to the waiting take, one is free.
    slots.give('a', 'well');
    expect(takeAll(slots, 'a')).toBe(1);
    slots.give('a', 'badly');
    slots.give('a');
    // Four slots are held and two takes wait; three slots are allowed.
    expect(slots.take('a')).toBeInstanceOf(Promise);
  });

  it('serve every wait of a holder without slots, however long the others hold all', async () => {
    const slots = createFairSlots({ slotsMax: 1, perFree: 1 });
    expect(slots.take('a')).toBeUndefined();
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());
    const first = slots.take('b');
    const second = slots.take('b');
    slots.give('a');
    await first;
    slots.give('b');
    await second;
  });

  it('are earned again after ten seconds without any', () => {
    const slots = createFairSlots({ slotsMax: 10, perFree: 1, start: 1 });
    for (let earned = 0; earned < 3; earned++) {
      expect(slots.take('a')).toBeUndefined();
      slots.give('a', 'well');
    }
    const now = performance.now();
    vi.spyOn(performance, 'now').mockReturnValue(now + 20_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(takeAll(slots, 'a')).toBe(1);
  });

  it('R-62 leave some free for a newcomer, however much a holder has earned', () => {
    const slots = createFairSlots({ slotsMax: 400, perFree: 1, start: 1 });
    for (let earned = 0; earned < 1000; earned++) {
      expect(slots.take('a')).toBeUndefined();
      slots.give('a', 'well');
    }
    expect(takeAll(slots, 'a')).toBe(200);
    expect(slots.take('b')).toBeUndefined();
  });

  it('refuse a return by a holder without slots', () => {
    const slots = createFairSlots({ slotsMax: 1, perFree: 4 });
    expect(() => slots.give('a')).toThrow('holds no slot');
  });
});
