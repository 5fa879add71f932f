import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../test/database.ts';
import { json, Parameter, parserOf, textOf, typeOf } from './values.ts';

/** PostgreSQL has no text with a NUL, and UTF-8 has no half of a surrogate pair. */
const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

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
        ARRAY['{"a": 1}'::jsonb] AS documents, date '2026-02-03' AS day, NULL AS nothing,
        ARRAY[NULL, NULL]::int[] AS nothings, ARRAY['null'::jsonb, NULL] AS nulls, interval '1 day 02:00' AS span,
        ARRAY[interval '1 day', NULL] AS spans, ARRAY['NaN'::numeric, 'Infinity', -0.50] AS prices,
        ARRAY['infinity'::timestamptz, NULL] AS ends`;
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
      nothings: [null, null],
      nulls: [null, null],
      span: '1 day 02:00:00',
      spans: ['1 day', null],
      prices: ['NaN', 'Infinity', '-0.50'],
      ends: [Number.POSITIVE_INFINITY, null],
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
    const text = fc.oneof(fc.constantFrom(...given), fc.string({ unit: 'grapheme' }).filter(isText));
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

  it('of int8 beyond 2^53 is a bigint, in a list too, and never another number', async () => {
    const [row] = await sql`
      SELECT 9007199254740993::int8 AS more, (-9223372036854775808)::int8 AS least,
        ARRAY[1, 9223372036854775807]::int8[] AS list, sum(n)::int8 AS total
      FROM (VALUES (9007199254740992), (1)) AS v (n)`;
    expect(row).toEqual({
      more: 9007199254740993n,
      least: -9223372036854775808n,
      list: [1, 9223372036854775807n],
      total: 9007199254740993n,
    });
  });

  it.each([
    ["timestamptz '0044-03-15 12:00:00.5+00 BC'", '-000043-03-15T12:00:00.500Z'],
    ["timestamptz '0001-01-01 00:00:00+00 BC'", '0000-01-01T00:00:00.000Z'],
    ["timestamptz '0044-03-15 00:00:00+00'", '0044-03-15T00:00:00.000Z'],
    ["timestamptz '0099-12-31 23:59:59.123456+00'", '0099-12-31T23:59:59.123Z'],
    ["timestamptz '12026-01-01 00:00:00+00'", '+012026-01-01T00:00:00.000Z'],
    ["timestamptz '2026-02-03 04:05:06+02'", '2026-02-03T02:05:06.000Z'],
    ["timestamp '2026-07-03 04:05:06'", '2026-07-03T04:05:06.000Z'],
    ["date '0044-03-15 BC'", '-000043-03-15T00:00:00.000Z'],
    ["date '0044-03-15'", '0044-03-15T00:00:00.000Z'],
  ])('that is the instant %s is read as that instant, and written as it was read', async (instant, iso) => {
    const [row] = await sql.unsafe(`SELECT ${instant} AS at, ARRAY[${instant}] AS list`);
    expect(row?.['at'].toISOString()).toBe(iso);
    expect(row?.['list']).toEqual([row?.['at']]);
    const { at, list } = row ?? {};
    const [again] = await sql`SELECT ${at}::timestamptz AS at, ${list}::timestamptz[] AS list`;
    expect(again).toEqual({ at, list });
  });

  it('that is infinite compares with every date', async () => {
    const [row] = await sql`
      SELECT timestamptz 'infinity' AS last, timestamptz '-infinity' AS first, date 'infinity' AS day,
        'NaN'::float8 AS no_number, 'Infinity'::float8 AS most, 'NaN'::numeric AS no_numeric`;
    expect(row).toEqual({
      last: Number.POSITIVE_INFINITY,
      first: Number.NEGATIVE_INFINITY,
      day: Number.POSITIVE_INFINITY,
      noNumber: Number.NaN,
      most: Number.POSITIVE_INFINITY,
      noNumeric: 'NaN',
    });
  });

  it('that is the document null is no NULL, alone and in a list', async () => {
    const [row] = await sql`
      SELECT jsonb_typeof(${sql.json(null)}) AS document, ${sql.json(null)}::jsonb IS NULL AS is_missing,
        jsonb_typeof((${[sql.json(null), null, sql.json({ a: null })]}::jsonb[])[1]) AS first,
        ((${[sql.json(null), null]}::jsonb[])[2]) IS NULL AS is_second_missing`;
    expect(row).toEqual({ document: 'null', isMissing: false, first: 'null', isSecondMissing: true });
  });
});
