import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validate } from '../../ground/http/validate.ts';
import {
  canonicalLanguage,
  canonicalLocale,
  createLocalePicker,
  languageField,
  languageOfDelivery,
  localeField,
  spellingsOf,
  spellingsOfStart,
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
    ['fil-PH', 'fil-PH'],
    ['zh-Hant', 'zh-Hant'],
    ['pt_BR', 'pt-BR'],
    ['en_US.UTF-8', 'en-US'],
    ['de_DE@calendar=gregorian', 'de-DE'],
    ['zh-Hant_TW', 'zh-Hant-TW'],
    ['zh_TW_#Hant', 'zh-Hant-TW'],
    ['sr__#Latn', 'sr-Latn'],
    ['ja_JP_#u-ca-japanese', 'ja-JP'],
    ['ca-ES-valencia', 'ca-ES-valencia'],
    ['de-1996', 'de-1996'],
    ['en-US-u-hc-h12', 'en-US-u-hc-h12'],
    ['iw', 'he'],
    ['in-ID', 'id-ID'],
    ['ji', 'yi'],
    ['tl-PH', 'fil-PH'],
    ['mo', 'ro'],
    ['sh', 'sr-Latn'],
    ['no-NO', 'no-NO'],
    ['zh-cmn-Hans-CN', 'zh-Hans-CN'],
    ['zh-yue-HK', 'yue-HK'],
    ['zh-min-nan', 'nan'],
    ['de-DD', 'de-DE'],
    ['und', 'und'],
    ['en_US_POSIX', 'en-US-u-va-posix'],
    ['en__POSIX', 'en'],
    ['ja-JP-u-ca-japanese-x-lvariant-JP', 'ja-JP-u-ca-japanese'],
    ['de-x-shop', 'de-x-shop'],
    ['de_DE.ISO8859-1@euro', 'de-DE'],
    ['sr_RS@latin', 'sr-Latn-RS'],
    ['sr_RS.UTF-8@latin', 'sr-Latn-RS'],
    ['uz_UZ@Cyrillic', 'uz-Cyrl-UZ'],
    ['ja_JP_JP', 'ja-JP'],
    ['th_TH_TH_#u-nu-thai', 'th-TH'],
    ['de-x-formal', 'de-x-formal'],
  ])('%j is stored as %j', (text, stored) => {
    expect(canonicalLocale(text)).toBe(stored);
    expect(validate(localeField, text)).toBe(stored);
  });

  test.each([
    '',
    'd',
    'C',
    'POSIX',
    'german',
    '_GB',
    '-de',
    'de-D',
    'x-de',
    'de-DE ',
    'de,en',
    '*',
    'dé',
    `de-${'x'.repeat(9)}`,
    // A country code of three letters is no subtag, and must not count as a language.
    'en-USA',
    'ar-ARE',
    'zh-CHT',
    'de-DE-x',
  ])('%j is refused', (text) => {
    expect(canonicalLocale(text)).toBeNull();
    expect(() => validate(localeField, text)).toThrow();
  });

  test('the canonical form is stable: canonical in, the same out', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{2,3}([-_][A-Za-z]{4})?([-_][A-Z]{2})?$/), (text) => {
        const form = canonicalLocale(text);
        if (form !== null) expect(canonicalLocale(form)).toBe(form);
      }),
    );
  });
});

describe('the spellings that a filter compares with', () => {
  test.each([
    ['iw', ['he', 'iw']],
    ['HE', ['he', 'iw']],
    ['in-id', ['id-ID', 'in-ID']],
    ['tl', ['fil', 'tl']],
    ['sh', ['sr-Latn', 'sh']],
    ['sr-Latn-RS', ['sr-Latn-RS', 'sh-RS']],
    ['pt_BR', ['pt-BR', 'pt_BR']],
    ['de-DE', ['de-DE']],
    ['nb', ['nb']],
    ['no tag', ['no tag']],
  ])('of %j are %j', (text, spellings) => {
    expect(spellingsOf(text)).toEqual(spellings);
  });

  test.each([
    ['he', ['he', 'iw']],
    ['in-I', ['in-I', 'id-I']],
    ['inh', ['inh']],
    ['sr-Latn-', ['sr-Latn-', 'sh-']],
    ['IL', ['IL']],
  ])('that begin with %j begin with %j', (text, spellings) => {
    expect(spellingsOfStart(text)).toEqual(spellings);
  });
});

