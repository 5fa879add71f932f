import { describe, expect, it } from 'vitest';
import { ApiError } from './api-error.ts';
import { isStorable, parseJson } from './json.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, i) => `"${i}":[":",{"a":0}]`).join()}}`;
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

function refusal(given: Buffer): ApiError {
  try {
    parseJson(given);
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  return expect.unreachable('the body is not refused');
}

describe('parseJson', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a":[1,2.5,-3e2,true,false,null]}', { a: [1, 2.5, -300, true, false, null] }],
    ['a scalar', '"text"', 'text'],
    ['white space around', ' \n\t{} \r\n', {}],
    ['characters of four bytes', '"🔔"', '🔔'],
    ['an escaped surrogate pair', '"\\ud83d\\udd14"', '🔔'],
    ['of a key given twice the last', '{"a":1,"b":2,"a":3}', { a: 3, b: 2 }],
    ['no byte order mark before the first value', '\ufeff{"a":1}', { a: 1 }],
    ['a byte order mark inside of a string', '"\ufeffa"', '\ufeffa'],
    ['32 levels', nested(32), JSON.parse(nested(32))],
    ['1,000 members of an object', members(1000), JSON.parse(members(1000))],
    ['many objects side by side', `[${members(600)},${members(600)}]`, JSON.parse(`[${members(600)},${members(600)}]`)],
    ['many levels side by side', `[${'[[]],'.repeat(1000)}0]`, JSON.parse(`[${'[[]],'.repeat(1000)}0]`)],
    ['brackets in strings', `["${'['.repeat(100)}","\\"${'{'.repeat(100)}"]`, ['['.repeat(100), `"${'{'.repeat(100)}`]],
    ['a backslash at the end of a string', '["\\\\",[]]', ['\\', []]],
  ])('reads %s', (_what, text, value) => {
    expect(parseJson(bytes(text))).toEqual(value);
  });

  it.each<[string, Buffer]>([
    ['nothing', bytes('')],
    ['half an object', bytes('{"a":')],
    ['two values', bytes('{} {}')],
    ['a trailing comma', bytes('[1,]')],
    ['a comment', bytes('{} // end')],
    ['a raw line break in a string', bytes('"\n"')],
    ['a raw zero', bytes('"\u0000"')],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a second byte order mark', bytes('\ufeff\ufeff{}')],
    ['nothing but a byte order mark', bytes('\ufeff')],
    ['33 levels', bytes(nested(33))],
    ['1,001 members of an object', bytes(members(1001))],
    ['1,001 members of an inner object', bytes(`{"a":[${members(3)},${members(1001)}]}`)],
    ['one key 1,001 times', bytes(`{${Array(1001).fill('"a":1').join()}}`)],
    ['33 levels that never close', bytes('['.repeat(33))],
    ['33 levels of both kinds', bytes('{"a":['.repeat(17))],
  ])('R-70 refuses %s', (_what, given) => {
    expect(refusal(given)).toMatchObject({
      code: 'invalid_json',
      status: 400,
      details: { issues: [{ path: [], code: 'invalid_json' }] },
    });
  });

  it.each<[string, string, readonly unknown[]]>([
    ['U+0000', '{"a":"x\\u0000y"}', [['a']]],
    ['a high surrogate alone', '{"a":"\\ud800"}', [['a']]],
    ['a low surrogate alone', '{"a":"\\udc00"}', [['a']]],
    ['a pair the wrong way round', '{"a":"\\udc00\\ud800"}', [['a']]],
    ['one inside of lists', '{"a":[{"b":["","\\u0000"]}]}', [['a', 0, 'b', 1]]],
    ['a string alone', '"\\u0000"', [[]]],
    ['a key, named by its object', '{"a":{"\\u0000":1}}', [['a']]],
    ['each of several', '{"a":"\\u0000","b":"fine","c":["\\ud800"]}', [['a'], ['c', 0]]],
  ])('R-71 names where a string cannot be stored: %s', (_what, text, paths) => {
    const { code, details } = refusal(bytes(text));
    expect(code).toBe('validation_failed');
    expect(details.issues?.map((issue) => issue.path)).toEqual(paths);
    for (const issue of details.issues ?? []) expect(issue.code).toBe('invalid_format');
  });

  it('R-72 keeps __proto__ as a key of its own and changes no prototype', () => {
    const value = parseJson(bytes('{"__proto__":{"polluted":true}}')) as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect('polluted' in value).toBe(false);
    expect('polluted' in {}).toBe(false);
  });

  it('changes no byte that it was handed', () => {
    const given = bytes('{"a":"\\u0041"}');
    const before = Buffer.from(given);
    parseJson(given);
    expect(given.equals(before)).toBe(true);
  });
});

describe('isStorable', () => {
  it.each([
    ['', true],
    ['text', true],
    ['🔔', true],
    ['\u0001\u007f\u2028', true],
    ['\ufffd', true],
    ['\u0000', false],
    ['a\u0000b', false],
    ['\ud800', false],
    ['\udc00\ud800', false],
  ])('%j: %s', (text, answer) => {
    expect(isStorable(text)).toBe(answer);
  });
});

describe('where a body stops being JSON', () => {
  const long = `[${'"a",'.repeat(20_000)}`;

  it.each([
    ['{"a": 1,}', 'The body is not valid JSON: unexpected "}", at line 1, column 9.'],
    ['{"a": [1, 2', 'The body is not valid JSON: it ends too early, at line 1, column 12.'],
    [`[x,${long}`, 'The body is not valid JSON: unexpected "x", at line 1, column 2.'],
    [`${long}x]`, 'The body is not valid JSON.'],
    [long, 'The body is not valid JSON.'],
  ])('R-103 is said of its first 16 KiB: %.20s', (text, message) => {
    expect(refusal(bytes(text)).message).toBe(message);
  });
});
