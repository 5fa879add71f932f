import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../test/database.ts';
import { isStorable } from '../http/json.ts';
import { json, Parameter, parserOf, textOf, typeOf } from './values.ts';

const textArray = 1009;

const { sql } = await createTestDatabase();

describe('a value', () => {
  const bytes = Buffer.from([0, 1, 255]);

  it('returns from the server as it was sent, with the type of its column', async () => {
    const at = new Date('2026-02-03T04:05:06.789Z');
    const [row] = await sql`
      SELECT ${true} AS flag, ${at} AS at, ${bytes} AS bytes, ${12n} AS big, ${1.5}::float8 AS part,
        ${[1, null, 3]}::int[] AS numbers, ${['a', null]}::text[] AS words, ${[at]}::timestamptz[] AS times,
        ${[bytes]}::bytea[] AS pieces, ${[true, false]}::bool[] AS flags, ${[[1, 2], [3, 4]]}::int[] AS grid,
        ${sql.json({ 'a b': [1, null] })} AS document, ${sql.json(['x'])}::jsonb AS list,
        9007199254740991::int8 AS most, 1.50::numeric AS price, '[0:1]={7,8}'::int[] AS from_zero, '{}'::text[] AS none,
        ARRAY['{"a": 1}'::jsonb] AS documents, date '2026-02-03' AS day, NULL AS nothing`;
    expect(row).toEqual({
      flag: true,
      at,
      bytes,
      big: 12,
      part: 1.5,
      numbers: [1, null, 3],
      words: ['a', null],
      times: [at],
      pieces: [bytes],
      flags: [true, false],
      grid: [
        [1, 2],
        [3, 4],
      ],
      document: { 'a b': [1, null] },
      list: ['x'],
      most: Number.MAX_SAFE_INTEGER,
      price: '1.50',
      fromZero: [7, 8],
      none: [],
      documents: [{ a: 1 }],
      day: new Date('2026-02-03T00:00:00.000Z'),
      nothing: null,
    });
  });

  it('is declared with its type only where its form does not show it', () => {
    expect([true, 1n, new Date(0), bytes, 1, 'a', null, [true]].map(typeOf)).toEqual([16, 20, 1184, 17, 0, 0, 0, 0]);
  });

  it.each([
    ['nothing', undefined, /undefined/],
    ['no document', new Parameter(undefined, json.jsonb), /undefined/],
    ['an object', { a: 1 }, /object/],
    ['an object in a list', [{ a: 1 }], /object/],
  ])('that is %s is refused before it is sent', (_what, value, words) => {
    expect(() => textOf(value)).toThrow(words);
  });

  it('in a list of any texts reaches the server as it was, whatever it looks like', async () => {
    const given = ['', 'NULL', 'null', '{a,b}', '"', '\\', '\\"', ' a ', 'a,b', 'é😀', '\n\t', "'; --"];
    const text = fc.oneof(fc.constantFrom(...given), fc.string({ unit: 'grapheme' }).filter(isStorable));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text, { nil: null })), async (values) => {
        const [row] = await sql`SELECT to_json(${values}::text[]) AS read`;
        expect(row?.['read']).toEqual(values);
      }),
      { numRuns: 60 },
    );
  });

  it('in a list of any texts, also in lists of lists, is read as it was written', () => {
    const word = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'NULL', '{', '}', ',', '"', '\\', ' a '));
    const list = fc.array(fc.option(word), { minLength: 1 });
    fc.assert(
      fc.property(fc.oneof(list, fc.array(list, { minLength: 1 })), (values) => {
        expect(parserOf(textArray)(textOf(values) as string)).toEqual(values);
      }),
    );
  });
});
