// Instants as callers write them (contract 1): ISO-8601 in its extended form, always with an
// offset. A date that no calendar has, such as the 30th of February, is invalid. Pure.
import { z } from 'zod';
import { issueOf } from './issue.ts';

const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;
const yearMin = 2000;
const yearMax = 2100;
const minuteMs = 60_000;
const zero = '0'.charCodeAt(0);

export interface Instant {
  /** Milliseconds since the epoch; smaller fractions are cut off. */
  readonly ms: number;
  /** The offset as written, east of Greenwich. */
  readonly offsetMinutes: number;
}

/**
 * Returns undefined for any other text: no offset, an impossible date or time, or a year (as
 * written) outside 2000 to 2100.
 */
export function parseInstant(text: string): Instant | undefined {
  if (!form.test(text)) return undefined;
  // Every form begins in the same way, so each field has a fixed position.
  const year = digitsAt(text, 0, 4);
  const month = digitsAt(text, 5, 2);
  const day = digitsAt(text, 8, 2);
  const hour = digitsAt(text, 11, 2);
  const minute = digitsAt(text, 14, 2);
  const hasSeconds = text.charAt(16) === ':';
  const second = hasSeconds ? digitsAt(text, 17, 2) : 0;
  if (year < yearMin || year > yearMax || hour > 23 || minute > 59 || second > 59) return undefined;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  const millisecond = hasSeconds && text.charAt(19) === '.' ? millisecondAt(text, 20) : 0;
  const offsetMinutes = parseOffset(text);
  if (offsetMinutes === undefined) return undefined;
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  return { ms: wallMs - offsetMinutes * minuteMs, offsetMinutes };
}

// The form guarantees digits at these positions.
function digitsAt(text: string, from: number, count: number): number {
  let number = 0;
  for (let i = from; i < from + count; i++) number = number * 10 + text.charCodeAt(i) - zero;
  return number;
}

// Reads a fraction up to the first other character.
function millisecondAt(text: string, from: number): number {
  let ms = 0;
  let unit = 100;
  for (let i = from; unit >= 1; i++, unit /= 10) {
    const digit = text.charCodeAt(i) - zero;
    if (!(digit >= 0 && digit <= 9)) break;
    ms += digit * unit;
  }
  return ms;
}

const dayCounts = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && isLeap ? 29 : (dayCounts[month - 1] ?? 0);
}

// Reads the offset at the end of an instant.
function parseOffset(text: string): number | undefined {
  if (text.endsWith('Z')) return 0;
  const at = text.length - 6;
  const hours = digitsAt(text, at + 1, 2);
  const minutes = digitsAt(text, at + 4, 2);
  if (hours > 23 || minutes > 59) return undefined;
  const size = hours * 60 + minutes;
  return text.charAt(at) === '-' ? 0 - size : size;
}

/** Writes an instant on the clock of its offset, to the millisecond. */
export function writeInstant({ ms, offsetMinutes }: Instant): string {
  const wall = new Date(ms + offsetMinutes * minuteMs).toISOString();
  if (offsetMinutes === 0) return wall;
  const twoDigits = (count: number): string => String(count).padStart(2, '0');
  const size = Math.abs(offsetMinutes);
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`;
  return wall.replace('Z', offset);
}

/** The form of an instant, as part of a sentence. */
export const instantForm = `an instant from ${yearMin} to ${yearMax} with an offset, such as 2026-12-01T09:00:00+01:00`;

/** A field that contains an instant; otherwise 400 `invalid_format`. */
export const instantField = z
  .string()
  .transform((text, context): Instant => {
    const instant = parseInstant(text);
    if (instant) return instant;
    context.issues.push(issueOf({ path: [], code: 'invalid_format', message: `It must be ${instantForm}.` }, text));
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });
