import { describe, expect, it } from 'vitest';
import type { MovePhase, PropertyType } from './property.ts';
import { assignSlots, columnsOfKey, slotColumn, slotColumnsOf } from './slots.ts';

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
    ['into a slot by the version before, there alone in the end', 3, 'clearing', 3, false],
    ['out of a slot by it, to both while the overflow is filled', 3, 'filling', 3, true],
    ['out of a slot by it, to both once the overflow is read', null, 'switched', 3, true],
    ['out of a slot by it, to the overflow alone in the end', null, 'clearing', null, true],
  ])('%s', (_what, slot, movePhase, written, isInOverflow) => {
    const property = { slot, movePhase, moveSlot: movePhase && 3 };
    expect(columnsOfKey(property)).toEqual({ slot: written, isInOverflow });
    const columns = slotColumnsOf([{ ...property, type: 'string' }]);
    expect(columns.includes('text_03')).toBe(written !== null);
  });
});
