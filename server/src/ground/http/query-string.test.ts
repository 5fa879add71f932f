import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.ts';
import { readQuery } from './query-string.ts';

const entriesOf = (url: string, ignoresUnknown = false): unknown => {
  try {
    return Object.entries(readQuery(url, ignoresUnknown));
  } catch (error) {
    return error instanceof ApiError ? error.details.issues?.map(({ path, code }) => `${path}: ${code}`) : error;
  }
};

describe('readQuery', () => {
  it.each<[string, readonly (readonly [string, string])[]]>([
    ['/', []],
    ['/?', []],
    ['/?&&', []],
    [
      '/?a=1&b=2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['/?a', [['a', '']]],
    ['/?a=', [['a', '']]],
    ['/?=1', [['', '1']]],
    ['/?a=b=c', [['a', 'b=c']]],
    ['/?a=1?b=2', [['a', '1?b=2']]],
    ['/?a+b=c+d', [['a b', 'c d']]],
    ['/?a%20b=c%2Bd%26', [['a b', 'c+d&']]],
    ['/?a=%E2%82%AC%F0%9F%94%94', [['a', '€🔔']]],
    ['/?a=%EF%BF%BD', [['a', '\ufffd']]],
    [
      '/?__proto__=1&constructor=2',
      [
        ['__proto__', '1'],
        ['constructor', '2'],
      ],
    ],
  ])('%s', (url, entries) => {
    expect(entriesOf(url)).toEqual(entries);
    expect(entriesOf(url, true)).toEqual(entries);
  });

  it.each<[string, string, unknown]>([
    ['one given twice', '/?a=1&a=2', ['a: invalid_value']],
    ['one given twice with the same value', '/?a=1&b=2&a=1', ['a: invalid_value']],
    ['one given twice in other spellings', '/?a%62=1&ab=2', ['ab: invalid_value']],
    ['one given three times', '/?a&a&a', ['a: invalid_value', 'a: invalid_value']],
    ['half a percent-encoding', '/?a=%', ['a: invalid_format']],
    ['a percent-encoding of nothing', '/?a=%zz', ['a: invalid_format']],
    ['bytes that are not UTF-8', '/?a=%ff', ['a: invalid_format']],
    ['an encoded surrogate', '/?a=%ED%A0%80', ['a: invalid_format']],
    ['U+0000', '/?a=x%00', ['a: invalid_format']],
    ['a name that is unreadable', '/?%ff=1', ['%ff: invalid_format']],
    ['several', '/?a=%ff&b=1&b=2', ['a: invalid_format', 'b: invalid_value']],
  ])('refuses %s', (_what, url, issues) => {
    expect(entriesOf(url)).toEqual(issues);
  });

  it('where any parameter may stand, leaves out unreadable ones and takes the last of repeated ones', () => {
    expect(entriesOf('/?a=1&a=2&b=%ff&%ff=3&c=%00', true)).toEqual([['a', '2']]);
  });
});
