import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeCell } from '../../ground/values/csv.ts';
import { readFields } from './csv-fields.ts';
import { type RecordSplitter, recordBytesMax, splitCsv, splitLines, splitObjects } from './records.ts';

const comma = ','.charCodeAt(0);

/** Returns the records of a text that arrives in pieces of these sizes. */
function read(splitter: RecordSplitter, text: string | Buffer, sizes: readonly number[] = [Number.POSITIVE_INFINITY]) {
  const bytes = Buffer.from(text as string);
  const records = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    records.push(...splitter.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...records, ...splitter.end()];
}
const texts = (records: ReturnType<typeof read>): string[] => records.map(({ bytes }) => bytes.toString());

describe('the records of a file', () => {
  it.each([
    ['lines', 'a,b\nc,d\n', ['a,b', 'c,d']],
    ['a last line without its end', 'a,b\nc,d', ['a,b', 'c,d']],
    ['lines of Windows', 'a,b\r\nc,d\r\n', ['a,b', 'c,d']],
    ['blank lines', '\n\na\n\r\n\nb\n', ['a', 'b']],
    ['a line break in quotes', '"a\nb",c\nd,e', ['"a\nb",c', 'd,e']],
    ['doubled quotes', '"a""\n""b"\nc', ['"a""\n""b"', 'c']],
    ['a quote within plain text', '5" disk\nc', ['5" disk', 'c']],
    ['a quote that opens late', 'a,"b\nc"\nd', ['a,"b\nc"', 'd']],
  ])('of a CSV: %s', (_what, text, lines) => {
    expect(texts(read(splitCsv(comma), text))).toEqual(lines);
    expect(texts(read(splitCsv(comma), text, [1]))).toEqual(lines);
  });

  it('know the line in which they begin, and where the next one does', () => {
    const found = read(splitCsv(comma), 'a\n"b\nb"\nc\n', [3]);
    expect(found.map(({ line }) => line)).toEqual([1, 2, 4]);
    expect(found.map(({ after }) => after)).toEqual([
      { offset: 2, line: 2 },
      { offset: 8, line: 4 },
      { offset: 10, line: 5 },
    ]);
  });

  it('can be continued from the end of any of them', () => {
    const text = 'a\n"b\nb"\n\nc,"d"\ne';
    const all = read(splitCsv(comma), text);
    for (const [i, { after }] of all.entries()) {
      const rest = read(splitCsv(comma, after), text.slice(after.offset));
      expect(rest).toEqual(all.slice(i + 1));
    }
  });

  it('of JSON can be continued, too', () => {
    const text = '{"ok":true,"users":[{"a":1},\n{"b":{}}]}\n{"users":[{"c":"]"}]}';
    const all = read(splitObjects(2), text);
    expect(all).toHaveLength(3);
    for (const [i, { after }] of all.entries()) {
      expect(read(splitObjects(2, after), text.slice(after.offset))).toEqual(all.slice(i + 1));
    }
  });

  it('are cut where they are too long, and what follows is read', () => {
    const [long, next] = read(splitCsv(comma), `"${'x'.repeat(10_000_000)}",a\nb,c\n`, [65_536]);
    expect(long?.fault).toMatch(/at most 256 KiB/);
    expect(long?.bytes.length).toBeLessThan(2_000);
    expect(next).toMatchObject({ line: 2, fault: null });
    const fits = read(splitLines(), `${'x'.repeat(recordBytesMax)}\n`, [1000]);
    expect(fits.map(({ fault }) => fault)).toEqual([null]);
  });

  it('say where a quote was never closed', () => {
    const found = read(splitCsv(comma), 'a,b\n"c,d\ne,f\n');
    expect(found.map(({ line, fault }) => [line, fault === null])).toEqual([
      [1, true],
      [2, false],
    ]);
  });

  it.each([
    ['a list', 1, '[{"a":1}, {"b":"}]"},\n{"c":[{}]}]', ['{"a":1}', '{"b":"}]"}', '{"c":[{}]}']],
    ['a list in an object', 2, '{"ok":true,"users":[{"a":"\\""},{"b":{}}],"next":{}}', ['{"a":"\\""}', '{"b":{}}']],
    ['pages one after the other', 2, '{"users":[{"a":1}]}\n{"users":[{"b":2}]}', ['{"a":1}', '{"b":2}']],
    ['an empty list', 1, '[]', []],
  ])('of JSON: %s', (_what, depth, text, objects) => {
    expect(texts(read(splitObjects(depth), text))).toEqual(objects);
    expect(texts(read(splitObjects(depth), text, [1]))).toEqual(objects);
  });

  it('are the same however the bytes arrive', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é', ' ') });
    const lines = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1 });
    fc.assert(
      fc.property(lines, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (rows, sizes) => {
        const text = rows
          .map((row) => `${row.map((field) => `"${field.replaceAll('"', '""')}"`).join(',')}\n`)
          .join('');
        const records = read(splitCsv(comma), text, sizes);
        expect(records.map(({ bytes }) => readFields(bytes.toString(), ','))).toEqual(rows);
      }),
    );
  });
});

describe('the fields of a line', () => {
  it.each([
    ['a,b', ['a', 'b']],
    [',', ['', '']],
    ['', ['']],
    ['"a,b",c', ['a,b', 'c']],
    ['"a""b"', ['a"b']],
    ['"",x', ['', 'x']],
    ['a"b,c', ['a"b', 'c']],
    [' "a" ,b', [' "a" ', 'b']],
  ])('%j', (text, fields) => {
    expect(readFields(text, ',')).toEqual(fields);
  });

  it.each(['"a"b,c', '"a', '"a""', 'x,"y'])('%j cannot be read', (text) => {
    expect(readFields(text, ',')).toBeUndefined();
  });

  it('read back as they were written', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (fields) => {
        expect(readFields(fields.map(writeCell).join(','), ',')).toEqual(fields);
      }),
    );
  });
});
