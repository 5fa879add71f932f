// The filter `date` of templates (contract 7.3): strftime's forms of an ISO-8601 text, in a time
// zone and a language. Pure: the runtime knows the zones and the names.
import { createLocalClock, type LocalClock } from '../../ground/values/local-clock.ts';
import { languageForNames } from './locales.ts';

/** The recipient of a text. Without a time zone times are in UTC, without a language in English. */
export interface Recipient {
  readonly timezone: string | null;
  readonly language: string | null;
}

/** `wallMs`: the local time, written as the milliseconds that the same time would be in UTC. */
interface Moment {
  readonly wallMs: number;
  readonly ms: number;
  readonly zone: string;
  readonly language: string;
}

/** Returns the value unchanged if it is no ISO-8601 text or the format is no text. */
export function formatDate(value: unknown, format: unknown, recipient: Recipient): unknown {
  if (typeof value !== 'string' || typeof format !== 'string' || format === '') return value;
  const zone = recipient.timezone ?? 'UTC';
  const moment = readMoment(value, clockOf(zone));
  if (!moment) return value;
  return write(format, { ...moment, zone, language: languageForNames(recipient.language) });
}

const isoForm =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/;

/**
 * A time with an offset is an instant. A date or a time without an offset is on the recipient's own
 * calendar and clock.
 */
