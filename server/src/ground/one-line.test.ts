import { describe, expect, it } from 'vitest';
import { inOneLine, isOneLine } from './one-line.ts';

describe('a name', () => {
  it.each(['Shop', 'Zoë & Söhne', 'متجر', 'می\u200Cخواهم', '👩\u200D💻', '東京'])('may be %s', (name) => {
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
  ])('holds no %s, and is shown without it', (_what, name) => {
    expect(isOneLine(name)).toBe(false);
    expect(isOneLine(inOneLine(name, '?'))).toBe(true);
  });

  it('is well-formed', () => {
    expect(isOneLine('a\uD800')).toBe(false);
  });
});
