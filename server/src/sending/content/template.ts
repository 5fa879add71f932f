// Personalization (contract 7.3) by a restricted liquidjs, with a shorter way for text and plain
// values. A template is parsed once per message and rendered per person. A value is inserted as
// plain text and never read as a template. Only templates that `template-grammar.ts` accepts get
// here.
import { defaultOperators, Liquid, type LiquidOptions, filters as libraryFilters } from 'liquidjs';
import { arithmetic } from './arithmetic.ts';
import { formatDate, type Recipient } from './date-filter.ts';
import { readPlainTemplate } from './plain-template.ts';
import {
  type Attribute,
  blockTags,
  type FilterName,
  filterArguments,
  readTemplate,
  type TemplateParts,
  TemplateSyntaxError,
} from './template-grammar.ts';

/** The place of the text. In a `url` each value is percent-encoded. */
export type TemplateUse = 'text' | 'url';

export type PropertyValue = string | number | boolean;

/**
 * The values of the person that a template is rendered for. An anonymous device has nulls and its
 * own properties.
 */
export interface Person {
  readonly firstName: string | null;
  readonly externalId: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  /**
   * The user's value, or without one the device's own. A Map, so that `__proto__` and `size` are
   * names like any other (R-72).
   */
  readonly properties: ReadonlyMap<string, PropertyValue>;
}

/** The values that templates read, so that a sender loads only these. */
export interface UsedVariables {
  readonly attributes: ReadonlySet<Attribute>;
  readonly propertyKeys: ReadonlySet<string>;
}

/** A person's values in the form liquidjs reads them. */
type Scope = Readonly<Partial<Record<Attribute, string>>> & {
  readonly properties: Readonly<Record<string, PropertyValue | undefined>>;
};

export interface Template extends Omit<TemplateParts, 'numbers'> {
  /**
   * `language` is that of the delivery; dates are written in it. Throws only when liquidjs throws.
   * No accepted template is known to do this, unless its text becomes far too long.
   */
  render(person: Person, language: string | null): string;
}

export type ParsedTemplate =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly message: string; readonly allowed: readonly string[] | undefined };

/** A rendered text longer than this fails its delivery. */
export const renderedLengthMax = 4096;

/**
 * Makes a template of a text with tags, or says why the text is not one. Never throws. The caller
 * must have checked the length.
 */
export function parseTemplate(source: string, use: TemplateUse): ParsedTemplate {
  try {
    const parts = readTemplate(source);
    const { attributes, propertyKeys, texts } = parts;
    // Parsed for the first person and not when the message is checked, because liquidjs takes much
    // longer to read a template than the grammar (R-103).
    let renderer: Template['render'] | undefined;
    const render: Template['render'] = (person, language) => {
      renderer ??= rendererOf(source, parts, use);
      return renderer(person, language);
    };
    return { ok: true, template: { attributes, propertyKeys, texts, render } };
  } catch (error) {
    if (error instanceof TemplateSyntaxError) return { ok: false, message: error.message, allowed: error.allowed };
    return { ok: false, message: 'The template is malformed.', allowed: undefined };
  }
}

function rendererOf(source: string, parts: TemplateParts, use: TemplateUse): Template['render'] {
  const plain = readPlainTemplate(source, parts.texts);
  if (plain) {
    const write = writers[use];
    return (person) =>
      plain(
        (attribute, key) => (attribute === null ? person.properties.get(key) : attributeOf[attribute](person)),
        write,
      );
  }
  const engine = engines[use];
  const nodes = engine.parse(quoteLongNumbers(source, parts.numbers));
  return (person, language) => {
    const recipient: Recipient = { timezone: person.timezone, language };
    return String(engine.renderSync(nodes, scopeFor(person, parts), { globals: { recipient } }));
  };
}

/**
 * Turns numbers that no double can hold into texts, because liquidjs reads numbers as doubles. The
 * filters read such a text as a number.
 */
function quoteLongNumbers(source: string, numbers: TemplateParts['numbers']): string {
  let quoted = '';
  let end = 0;
  for (const { at, text } of numbers) {
    const exact = arithmetic.plus(text, 0);
    if (typeof exact !== 'string') continue;
    quoted += `${source.slice(end, at)}'${exact}'`;
    end = at + text.length;
  }
  return quoted + source.slice(end);
}

/**
 * The values that a template may read. Every name in use becomes an own key, also when the value is
 * missing. Otherwise liquidjs would answer the number of keys for `size`, and look further for
 * `first` and `last`.
 */
function scopeFor(person: Person, used: UsedVariables): Scope {
  const properties: Record<string, PropertyValue | undefined> = Object.create(null);
  for (const key of used.propertyKeys) properties[key] = person.properties.get(key);
  const scope: { -readonly [Name in keyof Scope]: Scope[Name] | undefined } = Object.create(null);
  for (const attribute of used.attributes) scope[attribute] = attributeOf[attribute](person) ?? undefined;
  scope.properties = properties;
  return scope as Scope;
}

