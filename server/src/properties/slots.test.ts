import { describe, expect, it } from 'vitest';
import type { MovePhase, PropertyType } from './property.ts';
import { assignSlots, columnsOfKey, planMoves, type SlotCandidate, slotColumn, slotColumnsOf } from './slots.ts';

describe('slots', () => {
  it.each<[PropertyType, number, string]>([
    ['string', 1, 'text_01'],
    ['string', 30, 'text_30'],
    ['number', 7, 'number_07'],
    ['boolean', 10, 'bool_10'],
  ])('of a %s, number %i, are the column %s', (type, slot, column) => {
    expect(slotColumn(type, slot)).toBe(column);
  });

  it('are given out from the lowest free one of each type', () => {
    const taken = [
      { type: 'string', slot: 1 },
      { type: 'string', slot: 3 },
      { type: 'number', slot: null },
    ] as const;
    expect(assignSlots(taken, ['string', 'string', 'number', 'boolean', 'number'])).toEqual([2, 4, 1, 1, 2]);
  });

  it('end at thirty, thirty and ten', () => {
    const types = (type: PropertyType, count: number): PropertyType[] => Array(count).fill(type);
    expect(assignSlots([], types('string', 31)).slice(29)).toEqual([30, null]);
    expect(assignSlots([], types('number', 31)).slice(29)).toEqual([30, null]);
    expect(assignSlots([], types('boolean', 11)).slice(9)).toEqual([10, null]);
  });

  it('are written in whole blocks of ten', () => {
    const used = [
      { type: 'string', slot: 3 },
      { type: 'boolean', slot: null },
      { type: 'number', slot: 11 },
    ] as const;
    const columns = slotColumnsOf(used);
    expect(columns).toHaveLength(30);
    expect(columns).toEqual(expect.arrayContaining(['text_01', 'text_10', 'number_01', 'number_20']));
    expect(slotColumnsOf([{ type: 'boolean', slot: 10 }])).toHaveLength(10);
    expect(slotColumnsOf([])).toEqual([]);
  });
});

describe('a key on its way is written', () => {
  it.each<[string, number | null, MovePhase | null, number | null, boolean]>([
    ['that stands in a slot, there', 3, null, 3, false],
    ['that stands beyond the slots, in the overflow', null, null, null, true],
    ['into a slot, to both while that is filled', null, 'filling', 3, true],
    ['into a slot, to both once that is read', 3, 'switched', 3, true],
    ['into a slot, there alone in the end', 3, 'clearing', 3, false],
    ['out of a slot, to both while the overflow is filled', 3, 'filling', 3, true],
    ['out of a slot, to both once the overflow is read', null, 'switched', 3, true],
    ['out of a slot, to the overflow alone in the end', null, 'clearing', null, true],
  ])('%s', (_what, slot, movePhase, written, isInOverflow) => {
    const property = { slot, movePhase, moveSlot: movePhase && 3 };
    expect(columnsOfKey(property)).toEqual({ slot: written, isInOverflow });
    const columns = slotColumnsOf([{ ...property, type: 'string' }]);
    expect(columns.includes('text_03')).toBe(written !== null);
  });
});

describe('keys set out', () => {
  const key = (id: number, changes: Partial<SlotCandidate> = {}): SlotCandidate => ({
    id,
    key: `key_${id}`,
    type: 'boolean',
    slot: id <= 10 ? id : null,
    usersCount: 5,
    use: 'some',
    ...changes,
  });
  const standing = (changes: Partial<SlotCandidate> = {}) =>
    Array.from({ length: 10 }, (_, i) => key(i + 1, i === 6 ? changes : {}));
  const far = key(11, { use: 'much' });
  const inSlot7 = { type: 'boolean', slot: 7 } as const;

  it.each<[string, SlotCandidate[], Parameters<typeof planMoves>[1], ReturnType<typeof planMoves>]>([
    ['nowhere when nothing is used', [...standing({ use: 'none' }), key(11)], [], []],
    ['into the lowest free slot', [key(1), key(3), far], [], [{ id: 11, slot: 2 }]],
    [
      'not into a slot that is still to be cleared',
      [key(1), far],
      [{ type: 'boolean', slot: 2 }],
      [{ id: 11, slot: 3 }],
    ],
    [
      'out of a slot that nothing uses, where none is free',
      [...standing({ use: 'none' }), far],
      [],
      [{ id: 7, slot: 7 }],
    ],
    [
      'the one first that the fewest hold',
      [...standing({ use: 'none' }).map((one) => (one.id === 2 ? key(2, { use: 'none', usersCount: 1 }) : one)), far],
      [],
      [{ id: 2, slot: 2 }],
    ],
    ['not when every slot is used', [...standing(), far], [], []],
    [
      'not a second one for the same need',
      [
        ...standing({ use: 'none', movePhase: 'filling', moveSlot: 7 }).map((one) =>
          one.id === 2 ? key(2, { use: 'none' }) : one,
        ),
        far,
      ],
      [inSlot7],
      [],
    ],
    ['not twice', [...standing(), { ...far, movePhase: 'filling', moveSlot: 7 }], [inSlot7], []],
  ])('%s', (_what, candidates, taken, moves) => {
    expect(planMoves(candidates, taken)).toEqual(moves);
  });
});
