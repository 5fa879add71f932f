// Time zones: the IANA names that both the runtime and the database know, in the database's
// spelling. Offsets are not accepted, and an alias keeps the given name (contract 1).
import { z } from 'zod';
import { issueOf } from './issue.ts';

export interface TimeZones {
  /**
   * Finds a name in any letter case and returns the list's spelling; undefined when the runtime or
   * the database does not know it.
   */
  find(name: string): string | undefined;
  /** Every name in the list's spelling, including aliases. */
  names(): readonly string[];
}

export function createTimeZones(databaseNames: readonly string[]): TimeZones {
  const spellings = new Map(databaseNames.map((name) => [name.toLowerCase(), name]));
  // The runtime's own list has no aliases, so each name is tried at its first use.
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

/** Accepts any name, for schemas that describe a request and read none. */
export const anyTimeZones: TimeZones = { find: (name) => name, names: () => [] };

/**
 * A `timezone` field: accepts any letter case and returns the list's spelling; otherwise the 400
 * `unknown_timezone`.
 */
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