describe('the language a person gets', () => {
  const pick = (tags: string[], language: string | null): string | null => createLocalePicker(tags)(language);
  const tags = ['de', 'pt-BR', 'zh', 'zh-Hant-TW', 'en-US'];
  test.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['de-AT-1996', 'de'],
    ['deu', 'de'],
    ['pt-BR', 'pt-BR'],
    ['pt-BR-u-nu-latn', 'pt-BR'],
    ['pt-PT', null],
    ['pt', null],
    ['zh-Hant-TW', 'zh-Hant-TW'],
    ['zh-TW', 'zh-Hant-TW'],
    ['zh-Hant-HK', 'zh'],
    ['zh-cmn-Hans', 'zh'],
    ['zh-CHT', 'zh'],
    ['de-DEU', 'de'],
    ['ar-arz', null],
    ['en', null],
    ['en-US', 'en-US'],
    ['und', null],
    ['und-US', null],
    ['fr', null],
    [null, null],
  ])('of %j is the entry %j', (language, entry) => {
    expect(pick(tags, language)).toBe(entry);
  });

  test.each<[string, string[], string | null]>([
    ['zh-TW', ['zh', 'zh-Hant'], 'zh-Hant'],
    ['zh-HK', ['zh', 'zh-Hant'], 'zh-Hant'],
    ['zh-SG', ['zh', 'zh-Hant'], 'zh'],
    ['zh', ['zh-Hans', 'zh-Hant'], 'zh-Hans'],
    ['zh-TW', ['zh-Hant', 'zh-Hant-TW', 'zh-TW'], 'zh-TW'],
    ['zh-Hant-TW', ['zh-TW', 'zh-Hant'], 'zh-Hant'],
    ['zh-Hant-TW', ['zh-TW', 'zh'], 'zh-TW'],
    ['sr-ME', ['sr', 'sr-Latn'], 'sr-Latn'],
    ['sr-RS', ['sr-Latn'], null],
    ['sh', ['sr-Latn'], 'sr-Latn'],
    ['iw', ['he'], 'he'],
    ['he-IL', ['iw'], 'iw'],
    ['in', ['id'], 'id'],
    ['tl-PH', ['fil'], 'fil'],
    ['mo', ['ro'], 'ro'],
    ['no', ['nb'], 'nb'],
    ['nb-NO', ['no'], 'no'],
    ['nn', ['no', 'nb'], null],
    ['no', ['no', 'nb'], 'no'],
    ['iw', ['he', 'iw'], 'iw'],
    ['he-IL', ['iw', 'he'], 'he'],
    ['az-IR', ['az', 'az-Arab'], 'az-Arab'],
    ['en-GB-oed', ['en'], 'en'],
  ])('%j among %j is %j', (language, entries, entry) => {
    expect(pick(entries, language)).toBe(entry);
  });

  // An independent reading of the steps of contract 7.1, from the parts of a tag.
  test('agrees with an evaluator that walks the steps one by one', () => {
    const likely: Readonly<Record<string, string>> = {
      zh: 'Hans',
      'zh-TW': 'Hant',
      'zh-HK': 'Hant',
      sr: 'Cyrl',
      de: 'Latn',
    };
    const languages = fc.constantFrom('zh', 'sr', 'de');
    const scripts = fc.constantFrom('', 'Hant', 'Latn', 'Cyrl', 'Hans');
    const regions = fc.constantFrom('', 'TW', 'HK', 'DE');
    const parts = fc.tuple(languages, scripts, regions);
    const tagOf = (...subtags: readonly string[]): string => subtags.filter((part) => part !== '').join('-');
    fc.assert(
      fc.property(parts, fc.uniqueArray(parts.map((each) => tagOf(...each))), ([language, script, region], entries) => {
        const full = script || likely[tagOf(language, region)] || likely[language] || '';
        const steps = [
          tagOf(language, script, region),
          ...(region === '' ? [] : [tagOf(language, full, region)]),
          tagOf(language, full),
          ...(region === '' ? [] : [tagOf(language, region)]),
          language,
        ];
        const expected = steps.find((step) => entries.includes(step)) ?? null;
        expect(pick(entries, tagOf(language, script, region))).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("is the user's, else the device's", () => {
    expect(languageOfDelivery('de', 'fr-FR')).toBe('de');
    expect(languageOfDelivery(null, 'fr-FR')).toBe('fr-FR');
    expect(languageOfDelivery(null, null)).toBeNull();
  });
});
