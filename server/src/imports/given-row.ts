// A record as a format reads it, before it is checked: the fields of a registration and of a user's
// upsert, and data that those do not have. Pure.
import { isRecord } from '../ground/is-record.ts';
import type { Cell } from './cells.ts';

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
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * The scalar values of a foreign object, as text with their keys. Other values cannot be properties
 * and are dropped.
 */
export function cellsOf(value: unknown): Cell[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const isScalar = typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';
    return isScalar && item !== '' ? [{ key, text: String(item), type: null }] : [];
  });
}

/** Converts Base64 to base64url without padding, as browsers write it. */
export function toBase64Url(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/(?<!=)=+$/, '');
}

/**
 * Reads an instant in UTC without a zone, or as seconds or milliseconds since 1970. Returns null
 * when the text is no instant, or an instant at which no device can have registered.
 */
export function looseInstant(value: unknown): Date | null {
  const text = typeof value === 'number' ? String(value) : textOf(value);
  if (text === undefined) return null;
  const instant = readLoosely(text);
  return instant && isPlausible(instant) ? instant : null;
}

function readLoosely(text: string): Date | null {
  if (/^\d{9,13}$/.test(text)) return new Date(Number(text) * (text.length > 10 ? 1 : 1000));
  const parts = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(?: ?UTC|Z)?$/.exec(text);
  return parts ? new Date(`${parts[1]}T${parts[2]}Z`) : null;
}

const [earliestMs, latestMs] = [Date.UTC(2000), Date.UTC(2100)];

/**
 * From 2000 to 2100. A device's id contains its time of creation and accepts no instant before
 * 1970.
 */
function isPlausible(instant: Date): boolean {
  const ms = instant.getTime();
  return ms >= earliestMs && ms < latestMs;
}
