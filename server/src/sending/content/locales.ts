// Language tags: their form, their canonical form, and the choice of a message's language for a
// person. Pure; knows no message.
import { z } from 'zod';
import { text } from '../../ground/http/schemas.ts';
import { issueOf } from '../../ground/values/issue.ts';

/** Contract 9: two or three letters, then any subtags of two to eight. */
export const languagePattern = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/;
export const languageLengthMax = 35;
const localeLengthMax = 128;

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

// An extended language counts as its own language (RFC 5646, 4.5): `zh-yue` is `yue`. Intl refuses
// these tags. Only Chinese ones are read, because three letters elsewhere are usually a country
// (`en-USA`), although most are also the code of some language.
const extended = /^(?:zh-min|zh)-(?=(?:cdo|cjy|cmn|cnp|cpx|csp|czh|czo|gan|hak|hsn|lzh|mnp|nan|wuu|yue)(?:-|$))/i;

/**
 * The canonical form of a tag (UTS 35, as `Intl.getCanonicalLocales`): `iw` is `he`, `in` is `id`.
 * Null when the text is no tag.
 */
function canonicalForm(text: string): string | null {
  try {
    const [form = ''] = Intl.getCanonicalLocales(text.replace(extended, ''));
    // Longer words are reserved (RFC 5646, 2.2.1): no language is `posix` or `german`.
    return /^[a-z]{2,3}(?:-|$)/.test(form) ? form : null;
  } catch {
    return null;
  }
}

// `zh_TW_#Hant` and `sr__#Latn`: Locale.toString() of Java puts the script last.
const javaForm = /^([a-z]{2,3})_([a-z]{2}|[0-9]{3})?_#([a-z]{4})(?![a-z0-9])/i;
// The language and region of a locale of Java. A variant after the region may have any form, as in
// `ja_JP_JP`, and is dropped.
const javaHead = /^[a-z]{2,3}(?:(?=__)|_(?:[a-z]{2}|[0-9]{3})(?=_))/i;
// Java writes a variant that BCP 47 does not allow as a private part, behind a calendar too, where
// Intl refuses it: `ja-JP-u-ca-japanese-x-lvariant-JP`.
const privatePart = /-x-.*$/i;
// POSIX writes a script as a modifier: `sr_RS@latin`.
const posixScripts = [
  [/@latin/i, 'Latn'],
  [/@cyrillic/i, 'Cyrl'],
] as const;

/**
 * A device's locale (contract 8) in canonical form, or null when the text is not a locale. Reads
 * what browsers and phones report, also with underscores, an encoding (`en_US.UTF-8`) or keywords
 * (`de_DE@calendar=gregorian`).
 */
