// Schemas of the kinds of fields in content: personalized text, plain text, urls and data. Lengths
// are checked before a template is read, because the cost of reading grows with them.
import { z } from 'zod';
import { text } from '../../ground/http/schemas.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { type Issue, issueOf } from '../../ground/values/issue.ts';
import { type UrlUse, urlProblem } from './content-url.ts';
import { canonicalLanguage, languageLengthMax, languagePattern } from './locales.ts';
import { parseTemplate, type TemplateUse } from './template.ts';
import { hasTags } from './template-grammar.ts';

const urlLengthMax = 2048;
const dataValueLengthMax = 2048;
const dataKeysMax = 20;
const localesMax = 100;

type Context = z.core.$RefinementCtx;

/** Adds an issue, and lets the other checks go on. */
export function report(ctx: Context, issue: Issue): void {
  ctx.issues.push({ ...issueOf(issue, ctx.value), continue: true });
}

/** Text that is personalized. */
export function templateText(lengthMax: number) {
  return text(lengthMax, 0, { abort: true }).superRefine((source, ctx) => {
    checkTemplate(ctx, source, 'text', []);
  });
}

/** Text that is sent as written. A tag in it is refused, because people would see the tag. */
export function plainText(lengthMax: number, lengthMin = 0) {
  return text(lengthMax, lengthMin).superRefine((source, ctx) => {
    checkPlain(ctx, source);
  });
}

/** A url that may be personalized after its host (contract 7.2). */
export function templateUrl(use: UrlUse) {
  return text(urlLengthMax, 0, { abort: true }).superRefine((source, ctx) => {
    const texts = checkTemplate(ctx, source, 'url', []);
    if (texts) checkUrl(ctx, texts, use);
  });
}

/** The address of a picture, without tags. */
export const plainHttpsUrl = text(urlLengthMax, 0, { abort: true }).superRefine((source, ctx) => {
  if (checkPlain(ctx, source)) checkUrl(ctx, [source], 'https');
});

const resourceName = /^[A-Za-z0-9_]*$/;

/**
 * An `icon`: for browsers an https URL, for Android the name of a drawable in the app. `any`
 * accepts both, and each channel uses the kind that it can.
 */
export function icon(kind: 'url' | 'resource' | 'any') {
  return text(urlLengthMax, 0, { abort: true }).superRefine((source, ctx) => {
    const texts = checkTemplate(ctx, source, 'url', []);
    if (!texts) return;
    const isResource = source !== '' && texts.every((text) => resourceName.test(text));
    if (kind === 'url' || (kind === 'any' && !isResource)) checkUrl(ctx, texts, 'https');
    else if (!isResource) {
      const message = 'On Android an icon is the name of a resource in the app: letters, digits and underscores.';
      report(ctx, { path: [], code: 'invalid_format', message });
    }
  });
}

/** 1 to 64 visible ASCII characters, which every channel accepts as a collapse key. */
export const visibleAscii = plainText(64, 1).regex(/^[\u0021-\u007e]*$/, {
  error: 'Only visible ASCII characters are allowed.',
});

const dataKey = /^[A-Za-z0-9_.-]{1,64}$/;
const reservedKeys = new Set(['aps', 'url', 'image_url', 'from', 'message_type']);
const reservedPrefix = /^(?:google|gcm|carillon)/;

/**
 * Custom data. The given object itself is kept, because a copy by the schema library would lose a
 * key named `__proto__`.
 */
export const dataField = z
  .unknown()
  .superRefine((value, ctx) => {
    if (!isRecord(value)) {
      report(ctx, { path: [], code: 'invalid_type', message: 'data must be an object.' });
      return;
    }
    const entries = Object.entries(value);
    if (entries.length > dataKeysMax) {
      report(ctx, { path: [], code: 'too_big', message: `data holds at most ${dataKeysMax} keys.` });
      return;
    }
    for (const [key, item] of entries) checkDataEntry(ctx, key, item);
  })
  .transform((value) => value as Readonly<Record<string, string | number | boolean>>)
  .meta({
    type: 'object',
    maxProperties: dataKeysMax,
    propertyNames: { pattern: dataKey.source },
    additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: dataValueLengthMax },
  });

/**
 * An object by language tag. Its keys come out in canonical case, and each language may occur once.
 */
export function byLocale<Entry extends z.ZodType>(entry: Entry) {
  return z
    .preprocess(
      (value, ctx) => {
        if (!isRecord(value)) return value;
        const tags = Object.keys(value);
        if (tags.length > localesMax) {
          ctx.issues.push(
            issueOf({ path: [], code: 'too_big', message: `At most ${localesMax} languages are allowed.` }),
          );
          return value;
        }
        const entries = new Map<string, unknown>();
        for (const tag of tags) {
          const canonical = canonicalLanguage(tag);
          const message =
            canonical === null
              ? `'${tag.slice(0, 35)}' is not a language tag.`
              : `The language ${canonical} is given twice.`;
          if (canonical === null || entries.has(canonical)) {
            ctx.issues.push(
              issueOf({ path: [tag], code: canonical === null ? 'invalid_format' : 'invalid_value', message }),
            );
          } else entries.set(canonical, value[tag]);
        }
        return Object.fromEntries(entries);
      },
      z.record(z.string(), entry),
    )
    .meta({
      maxProperties: localesMax,
      propertyNames: { pattern: languagePattern.source, maxLength: languageLengthMax },
    });
}

function checkDataEntry(ctx: Context, key: string, value: unknown): void {
  const path = [key];
  if (!dataKey.test(key)) {
    const message = 'A key of data is 1 to 64 letters, digits, dots, hyphens or underscores.';
    report(ctx, { path, code: 'invalid_format', message });
  } else if (reservedKeys.has(key) || reservedPrefix.test(key)) {
    report(ctx, { path, code: 'reserved_key', message: `The key '${key}' is reserved.` });
  } else if (typeof value === 'string') {
    if (value.length <= dataValueLengthMax) checkTemplate(ctx, value, 'text', path);
    else {
      const message = `A value of data has at most ${dataValueLengthMax} characters.`;
      report(ctx, { path, code: 'too_big', message });
    }
  } else if (typeof value !== 'number' && typeof value !== 'boolean') {
    report(ctx, { path, code: 'invalid_type', message: 'A value of data is a string, a number or a boolean.' });
  }
}

/**
 * The literal pieces of the text. Null when it is a malformed template, which this function
 * reports.
 */
function checkTemplate(ctx: Context, source: string, use: TemplateUse, path: Issue['path']): readonly string[] | null {
  if (!hasTags(source)) return [source];
  const parsed = parseTemplate(source, use);
  if (parsed.ok) return parsed.template.texts;
  const { message, allowed } = parsed;
  report(ctx, { path, code: 'template_syntax', message, ...(allowed && { allowed }) });
  return null;
}

function checkPlain(ctx: Context, source: string): boolean {
  if (!hasTags(source)) return true;
  report(ctx, { path: [], code: 'template_syntax', message: 'This field is not personalized and takes no tags.' });
  return false;
}

function checkUrl(ctx: Context, texts: readonly string[], use: UrlUse): void {
  const message = urlProblem(texts, use);
  if (message !== null) report(ctx, { path: [], code: 'invalid_format', message });
}
