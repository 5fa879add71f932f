import { describe, expect, it } from 'vitest';
import {
  mergeProperties,
  type Property,
  presentConflict,
  presentProperties,
  sampleOf,
  showsSame,
  textsGone,
} from './property.ts';

const property = (id: number, key: string): Property => ({ id, key, type: 'string', slot: null });

describe('stored values after a change', () => {
  it.each<
    [string, Record<string, string | number>, [number, string | number | null][], Record<string, string | number>]
  >([
    ['keep what is not named', { 1: 'a', 2: 'b' }, [], { 1: 'a', 2: 'b' }],
    [
      'take new values',
      { 1: 'a' },
      [
        [1, 'z'],
        [2, 5],
      ],
      { 1: 'z', 2: 5 },
    ],
    [
      'lose what is null',
      { 1: 'a', 2: 'b' },
      [
        [1, null],
        [3, null],
      ],
      { 2: 'b' },
    ],
    ['leave the values of deleted keys behind', { 1: 'a', 9: 'dead' }, [], { 1: 'a' }],
  ])('%s', (_name, stored, changes, expected) => {
    expect(mergeProperties(stored, new Map(changes), (id) => id < 9)).toEqual(expected);
  });
});

describe('stored values in an answer', () => {
  it('stand under their keys, and those of deleted keys are invisible', () => {
    const catalog = new Map([[1, property(1, 'plan')]]);
    expect({ ...presentProperties({ 1: 'pro', 2: 'gone' }, catalog) }).toEqual({ plan: 'pro' });
  });

  it('R-72 have no prototype, so that __proto__ is a key like any other', () => {
    const shown = presentProperties({ 1: 'x' }, new Map([[1, property(1, '__proto__')]]));
    expect(JSON.stringify(shown)).toBe('{"__proto__":"x"}');
    expect(Object.getPrototypeOf(shown)).toBeNull();
  });
});

describe('a conflict in an answer', () => {
  const conflict = { property: property(1, 'plan'), value: 7 };

  it('names the value that was kept', () => {
    expect(presentConflict(conflict, { 1: 'pro' })).toEqual({
      key: 'plan',
      expected: 'string',
      received: 'number',
      value: 7,
      kept: 'pro',
    });
  });

  it('hides the kept value from a client key, and has null where none was kept', () => {
    expect(presentConflict(conflict, null)).toMatchObject({ kept: null });
    expect(presentConflict(conflict, {})).toMatchObject({ kept: null });
  });

  it('keeps false and zero, which are values', () => {
    expect(presentConflict(conflict, { 1: false })).toMatchObject({ kept: false });
    expect(presentConflict(conflict, { 1: 0 })).toMatchObject({ kept: 0 });
  });
});

describe('a sample', () => {
  it.each([
    ['short', 'short'],
    ['x'.repeat(64), 'x'.repeat(64)],
    ['x'.repeat(65), 'x'.repeat(64)],
    [`${'x'.repeat(63)}🔔`, 'x'.repeat(63)],
    [`${'x'.repeat(62)}🔔y`, `${'x'.repeat(62)}🔔`],
    [1.5, 1.5],
    [false, false],
  ])('of %j is %j', (value, sample) => {
    expect(sampleOf(value)).toBe(sample);
  });
});

describe('two states of an owner', () => {
  it.each([
    ['equal in any order', { 1: 'a', 2: true }, { 2: true, 1: 'a' }, true],
    ['a value that is added', {}, { 1: 'a' }, false],
    ['a value that is removed', { 1: 'a' }, {}, false],
    ['another value', { 1: 'a' }, { 1: 'b' }, false],
    ['another type', { 1: '1' }, { 1: 1 }, false],
    ['a value of a key that the catalog no longer has', { 1: 'a', 9: 'dead' }, { 1: 'a' }, true],
  ])('%s', (_name, one, other, isSame) => {
    const isLive = (id: number) => id !== 9;
    expect(showsSame(one, other, isLive)).toBe(isSame);
    expect(showsSame(other, one, isLive)).toBe(isSame);
  });
});

describe('the texts that an owner no longer has', () => {
  it.each([
    ['replaced', { 1: 'old' }, { 1: 'new' }, [{ id: 1, sample: 'old' }]],
    ['cleared', { 1: 'old', 2: 'kept' }, { 2: 'kept' }, [{ id: 1, sample: 'old' }]],
    ['cut as the sample is', { 1: 'x'.repeat(70) }, {}, [{ id: 1, sample: 'x'.repeat(64) }]],
    ['not one that looks the same as a sample', { 1: 'x'.repeat(70) }, { 1: 'x'.repeat(64) }, []],
    ['not what stays', { 1: 'same' }, { 1: 'same', 2: 'new' }, []],
    ['no numbers and booleans', { 1: 1, 2: true }, {}, []],
  ])('%s', (_name, former, stored, gone) => {
    expect(textsGone(former, stored)).toEqual(gone);
  });
});
