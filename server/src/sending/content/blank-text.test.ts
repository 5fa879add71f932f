import { describe, expect, test } from 'vitest';
import { isBlank } from './blank-text.ts';

describe('a text that shows nothing', () => {
  test.each([
    ['nothing', ''],
    ['blanks and line breaks', ' \t\r\n\u000b'],
    ['a no-break space', '\u00a0\u202f'],
    ['an ideographic space', '\u3000'],
    ['a zero width space', '\u200b'],
    ['a word joiner and a byte order mark', '\u2060\ufeff'],
    ['a soft hyphen', '\u00ad'],
    ['a braille pattern without dots', '\u2800'],
    ['Hangul fillers', '\u115f\u1160\u3164\uffa0'],
    ['marks of direction', '\u200e\u202b\u2069\u061c'],
    ['a grapheme joiner and variation selectors', '\u034f\ufe0f\u{e0100}'],
    ['a tag character', '\u{e0041}'],
    ['control characters', '\u0001\u001b\u0085'],
    ['all together', ' \u200b\u00ad\u2800\n'],
  ])('%s is blank', (_what, text) => {
    expect(isBlank(text)).toBe(true);
  });

  test.each([
    ['a letter', 'a'],
    ['a letter among invisible ones', '\u200b\u00ada\u2800'],
    ['an emoji', '🎉'],
    ['an emoji with a variation selector', '❤️'],
    ['a family joined by zero width joiners', '👨‍👩‍👧'],
    ['a flag made of tag characters', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
    ['punctuation', '.'],
    ['a braille pattern with a dot', '\u2801'],
    ['a digit', '0'],
    ['a character for private use, which icon fonts draw', '\ue000'],
  ])('%s is not', (_what, text) => {
    expect(isBlank(text)).toBe(false);
  });
});
