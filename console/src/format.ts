// Numbers, durations, instants, zones and names as people read them, in the language and zone of the
// browser.

const numbers = new Intl.NumberFormat();
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'long' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
});

export const formatNumber = (value: number): string => numbers.format(value);
export const formatExact = (instant: string): string => exact.format(new Date(instant));
export const formatDay = (instant: string): string => day.format(new Date(instant));
/** A day without its year, for days that are close to now. */
export const formatShortDay = (instant: string): string => shortDay.format(new Date(instant));
export const formatClock = (instant: string): string => clock.format(new Date(instant));

/** A share of a whole. An empty whole has no share. */
export function formatShare(partOf: number, whole: number): string {
  return whole === 0 ? '–' : percents.format(partOf / whole);
}

/** `3 devices`, `1 device`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${formatNumber(value)} ${value === 1 ? one : many}`;
}

/** `1,101 users`; of an estimate three digits: `about 12,300 users`. */
export function countUsers({ users, users_estimated: isEstimated }: { users: number; users_estimated?: true }): string {
  return isEstimated ? `about ${count(Number(users.toPrecision(3)), 'user')}` : count(users, 'user');
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** How far an instant is from now: `5 minutes ago`, `in 2 hours`, `just now`. */
export function formatRelative(instant: string, nowMs: number): string {
  const seconds = (Date.parse(instant) - nowMs) / 1000;
  for (const [unit, size] of steps) {
    // A time a day ahead still reads "in 24 hours" some seconds later.
    const whole = seconds > 0 ? Math.round : Math.trunc;
    if (Math.abs(seconds) >= size) return relative.format(whole(seconds / size), unit);
  }
  if (Math.abs(seconds) < 10) return 'just now';
  return relative.format(Math.trunc(seconds), 'second');
}

/** `95 ms`, `1.4 s`, `2 min 5 s`, `3 h 20 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return join(Math.floor(whole / 60), 'min', whole % 60, 's');
  return join(Math.floor(whole / 3600), 'h', Math.floor((whole % 3600) / 60), 'min');
}

function join(great: number, greatUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${great} ${greatUnit}` : `${great} ${greatUnit} ${small} ${smallUnit}`;
}

/** Text that is JSON, with line breaks; any other text unchanged. */
export function formatBody(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export const channelNames = { webpush: 'Web push', apns: 'Apple push', fcm: 'Android push' } as const;
/** The channels in the order in which every page lists them. */
export const channels = ['webpush', 'apns', 'fcm'] as const;
export const platformNames = { web: 'Web', ios: 'iOS', android: 'Android' } as const;

let zones: string[] | undefined;

/** The time zones to choose from. One that the browser does not know comes first. */
export function zonesWith(zone: string): string[] {
  // Made at the first use, because every page loads this file and few pages ask for a zone.
  zones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter((each) => each !== 'UTC')];
  return zone === '' || zones.includes(zone) ? zones : [zone, ...zones];
}

const languages = new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard' });

/** `pt-BR` reads as `Portuguese (Brazil)`. A tag without a known language is unchanged. */
export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

const instants = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z/g;

/** A sentence of the service, with its instants in the viewer's zone. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(instants, (instant) => formatExact(instant));
}

const browsers = [
  [/ Edg\/(\d+)/, 'Edge'],
  [/ OPR\/(\d+)/, 'Opera'],
  [/ Firefox\/(\d+)/, 'Firefox'],
  [/ (?:Headless)?Chrome\/(\d+)/, 'Chrome'],
  [/ Version\/(\d+)/, 'Safari'],
] as const;
const systems = [
  [/Windows/, 'Windows'],
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Mac OS X/, 'macOS'],
  [/Linux|X11/, 'Linux'],
] as const;

/** `Firefox 142 on Linux`. An unusual user agent is unchanged. */
export function tellBrowser(userAgent: string): string {
  const browser = browsers.find(([pattern]) => pattern.test(userAgent));
  if (!browser) return userAgent;
  const [pattern, name] = browser;
  const system = systems.find(([sign]) => sign.test(userAgent))?.[1];
  return `${name} ${pattern.exec(userAgent)?.[1]}${system ? ` on ${system}` : ''}`;
}
