import { describe, expect, it } from 'vitest';
import type { PropertyType } from '../properties/property.ts';
import { CellTypes } from './cells.ts';
import { parseForeignJson } from './given-row.ts';

const cell = (key: string, text: string, type: PropertyType | null = null) => ({ key, text, type });
const readNew = (...texts: string[]) => {
  const types = new CellTypes(new Map());
  types.learn(texts.map((text) => cell('key', text)));
  return texts.map((text) => types.read([cell('key', text)])['key']);
};

describe('text under the key of a property', () => {
  it.each([
    [
      ['1', '2.5', '-3e2'],
      [1, 2.5, -300],
    ],
    [
      ['true', 'FALSE'],
      [true, false],
    ],
    [
      ['1', 'x'],
      ['1', 'x'],
    ],
    [
      ['true', '1'],
      ['true', '1'],
    ],
    [['007'], ['007']],
    [['+49'], ['+49']],
    [['1e999'], ['1e999']],
    [['12345678901234567890'], ['12345678901234567890']],
    [[' 1'], [' 1']],
    [['=1+1'], ['=1+1']],
    [[`1${'0'.repeat(400)}`], [`1${'0'.repeat(400)}`]],
    [['1e309'], ['1e309']],
    [['1e-400'], ['1e-400']],
    [['NaN'], ['NaN']],
    [['Infinity'], ['Infinity']],
    [['0x10'], ['0x10']],
    [['00123'], ['00123']],
    [['-0123'], ['-0123']],
    [['1.'], ['1.']],
    [['.5'], ['.5']],
    [['1,5'], ['1,5']],
    [
      ['0.1', '0.30000000000000004', '1.50', '1e21', '5e-324', '0', '0.0'],
      [0.1, 0.1 + 0.2, 1.5, 1e21, 5e-324, 0, 0],
    ],
    [['0.1234567890123456789'], ['0.1234567890123456789']],
    [['123456789012345.6789'], ['123456789012345.6789']],
    [
      ['9007199254740991', '-9007199254740991'],
      [9007199254740991, -9007199254740991],
    ],
    [['9007199254740993'], ['9007199254740993']],
    [['9007199254740992'], ['9007199254740992']],
    [
      ['7', '9007199254740993'],
      ['7', '9007199254740993'],
    ],
  ])('%j of a new key is read as %j', (texts, values) => {
    expect(readNew(...texts)).toEqual(values);
  });

  it('is what the catalog says, or the header', () => {
    const types = new CellTypes(new Map([['plan', 'string'] as const, ['age', 'number'] as const]));
    const read = types.read([
      cell('plan', '1'),
      cell('age', '31'),
      cell('zip', '10115', 'string'),
      cell('vip', 'true', 'boolean'),
    ]);
    expect({ ...read }).toEqual({ plan: '1', age: 31, zip: '10115', vip: true });
  });

  it('stays text where it does not fit, for the catalog to call it a conflict', () => {
    const types = new CellTypes(new Map([['age', 'number'] as const]));
    expect(types.read([cell('age', 'old')])['age']).toBe('old');
  });

  it('is dropped where it does not fit the type in the header, and gives a new key no other type', () => {
    const dropped: string[] = [];
    const types = new CellTypes(new Map());
    const given = ['n/a', '9007199254740993', '31'].map((text, i) => cell(`age${i}`, text, 'number'));
    expect({ ...types.read(given, dropped) }).toEqual({ age2: 31 });
    expect(dropped).toEqual([0, 1].map((i) => `properties.age${i}: It is no number, as the header says it is.`));
  });

  it('keeps the type that was decided first', () => {
    const types = new CellTypes(new Map());
    types.learn([cell('zip', '10115')]);
    types.learn([cell('zip', 'K1A 0B1')]);
    expect(types.read([cell('zip', '10117')])['zip']).toBe(10117);
  });

  it('is a number in the JSON of another service only where a double holds it', () => {
    const text = '{"a":9007199254740993,"b":[1e400,"1e400",-0.5],"c\\"1e999":0.1,"d":1E+2}';
    expect(parseForeignJson(text)).toEqual({
      a: '9007199254740993',
      b: ['1e400', '1e400', -0.5],
      'c"1e999': 0.1,
      d: 100,
    });
  });

  it('R-72 may stand under any key, also __proto__', () => {
    const read = new CellTypes(new Map()).read([cell('__proto__', 'x'), cell('constructor', 'y')]);
    expect(Object.entries(read)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});
