// Instants as callers write them (contract 1): ISO-8601 in its extended form, always with an offset. What no calendar has,
// such as the 30th of February, is no instant. Pure.
import { z } from 'zod';
import { issueOf } from './validate.ts';

const form = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?(Z|[+-]\d{2}:\d{2})$/;
const yearMin = 2000;
const yearMax = 2100;
const minuteMs = 60_000;

export interface Instant {
  /** Milliseconds since the epoch; finer fractions are cut off. */
  readonly ms: number;
  /** The offset as written, east of Greenwich. */
  readonly offsetMinutes: number;
}

/** Undefined for anything else: no offset, an impossible date or time, a year (as written) outside 2000 to 2100. */
export function parseInstant(text: string): Instant | undefined {
  const parts = form.exec(text);
  if (!parts) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = parts.slice(1, 6).map(Number);
  const second = Number(parts[6] ?? 0);
  const millisecond = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  if (year < yearMin || year > yearMax || hour > 23 || minute > 59 || second > 59) return undefined;
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second, millisecond);
  const wall = new Date(wallMs);
  // Date.UTC carries what is too much over into the next month: then the month or the day is not the one that was written.
  if (wall.getUTCMonth() !== month - 1 || wall.getUTCDate() !== day) return undefined;
  const offsetMinutes = parseOffset(parts[8] ?? '');
  return offsetMinutes === undefined ? undefined : { ms: wallMs - offsetMinutes * minuteMs, offsetMinutes };
}

function parseOffset(text: string): number | undefined {
  if (text === 'Z') return 0;
  const [hours = 0, minutes = 0] = text.slice(1).split(':').map(Number);
  if (hours > 23 || minutes > 59) return undefined;
  const size = hours * 60 + minutes;
  return text.startsWith('-') ? 0 - size : size;
}

/** An instant as it could have been written: on the clock of its offset, to the millisecond. */
export function writeInstant({ ms, offsetMinutes }: Instant): string {
  const wall = new Date(ms + offsetMinutes * minuteMs).toISOString();
  if (offsetMinutes === 0) return wall;
  const twoDigits = (count: number): string => String(count).padStart(2, '0');
  const size = Math.abs(offsetMinutes);
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${twoDigits(Math.floor(size / 60))}:${twoDigits(size % 60)}`;
  return wall.replace('Z', offset);
}

const message = 'It must be an instant with an offset, such as 2026-12-01T09:00:00+01:00.';

/** A field that holds an instant; else 400 `invalid_format`. */
export const instantField = z
  .string()
  .transform((text, context): Instant => {
    const instant = parseInstant(text);
    if (instant) return instant;
    context.issues.push(issueOf({ path: [], code: 'invalid_format', message }, text));
    return z.NEVER;
  })
  .meta({ type: 'string', format: 'date-time' });
