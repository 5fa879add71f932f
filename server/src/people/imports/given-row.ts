// A record as a format reads it, before it is checked: the fields of a registration and of a user's
// upsert, and data that those do not have. Pure.
import { parseInstant } from '../../ground/values/instant.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { type Cell, isNumber } from './cells.ts';

export interface GivenRow {
  /** The body of POST /v1/devices; null when the row names no device. */
  readonly device: Fields | null;
  /** The body of POST /v1/users. */
  readonly user: Fields | null;
  /** Properties as text. */
  readonly deviceCells: readonly Cell[];
  readonly userCells: readonly Cell[];
  /** The VAPID key with which a browser subscribed, when the file contains it. */
  readonly vapidKey: string | null;
  readonly createdAt: Date | null;
  readonly lastSeenAt: Date | null;
  /**
   * True for a file of another vendor. Its values, except token and external id, may follow the
   * vendor's own rules, and a value that does not fit is dropped. The values of our own files must
   * be valid.
   */
  readonly isForeign: boolean;
  /** Values that the format could not read, each as a sentence. */
  readonly dropped: readonly string[];
}

export type Fields = Record<string, unknown>;

export const emptyRow: GivenRow = {
  device: null,
  user: null,
  deviceCells: [],
  userCells: [],
  vapidKey: null,
  createdAt: null,
  lastSeenAt: null,
  isForeign: false,
  dropped: [],
};

/** A record that is refused, with the sentence that says why. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Reads the records of one file. Throws `Refused`, or the 400 for a record that cannot be read. */
export interface Format<Value> {
  /** The name of the format in the summary. */
  readonly name: string;
  /** One record may name several devices. */
  read(value: Value): readonly GivenRow[];
}

/** Removes fields that are undefined or empty. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
}

export function textOf(value: unknown): string | undefined {
  // Some writers give an id of digits as a number.
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * The values of a foreign object, as text with their keys, because its writer may not know types.
 * The check of properties refuses values that are objects or lists.
 */
export function cellsOf(value: unknown): Cell[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === null || item === '') return [];
    return [{ key, text: typeof item === 'object' ? item : String(item), type: null }];
  });
}

// A string, or a number outside of strings.
const jsonTokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON of another service. A number that a double cannot hold becomes a text, as it is
 * written. Throws `SyntaxError`.
 */
export function parseForeignJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const kept = text.replace(jsonTokens, (token) => (token[0] === '"' || isNumber(token) ? token : `"${token}"`));
  return kept === text ? value : JSON.parse(kept);
}

/** An object as JSON in a cell. Any other text is dropped. */
export function readForeignJson(name: string, text: string | undefined, dropped: string[]): unknown {
  if (text === undefined || text === '') return undefined;
  try {
    const value = parseForeignJson(text);
    if (isRecord(value)) return value;
  } catch {
    // Dropped like JSON of another kind.
  }
  dropped.push(`${name}: It is not a JSON object.`);
  return undefined;
}

/** A language with the country, unless it names a region already. */
export function localeOf(language: unknown, country: unknown): unknown {
  const isBare = typeof language === 'string' && /^[A-Za-z]{2,3}(?:-[A-Za-z]{4})?$/.test(language);
  return isBare && typeof country === 'string' && /^[A-Za-z]{2}$/.test(country) ? `${language}-${country}` : language;
}

/**
 * Reads an instant in UTC without a zone, or as seconds or milliseconds since 1970. A value that is
 * no instant (contract 1) is dropped: a device's id contains its time of creation.
 */
export function looseInstant(name: string, value: unknown, dropped: string[]): Date | null {
  if (value === undefined || value === null || value === '') return null;
  const instant = parseInstant(instantText(String(value)));
  if (instant) return new Date(instant.ms);
  dropped.push(`${name}: It is not an instant from 2000 to 2100.`);
  return null;
}

function instantText(text: string): string {
  if (/^\d{9,13}$/.test(text)) return new Date(Number(text) * (text.length > 10 ? 1 : 1000)).toISOString();
  const parts = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(?: ?UTC|Z)?$/.exec(text);
  return parts ? `${parts[1]}T${parts[2]}Z` : text;
}
