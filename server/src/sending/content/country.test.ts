import { describe, expect, test } from 'vitest';
import { ApiError } from '../../ground/http/api-error.ts';
import { validate } from '../../ground/http/validate.ts';
import { canonicalCountry, countryField } from './country.ts';

const pairsOfLetters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].flatMap((a) =>
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].map((b) => a + b),
);

describe('a country', () => {
  test('is one of the 249 codes of ISO 3166-1, or XK', () => {
    const known = pairsOfLetters.filter((code) => canonicalCountry(code) === code);
    expect(known).toHaveLength(250);
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
    expect(known.filter((code) => names.of(code) === undefined)).toEqual([]);
  });

  test.each([
    ['de', 'DE'],
    ['Gb', 'GB'],
    ['xk', 'XK'],
    ['UK', null],
    ['EU', null],
    ['DEU', null],
    ['', null],
    ['ß', null],
    ['ﬁ', null],
  ])('%j is stored as %j', (text, stored) => {
    expect(canonicalCountry(text)).toBe(stored);
  });

  test('the 400 for UK suggests GB', () => {
    expect(() => validate(countryField, 'uk')).toThrow(ApiError);
    expect(() => validate(countryField, 'uk')).toThrow(/write 'GB'/);
    expect(validate(countryField, 'gb')).toBe('GB');
  });
});
