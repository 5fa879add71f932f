import { describe, expect, it } from 'vitest';
import type { Uuid } from '../../ground/values/ids.ts';
import { type ColumnUse, planIndexes } from './plan-indexes.ts';

const [great, middle, small] = ['great', 'middle', 'small'] as Uuid[] as [Uuid, Uuid, Uuid];
const sizes = new Map([
  [great, 100_000],
  [middle, 20_000],
  [small, 50],
]);
const limits = { indexesMax: 3, perAppMax: 2, devicesMin: 1_000 };

const use = (appId: Uuid, column: string, uses = 3): ColumnUse => ({
  appId,
  column,
  uses,
  field: `properties.${column}`,
  devices: sizes.get(appId) ?? 0,
});
const columnsOf = (uses: readonly ColumnUse[], built: readonly string[] = []) =>
  [...planIndexes(uses, new Set(built), limits).columns].sort();
const withoutOf = (uses: readonly ColumnUse[], built: readonly string[] = []) =>
  planIndexes(uses, new Set(built), limits).without.map(({ appId, column, reason }) => [appId, column, reason]);

describe('a plan of indexes', () => {
  it('has none for an app with few devices, unless another app asks for the same column', () => {
    expect(columnsOf([use(small, 'a'), use(small, 'b'), use(great, 'b')])).toEqual(['b']);
    expect(withoutOf([use(small, 'a'), use(small, 'b'), use(great, 'b')])).toEqual([[small, 'a', 'few_devices']]);
  });

  it('gives each app the indexes that it uses most, and no app more than its share', () => {
    const uses = [use(great, 'a', 3), use(great, 'b', 9), use(great, 'c', 6), use(middle, 'd', 3)];
    expect(columnsOf(uses)).toEqual(['b', 'c', 'd']);
    expect(withoutOf(uses)).toEqual([[great, 'a', 'no_index_left']]);
  });

  it('prefers the indexes that serve the most devices when there are too many', () => {
    const uses = [use(great, 'a'), use(great, 'b'), use(middle, 'c'), use(middle, 'd', 90), use(middle, 'a')];
    expect(columnsOf(uses)).toEqual(['a', 'b', 'd']);
    expect(withoutOf(uses)).toEqual([[middle, 'c', 'no_index_left']]);
  });

  it('keeps an index until another is worth twice as much', () => {
    const uses = [use(great, 'a', 3), use(great, 'b', 5), use(great, 'c', 5)];
    expect(columnsOf(uses)).toEqual(['b', 'c']);
    expect(columnsOf(uses, ['a'])).toEqual(['a', 'b']);
    expect(columnsOf([use(great, 'a', 3), use(great, 'b', 7), use(great, 'c', 7)], ['a'])).toEqual(['b', 'c']);
  });

  it('is the same for the same uses in any order', () => {
    const uses = ['d', 'b', 'a', 'c'].flatMap((column) => [use(great, column), use(middle, column)]);
    expect(columnsOf(uses.toReversed())).toEqual(columnsOf(uses));
    expect(columnsOf([])).toEqual([]);
  });
});
