// Words of reports: periods, ranges and vendors. Pure.
import { daysOf, type Group, type ReportView } from './report-view.ts';

/** A day of the address, such as `2026-11-01`, as people read it. */
export function formatDayOf(day: string): string {
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day));
}

/** The beginning of a period, in the report's zone: short below a chart, complete in a table. */
export function formatPeriod(from: string, group: Group, zone: string, length: 'short' | 'whole' = 'short'): string {
  const ofMonth = group === 'month';
  const options: Intl.DateTimeFormatOptions = {
    ...(!ofMonth && { day: 'numeric' }),
    month: 'short',
    ...((ofMonth || length === 'whole') && { year: 'numeric' }),
    ...(length === 'whole' && group === 'day' && { weekday: 'short' }),
  };
  const text = new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone }).format(new Date(from));
  return group === 'week' && length === 'whole' ? `Week of ${text}` : text;
}

/** The head of the column that names the periods of a table. */
export const periodNames = { day: 'Day', week: 'Week', month: 'Month' } as const;

/** `in the 30 days before` */
export function tellBefore(view: ReportView): string {
  const days = daysOf(view);
  return days === 1 ? 'the day before' : `in the ${days} days before`;
}

export const providerNames = {
  google: 'Google',
  mozilla: 'Mozilla',
  apple: 'Apple',
  microsoft: 'Microsoft',
  other: 'Other services',
} as const;
