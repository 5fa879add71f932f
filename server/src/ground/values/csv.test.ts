import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTextCell, textCell, writeCell } from './csv.ts';

describe('a cell of text', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['=HYPERLINK("https://evil.example","Click")', '\'=HYPERLINK("https://evil.example","Click")'],
    ['+49 30 1234', "'+49 30 1234"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', "'\r=1"],
    ['\n=1', "'\n=1"],
    ['\uff1d1+1', "'\uff1d1+1"],
    ["'=1", "''=1"],
    ['a=1', 'a=1'],
    ["'quoted'", "'quoted'"],
    ["O'Hara", "O'Hara"],
    ['', ''],
  ])('%j is written as %j, and read back', (text, cell) => {
    expect(textCell(text)).toBe(cell);
    expect(readTextCell(cell)).toBe(text);
  });

  it('never begins a formula, and reads back as it was, whatever it is', () => {
    const unit = fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', '\uff0b', 'a', '1', '"', ',');
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit, maxLength: 8 }), fc.string({ unit: 'binary' })), (text) => {
        expect(textCell(text)).not.toMatch(/^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/);
        expect(readTextCell(textCell(text))).toBe(text);
      }),
    );
  });

  it('is in quotes where it holds a quote, a line break or what may separate cells', () => {
    expect(['a', 'a,b', 'a;b', 'a\tb', 'a\nb', 'a"b'].map(writeCell)).toEqual([
      ...['a', '"a,b"', '"a;b"', '"a\tb"', '"a\nb"', '"a""b"'],
    ]);
  });
});
