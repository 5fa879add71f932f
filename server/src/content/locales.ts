// Language tags: their form, their canonical case, and the choice of a message's language for a
// person. Pure; knows no message.
import { z } from 'zod';

/** Contract 9: two or three letters, then any subtags of two to eight. */
export const languagePattern = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
export const languageLengthMax = 35;

/**
 * Contract 8: `language-REGION` with an optional script between, or a language alone, as browsers
 * report it.
 */
const localePattern = /^[A-Za-z]{2,3}(?:(?:-[A-Za-z]{4})?-(?:[A-Za-z]{2}|[0-9]{3}))?$/;

/**
 * Canonical case (RFC 5646, 2.1.1): language lower, script Title, region UPPER, the rest lower.
 * Only the case changes. `iw` stays `iw`, because a caller must find the tag that they stored.
 */
export function canonicalCase(tag: string): string {
  return tag
    .split('-')
    .map((part, index) => {
      if (index > 0 && part.length === 2) return part.toUpperCase();
      if (index > 0 && part.length === 4) return part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
      return part.toLowerCase();
    })
    .join('-');
}

/** A language tag (contract 9) in canonical case, or null when the text is not a language tag. */
export function canonicalLanguage(text: string): string | null {
  return text.length <= languageLengthMax && languagePattern.test(text) ? canonicalCase(text) : null;
}

/** A device's locale (contract 8) in canonical case, or null when the text is not a locale. */
export function canonicalLocale(text: string): string | null {
  return localePattern.test(text) ? canonicalCase(text) : null;
}

/** A language tag, kept as written. */
export const languageTag = z
  .string()
  .max(languageLengthMax)
  .regex(languagePattern, { error: 'A language is a tag such as de or pt-BR.' });

/** A `language` field, which comes out in canonical case. */
export const languageField = languageTag.transform(canonicalCase);

/** A device's `locale` field, which comes out in canonical case. */
export const localeField = z
  .string()
  .regex(localePattern, { error: 'A locale is a language and a region, such as de-DE, or a bare language.' })
  .transform(canonicalCase);

/** The language of a delivery: its user's, or without one its device's locale (contract 7.1). */
export function languageOfDelivery(userLanguage: string | null, deviceLocale: string | null): string | null {
  return userLanguage ?? deviceLocale;
}

/**
 * The entry of `content.locales` for a language: the same tag, else its language alone, else null,
 * which stands for the top level. `language` must be in canonical case, as every stored language
 * is.
 */
export function pickLocale(locales: { has(tag: string): boolean }, language: string | null): string | null {
  if (language === null) return null;
  if (locales.has(language)) return language;
  const end = language.indexOf('-');
  if (end === -1) return null;
  const bare = language.slice(0, end);
  return locales.has(bare) ? bare : null;
}
