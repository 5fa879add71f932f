// The view of a report in the address: days, zone, period, currency, window. Only the address
// decides what a page shows, so that a link gives exactly this view.
import { useAddress, withValues } from './use-address.ts';

const groups = ['day', 'week', 'month'] as const;
export type Group = (typeof groups)[number];

export const browserZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
/** The last 7, 30 or 90 days, today among them. */
export const presets = [7, 30, 90] as const;
const presetDefault = 30;
const dayMs = 86_400_000;
/** The most that the service reports at once. */
const daysMost = 366;

export interface ReportView {
  /** The first and the last day, `2026-11-01`, in days of the zone. */
  readonly firstDay: string;
  readonly lastDay: string;
  readonly zone: string;
  readonly group: Group;
  /** Undefined: the currency with the most purchases. */
  readonly currency: string | undefined;
  /** Undefined: the app's own window. */
  readonly windowHours: string | undefined;
  readonly isTable: boolean;
}

/** The view of an address at an instant. Missing and invalid parts have their defaults. Pure. */
export function readView(search: URLSearchParams, nowMs: number): ReportView {
  const given = search.get('tz');
  const zone = given !== null && isZone(given) ? given : browserZone;
  const today = dayIn(zone, nowMs);
  const lastDay = dayOf(search.get('to')) ?? today;
  const first = dayOf(search.get('from')) ?? addDays(lastDay, 1 - presetDefault);
  const firstDay = first > lastDay ? lastDay : notBefore(first, lastDay, zone);
  const group = groups.find((each) => each === search.get('by')) ?? 'day';
  return {
    firstDay,
    lastDay,
    zone,
    group,
    currency: search.get('currency') ?? undefined,
    windowHours: /^[1-9]\d{0,2}$/.test(search.get('window') ?? '') ? (search.get('window') ?? undefined) : undefined,
    isTable: search.get('view') === 'table',
  };
}

/** The query of the service for a view. */
export function rangeOf({ firstDay, lastDay, zone }: ReportView): { from: string; to: string; tz: string } {
  return { from: startOfDay(firstDay, zone), to: startOfDay(addDays(lastDay, 1), zone), tz: zone };
}

/** The range of the same number of days just before. */
export function rangeBefore(view: ReportView): { from: string; to: string; tz: string } {
  const days = daysOf(view);
  const lastDay = addDays(view.lastDay, -days);
  const firstDay = notBefore(addDays(view.firstDay, -days), lastDay, view.zone);
  return rangeOf({ ...view, firstDay, lastDay });
}

/**
 * The first day of the longest range that the service reports at once. If the clocks go back twice
 * in the range and forward once, the maximum number of days is an hour too long.
 */
function notBefore(day: string, lastDay: string, zone: string): string {
  const earliest = addDays(lastDay, 1 - daysMost);
  if (day > earliest) return day;
  const ms = Date.parse(startOfDay(addDays(lastDay, 1), zone)) - Date.parse(startOfDay(earliest, zone));
  return ms > daysMost * dayMs ? addDays(earliest, 1) : earliest;
}

export function daysOf({ firstDay, lastDay }: ReportView): number {
  return Math.round((Date.parse(lastDay) - Date.parse(firstDay)) / dayMs) + 1;
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

/** The present day in a zone. */
export function dayIn(zone: string, ms: number): string {
  return new Date(ms + offsetMs(zone, ms)).toISOString().slice(0, 10);
}

/**
 * The instant at which a day begins in a zone. If the clocks change at midnight, it is the first
 * instant of the day.
 */
export function startOfDay(day: string, zone: string): string {
  const wallMs = Date.parse(day);
  // The first result, with the offset of the day before, is right or too early. The second one uses
  // the offset of the day itself.
  const guess = wallMs - offsetMs(zone, wallMs - dayMs / 2);
  const ms = wallMs - offsetMs(zone, guess);
  const late = dayIn(zone, ms) < day ? guess : ms;
  return new Date(late).toISOString();
}

function offsetMs(zone: string, ms: number): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as Intl.DateTimeFormatOptions).formatToParts(ms);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const wall = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return wall - Math.floor(ms / 1000) * 1000;
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

function dayOf(text: string | null): string | undefined {
  if (text === null || !/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(text).toISOString().slice(0, 10) === text ? text : undefined;
}

/** The view of the page's address, and a function that changes it. Null sets the default. */
export function useReportView() {
  const address = useAddress();
  return { view: readView(address.search, Date.now()), ...address };
}

/**
 * The address that gives exactly this view tomorrow too, because it names the days and the zone.
 */
export function searchOfView(search: URLSearchParams, { firstDay, lastDay, zone, group }: ReportView): string {
  return withValues(search, { from: firstDay, to: lastDay, tz: zone, by: group }).toString();
}
