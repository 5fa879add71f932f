// What a format makes of a record, before it is judged: fields as a registration and a user's upsert name them, and what these do
// not know. Pure.
import type { Cell } from './cells.ts';

export interface GivenRow {
  /** As the body of POST /v1/devices; null: the row names none. */
  readonly device: Fields | null;
  /** As the body of POST /v1/users. */
  readonly user: Fields | null;
  /** Properties as text. */
  readonly deviceCells: readonly Cell[];
  readonly userCells: readonly Cell[];
  /** Of a browser: the VAPID key that it subscribed with, where the file says so. */
  readonly vapidKey: string | null;
  readonly createdAt: Date | null;
  readonly lastSeenAt: Date | null;
  /**
   * True: what the file says beside token and external id may be in words that only its maker knows, and is left out where it
   * does not fit. Our own files have to be right.
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

/** A record that is not to be taken, and the sentence why. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Reads the records of one file. Throws `Refused`, or the 400 of what cannot be read. */
export interface Format<Value> {
  /** As the summary calls it. */
  readonly name: string;
  /** One record may name several devices. */
  read(value: Value): readonly GivenRow[];
}

/** Without fields that are not there. */
export function present(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The scalars of a foreign object, as text under their keys; the rest of it has no place in a property. */
export function cellsOf(value: unknown): Cell[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const isScalar = typeof item === 'string' || typeof item === 'number' || typeof item === 'boolean';
    return isScalar && item !== '' ? [{ key, text: String(item), type: null }] : [];
  });
}

/** Base64 as some write it, as browsers do. */
export function toBase64Url(text: string | undefined): string | undefined {
  return text
    ?.replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/(?<!=)=+$/, '');
}

/**
 * An instant in UTC, as those write it who leave its zone out, or in seconds or milliseconds since 1970; null where it is none,
 * or one in which nobody can have registered.
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

/** From 2000 to 2100: the id of a device is made of when it was, and takes no instant before 1970. */
function isPlausible(instant: Date): boolean {
  const ms = instant.getTime();
  return ms >= earliestMs && ms < latestMs;
}
