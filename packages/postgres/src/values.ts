// Values between JavaScript and PostgreSQL's text format. A parameter's type follows from its
// value, or the server infers it from the statement.

export const json = { json: 114, jsonb: 3802 } as const;

/** A document with the type of its column. */
export class Parameter {
  readonly document: unknown;
  readonly type: number;
  constructor(document: unknown, type: number) {
    this.document = document;
    this.type = type;
  }
}

/** The type to declare for a value; 0: the server infers it. */
export function typeOf(value: unknown): number {
  if (value instanceof Parameter) return value.type;
  if (typeof value === 'boolean') return 16;
  if (typeof value === 'bigint') return 20;
  if (value instanceof Date) return 1184;
  return value instanceof Uint8Array ? 17 : 0;
}

/** The value as the protocol carries it: text, or the bytes of a `bytea`. */
export function textOf(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null) return null;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (value instanceof Date) return instantText(value);
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? value : Buffer.from(value);
  if (Array.isArray(value)) return arrayOf(value);
  const isDocument = value instanceof Parameter;
  // The document `null` is not SQL's NULL.
  const text = isDocument ? JSON.stringify(value.document) : undefined;
  if (text !== undefined) return text;
  throw new TypeError(
    `a statement has ${isDocument || value === undefined ? 'an undefined value' : 'an object as a value'}`,
  );
}

/** The instant as PostgreSQL reads it: without a sign before the year, and with BC behind it. */
export function instantText(at: Date): string {
  const iso = at.toISOString();
  const year = at.getUTCFullYear();
  if (year > 0 && year < 10_000) return iso;
  const years = String(year > 0 ? year : 1 - year).padStart(4, '0');
  return `${years}${iso.slice(iso.indexOf('-', 1))}${year > 0 ? '' : ' BC'}`;
}

function arrayOf(values: readonly unknown[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) text += (i === 0 ? '' : ',') + elementOf(values[i]);
  return `${text}}`;
}

const special = /["\\]/;
const everySpecial = /["\\]/g;

function elementOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return arrayOf(value);
  const element = textOf(value);
  const text = typeof element === 'string' ? element : `\\x${element?.toString('hex')}`;
  return special.test(text) ? `"${text.replace(everySpecial, '\\$&')}"` : `"${text}"`;
}

export type Parse = (text: string) => unknown;

const asIs: Parse = (text) => text;
const toDocument: Parse = (text) => JSON.parse(text);

/**
 * A number beyond 2^53 becomes a bigint, so that a caller that expects a number fails instead of
 * reading a wrong one.
 */
const toInteger: Parse = (text) => {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
};

const instant = /^(\d{4,6})-(\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?)?( BC)?$/;

/**
 * Sessions have the zone UTC and the style ISO. `Date` reads years below 100 as years of the last
 * century, knows no BC, and takes an instant without a zone as local time. So it gets the form of
 * ECMA-262. `infinity` becomes the number, which compares with dates.
 */
const toDate: Parse = (text) => {
  if (text.endsWith('infinity')) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const [, year, day, time = '00:00:00', fraction = '', bc] = instant.exec(text) ?? [];
  // The year before 1 is 1 BC in PostgreSQL, and 0 in ECMA-262, which has no -0.
  const years = bc ? 1 - Number(year) : Number(year);
  const sign = years < 0 ? '-' : '+';
  const at = new Date(
    `${sign}${String(Math.abs(years)).padStart(6, '0')}-${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`,
  );
  if (Number.isNaN(at.getTime())) throw new RangeError(`an instant that no Date can hold: ${text}`);
  return at;
};

/** The readers, by the type's number in `pg_type`. */
const parsers = new Map<number, Parse>([
  [16, (text) => text === 't'],
  [17, (text) => Buffer.from(text.slice(2), 'hex')],
  [20, toInteger],
  ...[21, 23, 26, 700, 701].map((type) => [type, Number] as const),
  ...[json.json, json.jsonb].map((type) => [type, toDocument] as const),
  // date, timestamp, timestamptz
  ...[1082, 1114, 1184].map((type) => [type, toDate] as const),
]);

/** The type of the elements, by the type of the array, for PostgreSQL's own types. */
const elements = new Map([
  [199, 114],
  [651, 650],
  [1000, 16],
  [1001, 17],
  [1002, 18],
  [1003, 19],
  [1005, 21],
  [1007, 23],
  [1009, 25],
  [1014, 1042],
  [1015, 1043],
  [1016, 20],
  [1021, 700],
  [1022, 701],
  [1028, 26],
  [1041, 869],
  [1115, 1114],
  [1182, 1082],
  [1183, 1083],
  [1185, 1184],
  [1187, 1186],
  [1231, 1700],
  [2210, 2205],
  [2951, 2950],
  [3807, 3802],
]);

for (const [array, element] of elements) {
  const parse = parsers.get(element) ?? asIs;
  parsers.set(array, (text) => parseArray(text, parse));
}

/** Every other type, such as `numeric`, stays text. */
export const parserOf = (type: number): Parse => parsers.get(type) ?? asIs;

function parseArray(text: string, parse: Parse): unknown[] {
  if (text.includes('"') || text.lastIndexOf('{') !== 0) return new ArrayReader(text, parse).read();
  const items = text === '{}' ? [] : text.slice(1, -1).split(',');
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as string;
    (items as unknown[])[i] = item === 'NULL' ? null : parse(item);
  }
  return items;
}

/**
 * Reads arrays whose elements are quoted or are arrays themselves (PostgreSQL documentation,
 * 8.15.6).
 */
class ArrayReader {
  readonly #text: string;
  readonly #parse: Parse;
  readonly #hasEscapes: boolean;
  #at = 0;

  constructor(text: string, parse: Parse) {
    this.#text = text;
    this.#parse = parse;
    this.#hasEscapes = text.includes('\\');
    // An array whose first index is not 1 states its bounds: `[0:1]={…}`.
    if (text.startsWith('[')) this.#at = text.indexOf('{');
  }

  read(): unknown[] {
    const items: unknown[] = [];
    const text = this.#text;
    for (this.#at++; text[this.#at] !== '}'; ) {
      const mark = text[this.#at];
      if (mark === ',') this.#at++;
      else if (mark === '{') items.push(this.read());
      else if (mark === '"') items.push(this.#parse(this.#readQuoted()));
      else items.push(this.#readBare());
    }
    this.#at++;
    return items;
  }

  #readBare(): unknown {
    const from = this.#at;
    while (this.#text[this.#at] !== ',' && this.#text[this.#at] !== '}') this.#at++;
    const item = this.#text.slice(from, this.#at);
    return item === 'NULL' ? null : this.#parse(item);
  }

  #readQuoted(): string {
    const from = this.#at + 1;
    let end = from;
    if (this.#hasEscapes) while (this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1;
    else end = this.#text.indexOf('"', from);
    this.#at = end + 1;
    const item = this.#text.slice(from, end);
    return this.#hasEscapes ? item.replaceAll(/\\(.)/gs, '$1') : item;
  }
}
