import { describe, expect, test } from 'vitest';
import { CappedBody } from './capped-body.ts';

const limits = { readMax: 8, keepMax: 4 };

function read(...chunks: (string | number[])[]) {
  const body = new CappedBody(limits);
  const goesOn = chunks.map((chunk) => body.push(Buffer.from(chunk as string)));
  return { goesOn, text: body.text(), isCut: body.isCut };
}

describe('the beginning of a body', () => {
  test('nothing at all is null', () => {
    expect(read()).toEqual({ goesOn: [], text: null, isCut: false });
    expect(read('')).toEqual({ goesOn: [true], text: null, isCut: false });
  });

  test('up to the limit it is kept whole', () => {
    expect(read('ab', 'cd')).toEqual({ goesOn: [true, true], text: 'abcd', isCut: false });
  });

  test('above the bound of keeping it is cut, and above the bound of reading it ends', () => {
    expect(read('abc', 'def', 'ghi')).toEqual({ goesOn: [true, true, false], text: 'abcd', isCut: true });
    expect(read('a'.repeat(1_000_000))).toEqual({ goesOn: [false], text: 'aaaa', isCut: true });
  });

  test('a character cut in half is left out', () => {
    expect(read('abcé').text).toBe('abc');
    expect(read('ab😀').text).toBe('ab');
  });

  test('any bytes give a text that can be stored', () => {
    expect(read([0x61, 0, 0x62]).text).toBe('a\uFFFDb');
    expect(read([0xff, 0xfe]).text).toBe('\uFFFD\uFFFD');
    expect(read([0xed, 0xa0, 0x80]).text?.isWellFormed()).toBe(true);
  });
});
