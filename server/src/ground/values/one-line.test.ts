import { describe, expect, it } from 'vitest';
import { inOneLine, isOneLine } from './one-line.ts';

describe('a name', () => {
  it.each([
    ...['Shop', 'Zoë & Söhne', 'متجر', 'می\u200Cخواهم', 'क्\u200Dष', '東京', '葛\u{E0100}城', 'Zoe\u0308'],
    ...[
      '👩\u200D💻',
      '👩🏽\u200D🚀',
      '❤\uFE0F\u200D🔥',
      '1\uFE0F\u20E3',
      '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    ],
  ])('may be %s', (name) => {
    expect(isOneLine(name)).toBe(true);
    expect(inOneLine(name, '?')).toBe(name);
  });

  it.each([
    ['a line break', 'a\nb'],
    ['an escape of a terminal', 'a\u001B[2J'],
    ['a reversal', 'invoice\u202Efdp.exe'],
    ['an isolate', 'a\u2066b\u2069'],
    ['a mark of direction', 'a\u200Fb'],
    ['a character of no width', 'admin\u200B'],
    ['a byte order mark', '\uFEFFadmin'],
    ['a word joiner', 'ad\u2060min'],
    ['a line separator', 'a\u2028b'],
    ['a soft hyphen', 'ad\u00ADmin'],
    ['a joiner after Latin', 'ad\u200Dmin'],
    ['a joiner at the end', 'متجر\u200C'],
    ['two joiners', 'می\u200C\u200Cخ'],
    ['a joiner between accented Latin', 'e\u0301\u200Dx'],
    ['a selector after Latin', 'admin\uFE0F'],
    ['a tag', 'admin\u{E0041}'],
    ['a Hangul filler', 'ad\u3164min'],
    ['a combining grapheme joiner', 'ad\u034Fmin'],
    ['a Mongolian vowel separator', 'ad\u180Emin'],
    ['a deprecated control', 'ad\u206Amin'],
    ['an annotation', 'ad\uFFF9min'],
    ['an empty cell of Braille', 'ad\u2800min'],
  ])('holds no %s, and is shown without it', (_what, name) => {
    expect(isOneLine(name)).toBe(false);
    expect(isOneLine(inOneLine(name, '?'))).toBe(true);
  });

  it('is well-formed', () => {
    expect(isOneLine('a\uD800')).toBe(false);
  });
});