/**
 * The number in its shortest decimal form, never with an exponent; '' for a number that is not
 * finite.
 */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) return '';
  const [mantissa = '', power] = String(value).split('e');
  if (power === undefined) return mantissa;
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d*))?$/.exec(mantissa) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(power);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, '0');
}

/**
 * Percent-encodes every character except the unreserved ones of RFC 3986, 2.3. Never throws: an
 * unpaired surrogate becomes U+FFFD.
 */
export function percentEncode(text: string): string {
  if (/^[A-Za-z0-9._~-]*$/.test(text)) return text;
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const attributeOf: Readonly<Record<Attribute, (person: Person) => string | null>> = {
  first_name: (person) => person.firstName,
  external_id: (person) => person.externalId,
  country: (person) => person.country,
  language: (person) => person.language,
  timezone: (person) => person.timezone,
};

const textFilters = [
  'upcase',
  'downcase',
  'capitalize',
  'strip',
  'truncate',
  'append',
  'prepend',
  'replace',
  'remove',
] as const;

const writers: Readonly<Record<TemplateUse, (value: unknown) => string>> = {
  text: textOf,
  url: (value) => percentEncode(textOf(value)),
};

// The library would compare as JavaScript does, where "10" > 9. The library's literals (`nil`,
// `empty`) are no values here.
type Order = (left: number | string, right: number | string) => boolean;
const ordered =
  (holds: Order) =>
  (left: unknown, right: unknown): boolean =>
    (typeof left === 'number' && typeof right === 'number') || (typeof left === 'string' && typeof right === 'string')
      ? holds(left, right)
      : false;
const orders = {
  '>': ordered((left, right) => left > right),
  '<': ordered((left, right) => left < right),
  '>=': ordered((left, right) => left >= right),
  '<=': ordered((left, right) => left <= right),
};

const engines: Readonly<Record<TemplateUse, Liquid>> = {
  text: createEngine(writers.text),
  url: createEngine(writers.url),
};

function createEngine(outputEscape: (value: unknown) => string): Liquid {
  const options: LiquidOptions = {
    strictFilters: true,
    ownPropertyOnly: true,
    outputEscape,
    operators: { ...defaultOperators, ...orders, contains },
    // No template may read files. The grammar cannot name one, and liquidjs gets no file system.
    templates: {},
    cache: false,
    // A second line of defence: the grammar has no loops, so no template comes near these limits.
    // The time limit is generous, because a stall of the process must not fail a delivery.
    // Long numbers are quoted, which makes a template a little longer than its caller wrote it.
    parseLimit: 8192,
    renderLimit: 1000,
    memoryLimit: 1_000_000,
  };
  const engine = new Liquid(options);
  for (const name of Object.keys(engine.filters)) {
    if (!Object.hasOwn(filterArguments, name)) engine.unregisterFilter(name);
  }
  for (const name of Object.keys(engine.tags)) {
    if (!(blockTags as readonly string[]).includes(name)) delete engine.tags[name];
  }
  for (const name of textFilters) replaceByTextFilter(engine, name);
  for (const [name, compute] of Object.entries(arithmetic)) engine.registerFilter(name, compute);
  engine.registerFilter('date', function (value: unknown, format: unknown) {
    return formatDate(value, format, this.context.globals['recipient'] as Recipient);
  });
  return engine;
}

// The library would print numbers with an exponent, and would treat missing arguments in its own
// way.
function replaceByTextFilter(engine: Liquid, name: FilterName): void {
  const handler = libraryFilters[name];
  if (typeof handler !== 'function') throw new Error(`liquidjs has no filter '${name}'`);
  engine.registerFilter(name, function (this: ThisParameterType<typeof handler>, value: unknown, ...args: unknown[]) {
    const [first, ...rest] = args;
    // The library would find a missing text everywhere.
    if ((name === 'replace' || name === 'remove') && textOf(first) === '') return textOf(value);
    if (name === 'truncate') return handler.call(this, textOf(value), lengthOf(first), ...rest.map(textOf));
    return handler.call(this, textOf(value), ...args.map(textOf));
  });
}

// The library would look for the text 'undefined' when the right side is missing.
function contains(left: unknown, right: unknown): boolean {
  const isScalar = typeof right === 'string' || typeof right === 'number' || typeof right === 'boolean';
  return typeof left === 'string' && isScalar && left.includes(textOf(right));
}

/** The first argument of `truncate`. Undefined when it is not a number: then liquidjs takes 50. */
function lengthOf(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const length = Math.trunc(Number(value));
  return Number.isFinite(length) ? Math.max(0, length) : undefined;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return decimal(value);
  if (typeof value === 'boolean') return String(value);
  return '';
}