function readMoment(text: string, clock: LocalClock): { wallMs: number; ms: number } | undefined {
  const [, year, month, day, hour = 0, minute = 0, second = 0, fraction = '', offset] = isoForm.exec(text) ?? [];
  if (year === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  if (!isDate || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const wallMs = date.setUTCHours(
    Number(hour),
    Number(minute),
    Number(second),
    Number(fraction.padEnd(3, '0').slice(0, 3)),
  );
  if (offset === undefined) return { wallMs, ms: clock.instantMs(wallMs) };
  const [, sign = '+', hours = 0, minutes = 0] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset) ?? [];
  const ms = wallMs - Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  return { wallMs: clock.wallMs(ms), ms };
}

// Flags, width and directive. `:` belongs to `%:z`.
const directive = /%([-0_^#]*)(\d{0,2})(:?)([A-Za-z%+])/g;

function write(format: string, moment: Moment): string {
  return format.replaceAll(directive, (whole, flags: string, width: string, colon: string, letter: string) => {
    const part = (colon === '' || letter === 'z') && partOf(`${colon}${letter}`, moment);
    if (!part) return whole;
    let text = String(part.value);
    const pad = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : part.pad;
    const isPadded = !flags.includes('-') && (typeof part.value === 'number' || width !== '');
    if (isPadded) text = text.padStart(Number(width || part.width), pad);
    if (flags.includes('^')) return text.toLocaleUpperCase(moment.language);
    return flags.includes('#') ? swapCase(text, moment.language) : text;
  });
}

interface Part {
  readonly value: number | string;
  readonly width: number;
  readonly pad: string;
}
const padded = (value: number, width = 2, pad = '0'): Part => ({ value, width, pad });
const words = (value: string): Part => ({ value, width: 0, pad: ' ' });

function partOf(name: string, moment: Moment): Part | undefined {
  const date = new Date(moment.wallMs);
  const hour12 = date.getUTCHours() % 12 || 12;
  switch (name) {
    case 'Y':
      return padded(date.getUTCFullYear(), 4);
    case 'C':
      return padded(Math.floor(date.getUTCFullYear() / 100));
    case 'y':
      return padded(date.getUTCFullYear() % 100);
    case 'm':
      return padded(date.getUTCMonth() + 1);
    case 'd':
      return padded(date.getUTCDate());
    case 'e':
      return padded(date.getUTCDate(), 2, ' ');
    case 'j':
      return padded(dayOfYear(date) + 1, 3);
    case 'H':
      return padded(date.getUTCHours());
    case 'k':
      return padded(date.getUTCHours(), 2, ' ');
    case 'I':
      return padded(hour12);
    case 'l':
      return padded(hour12, 2, ' ');
    case 'M':
      return padded(date.getUTCMinutes());
    case 'S':
      return padded(date.getUTCSeconds());
    case 'L':
      return padded(date.getUTCMilliseconds(), 3);
    case 's':
      return padded(Math.floor(moment.ms / 1000), 1);
    case 'u':
      return padded(date.getUTCDay() || 7, 1);
    case 'w':
      return padded(date.getUTCDay(), 1);
    case 'U':
      return padded(Math.floor((dayOfYear(date) + 7 - date.getUTCDay()) / 7));
    case 'W':
      return padded(Math.floor((dayOfYear(date) + 7 - ((date.getUTCDay() + 6) % 7)) / 7));
    case 'V':
      return padded(isoWeek(date).week);
    case 'G':
      return padded(isoWeek(date).year, 4);
    case 'B':
      return words(monthName(moment, 'long'));
    case 'b':
    case 'h':
      return words(monthName(moment, 'short'));
    case 'A':
      return words(wordOf(moment, { weekday: 'long' }, 'weekday'));
    case 'a':
      return words(wordOf(moment, { weekday: 'short' }, 'weekday'));
    case 'p':
      return words(dayPeriod(moment).toLocaleUpperCase(moment.language));
    case 'P':
      return words(dayPeriod(moment).toLocaleLowerCase(moment.language));
    case 'z':
      return words(offsetOf(moment, ''));
    case ':z':
      return words(offsetOf(moment, ':'));
    case 'Z':
      return words(zoneName(moment));
    case 'x':
      return words(formatOf(moment.language, { dateStyle: 'short' }).format(moment.wallMs));
    case 'X':
      return words(formatOf(moment.language, { timeStyle: 'medium' }).format(moment.wallMs));
    case 'c':
      return words(formatOf(moment.language, { dateStyle: 'medium', timeStyle: 'medium' }).format(moment.wallMs));
    case 'n':
      return words('\n');
    case 't':
      return words('\t');
    case '%':
      return words('%');
    default: {
      const combined = combinations[name];
      return combined === undefined ? undefined : words(write(combined, moment));
    }
  }
}

const combinations: Readonly<Record<string, string>> = {
  F: '%Y-%m-%d',
  D: '%m/%d/%y',
  T: '%H:%M:%S',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  v: '%e-%^b-%Y',
};

const dayMs = 86_400_000;

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs);
}

/** ISO 8601: a week belongs to the year of its Thursday. */
function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * dayMs);
  return { year: thursday.getUTCFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

// The month's form beside a day (`5 марта`). Where that form is a number, as in Chinese, the form
// alone is used.
function monthName(moment: Moment, month: 'long' | 'short'): string {
  const beside = wordOf(moment, { month, day: 'numeric' }, 'month');
  return /^\d/.test(beside) ? formatOf(moment.language, { month }).format(moment.wallMs) : beside;
}

function dayPeriod(moment: Moment): string {
  return wordOf(moment, { hour: 'numeric', hourCycle: 'h12' }, 'dayPeriod');
}

function zoneName({ language, zone, ms }: Moment): string {
  const format = formatOf(language, { timeZone: zone, timeZoneName: 'short' });
  return format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? zone;
}

function wordOf(
  { language, wallMs }: Moment,
  options: Intl.DateTimeFormatOptions,
  wanted: Intl.DateTimeFormatPartTypes,
): string {
  return (
    formatOf(language, options)
      .formatToParts(wallMs)
      .find(({ type }) => type === wanted)?.value ?? ''
  );
}

function offsetOf({ wallMs, ms }: Moment, colon: string): string {
  const minutes = Math.round((wallMs - ms) / 60_000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}${colon}${two(Math.abs(minutes) % 60)}`;
}

function swapCase(text: string, language: string): string {
  const upper = text.toLocaleUpperCase(language);
  return text === upper ? text.toLocaleLowerCase(language) : upper;
}

// Making a format costs about a hundred times as much as using it (a guess), and a message uses few.
const keptMax = 1_000;
const formats = new Map<string, Intl.DateTimeFormat>();
const clocks = new Map<string, LocalClock>();

function formatOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return kept(formats, `${language} ${JSON.stringify(options)}`, () => {
    const fixed = { calendar: 'gregory', numberingSystem: 'latn' } as const;
    return new Intl.DateTimeFormat(language, { timeZone: 'UTC', ...fixed, ...options });
  });
}

function clockOf(zone: string): LocalClock {
  return kept(clocks, zone, () => createLocalClock(zone));
}

function kept<Value>(values: Map<string, Value>, key: string, make: () => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  if (values.size >= keptMax) values.clear();
  const made = make();
  values.set(key, made);
  return made;
}
