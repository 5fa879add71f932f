// Time zones: the IANA names that the runtime and the database both know, in the database's spelling. Offsets are none, and
// an alias stays the name that was given (contract 1).
import { z } from 'zod';
import type { Sql } from './db.ts';
import { issueOf } from './validate.ts';

export interface TimeZones {
  /** The name in the list's spelling, whatever the letter case given; undefined where either side does not know it. */
  find(name: string): string | undefined;
  /** Every name, in the list's spelling, aliases among them. */
  names(): readonly string[];
}

/** Reads the database's list, once: PostgreSQL opens a file for each name. */
export async function loadTimeZones(sql: Sql): Promise<TimeZones> {
  const rows = await sql<{ name: string }[]>`SELECT name FROM pg_timezone_names`;
  return createTimeZones(rows.map((row) => row.name));
}

export function createTimeZones(databaseNames: readonly string[]): TimeZones {
  const spellings = new Map(databaseNames.map((name) => [name.toLowerCase(), name]));
  // The runtime's own list holds no aliases, so each name is tried when it is first asked for.
  const judged = new Map<string, boolean>();
  const find = (name: string): string | undefined => {
    const spelling = spellings.get(name.toLowerCase());
    if (spelling === undefined) return undefined;
    let isKnown = judged.get(spelling);
    if (isKnown === undefined) {
      isKnown = isKnownToRuntime(spelling);
      judged.set(spelling, isKnown);
    }
    return isKnown ? spelling : undefined;
  };
  return { find, names: () => [...spellings.values()].filter((name) => find(name) !== undefined) };
}

/** Takes any name: for schemas that describe a request and read none. */
export const anyTimeZones: TimeZones = { find: (name) => name, names: () => [] };

/** A `timezone` field: any letter case in, the list's spelling out; else the 400 `unknown_timezone`. */
export function timeZoneField(timeZones: TimeZones): z.ZodType<string, string> {
  return z.string().transform((text, context): string => {
    const name = timeZones.find(text);
    if (name !== undefined) return name;
    const message = 'A time zone is an IANA name, such as Europe/Berlin.';
    context.issues.push(issueOf({ path: [], code: 'unknown_timezone', message }, text));
    return z.NEVER;
  });
}

function isKnownToRuntime(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
