import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validate } from '../http/validate.ts';
import {
  canonicalLanguage,
  canonicalLocale,
  languageField,
  languageOfDelivery,
  localeField,
  pickLocale,
} from './locales.ts';

describe('a language', () => {
  test.each([
    ['de', 'de'],
    ['DE', 'de'],
    ['pt-br', 'pt-BR'],
    ['ZH-hant-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['CA-es-VALENCIA', 'ca-ES-valencia'],
    ['sl-rozaj-1994', 'sl-rozaj-1994'],
    ['fil', 'fil'],
    ['iw', 'iw'],
  ])('%j is stored in canonical case as %j', (text, stored) => {
    expect(canonicalLanguage(text)).toBe(stored);
    expect(validate(languageField, text)).toBe(stored);
  });

  test.each(['', 'd', 'germ', 'de_DE', 'de-', '-de', 'de-D', 'de--DE', 'de-123456789', 'dé', ' de', 'de\n'])(
    '%j is refused',
    (text) => {
      expect(canonicalLanguage(text)).toBeNull();
      expect(() => validate(languageField, text)).toThrow();
    },
  );

  test('has at most 35 characters', () => {
    expect(canonicalLanguage(`de${'-abcdefgh'.repeat(3)}-abcde`)).toHaveLength(35);
    expect(canonicalLanguage(`de${'-abcdefgh'.repeat(3)}-abcdef`)).toBeNull();
  });

  test('canonical case is stable: canonical in, the same out', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/), (tag) => {
        const once = canonicalLanguage(tag);
        expect(once?.toLowerCase()).toBe(tag.toLowerCase());
        expect(canonicalLanguage(once ?? '')).toBe(once);
      }),
    );
  });
});

describe("a device's locale", () => {
  test.each([
    ['de-de', 'de-DE'],
    ['zh-hant-TW', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['EN', 'en'],
    ['fil', 'fil'],
    ['fil-PH', 'fil-PH'],
  ])('%j is stored as %j', (text, stored) => {
    expect(canonicalLocale(text)).toBe(stored);
    expect(validate(localeField, text)).toBe(stored);
  });

  test.each(['', 'd', 'german', 'de_DE', 'de-', 'de-DEU', 'de-1', 'zh-Hant', 'de-DE-1996', 'x-de', 'de-DE '])(
    '%j is refused',
    (text) => {
      expect(canonicalLocale(text)).toBeNull();
      expect(() => validate(localeField, text)).toThrow();
    },
  );
});

describe('the language a person gets', () => {
  const locales = new Set(['de', 'pt-BR', 'zh', 'zh-Hant-TW', 'en-US']);
  test.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['pt-BR', 'pt-BR'],
    ['pt-PT', null],
    ['pt', null],
    ['zh-Hant-TW', 'zh-Hant-TW'],
    ['zh-Hant-HK', 'zh'],
    ['en', null],
    ['en-US', 'en-US'],
    ['deu', null],
    ['fr', null],
    [null, null],
  ])('of %j is the entry %j: the exact tag, else the bare language, else none', (language, entry) => {
    expect(pickLocale(locales, language)).toBe(entry);
  });

  test("is the user's, else the device's", () => {
    expect(languageOfDelivery('de', 'fr-FR')).toBe('de');
    expect(languageOfDelivery(null, 'fr-FR')).toBe('fr-FR');
    expect(languageOfDelivery(null, null)).toBeNull();
  });
});