export function canonicalLocale(text: string): string | null {
  if (text.length > localeLengthMax) return null;
  const [, language, region, script] = javaForm.exec(text) ?? [];
  if (script !== undefined) return canonicalForm([language, script, region].filter(Boolean).join('-'));
  const [tag = ''] = text.split(/[.@#]/);
  const [, named] = posixScripts.find(([modifier]) => modifier.test(text)) ?? [];
  const scripted = named === undefined ? tag : tag.replace(/(?=[-_]|$)/, `-${named}`);
  const [head] = javaHead.exec(tag) ?? [];
  return formOf(scripted) ?? formOf(scripted.replace(privatePart, '')) ?? (head === undefined ? null : formOf(head));
}

function formOf(tag: string): string | null {
  return canonicalForm(tag.replaceAll('_', '-').replace(/--?$/, ''));
}

/**
 * Former and present codes of languages whose code changed, as far as browsers and phones report
 * them.
 */
const formerCodes = [
  ['iw', 'he'],
  ['in', 'id'],
  ['ji', 'yi'],
  ['jw', 'jv'],
  ['mo', 'ro'],
  ['tl', 'fil'],
  ['sh', 'sr-Latn'],
] as const;

/**
 * Every spelling under which a filter's `language` or `device.locale` may be stored: the canonical
 * form, the given one, and those with a former code of the language.
 */
export function spellingsOf(text: string): string[] {
  const form = canonicalLocale(text);
  if (form === null) return [text];
  const former = formerCodes.flatMap(([code, now]) =>
    form === now || form.startsWith(`${now}-`) ? [code + form.slice(now.length)] : [],
  );
  return [...new Set([form, canonicalLanguage(text) ?? text, ...former])];
}

/**
 * Every spelling under which the beginning of a locale may be stored. If the language's code
 * changed, these include the spellings with its other codes.
 */
export function spellingsOfStart(text: string): string[] {
  const others = formerCodes.flatMap((codes) =>
    codes.flatMap((code, index) => {
      const isThere = text === code || text.startsWith(`${code}-`);
      return isThere ? [codes[1 - index] + text.slice(code.length)] : [];
    }),
  );
  return [text, ...others];
}

/** A language tag, kept as written. */
export const languageTag = text(languageLengthMax).regex(languagePattern, {
  error: 'A language is a tag such as de or pt-BR.',
});

/** A `language` field, which comes out in canonical case. */
export const languageField = languageTag.transform(canonicalCase);

/** A device's `locale` field, which comes out in canonical form. */
export const localeField = z
  .string()
  .transform((text, ctx): string => {
    const form = canonicalLocale(text);
    if (form !== null) return form;
    const message = 'A locale is a language tag, such as de-DE, zh-Hant or pt_BR.';
    ctx.issues.push(issueOf({ path: [], code: 'invalid_format', message }, text));
    return z.NEVER;
  })
  .meta({ maxLength: localeLengthMax });

/**
 * The language of a delivery: the language of its user, or else the locale of its device (contract
 * 7.1).
 */
export function languageOfDelivery(userLanguage: string | null, deviceLocale: string | null): string | null {
  return userLanguage ?? deviceLocale;
}

/** A tag that `Intl` accepts; `en` without a language. */
export function languageForNames(language: string | null): string {
  const [bare = 'en'] = language?.split('-') ?? [];
  return canonicalForm(language ?? 'en') ?? canonicalForm(bare) ?? 'en';
}

/** Finds the entry of `content.locales` for a language; null stands for the top level. */
export type PickLocale = (language: string | null) => string | null;

const pickedMax = 1_000;

/**
 * Chooses among the keys of `content.locales` (contract 7.1): the whole tag; language, script and
 * region; language and script; language and region; the bare language. Tags are compared in
 * canonical form. If two keys mean the same tag, the key that is spelled like the person's tag
 * wins, then the canonical key.
 */
export function createLocalePicker(tags: readonly string[]): PickLocale {
  if (tags.length === 0) return () => null;
  const byForm = new Map<string, string>();
  for (const tag of tags) {
    const form = comparedForm(tag);
    if (!byForm.has(form) || tag === form) byForm.set(form, tag);
  }
  const given = new Set(tags);
  // Devices of a message have few languages, and reading a tag costs microseconds.
  const picked = new Map<string, string | null>();
  return (language) => {
    if (language === null) return null;
    if (given.has(language)) return language;
    const known = picked.get(language);
    if (known !== undefined) return known;
    const form = candidatesFor(language).find((candidate) => byForm.has(candidate));
    const found = form === undefined ? null : (byForm.get(form) ?? null);
    if (picked.size >= pickedMax) picked.clear();
    picked.set(language, found);
    return found;
  };
}

/** Norwegian `no` counts as `nb` here. CLDR keeps the two apart, but devices report both for one language. */
function comparedForm(tag: string): string {
  return (canonicalForm(tag) ?? canonicalCase(tag)).replace(/^no(?=-|$)/, 'nb');
}

function candidatesFor(tag: string): string[] {
  const form = comparedForm(tag);
  const [bare = form] = form.split('-');
  // A tag that names no language, or that Intl does not read.
  if (bare === 'und' || canonicalForm(form) === null) return bare === 'und' ? [form] : [form, bare];
  const locale = new Intl.Locale(form);
  const { language, region } = locale;
  const script = locale.script ?? locale.maximize().script;
  const joined = (...parts: (string | undefined)[]): string => parts.filter(Boolean).join('-');
  return [form, joined(language, script, region), joined(language, script), joined(language, region), language];
}
