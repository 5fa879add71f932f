// Which times the partitions of events stand for: months, and for the far past whole years, so that their number stays bounded
// whatever dates strangers send. Pure.

/** The first instant, and the first after it. */
export interface Times {
  readonly from: Date;
  readonly to: Date;
}

export interface Span extends Times {
  /** As tables are named after it: `202611`, or `2003`. */
  readonly name: string;
}

const monthsBack = 3;
const monthsAhead = 2;
/** What is older has partitions by years. */
const monthlyYears = 3;

/** The month, in UTC, that an instant lies in, or one so many before or after it. */
export function monthOf(ms: number, offset = 0): Span {
  const at = new Date(ms);
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset + 1));
  return { name: from.toISOString().slice(0, 7).replace('-', ''), from, to };
}

/** The year, in UTC, that an instant lies in. */
export function yearOf(ms: number): Span {
  const year = new Date(ms).getUTCFullYear();
  return { name: String(year), from: new Date(Date.UTC(year, 0)), to: new Date(Date.UTC(year + 1, 0)) };
}

/** The months that should have partitions at an instant: not those that retention has taken. */
export function monthsAround(nowMs: number, keptSince: Date | null): Span[] {
  const months = Array.from({ length: monthsBack + 1 + monthsAhead }, (_, i) => monthOf(nowMs, i - monthsBack));
  return months.filter(({ to }) => keptSince === null || to > keptSince);
}

/**
 * The partition that is missing for an event; null: there is one. A year only where none of its months has a partition already, so
 * that no two of them meet.
 */
export function missingSpan(atMs: number, nowMs: number, existing: readonly Times[]): Span | null {
  const meets = ({ from, to }: Times): boolean => existing.some((other) => other.from < to && from < other.to);
  if (meets({ from: new Date(atMs), to: new Date(atMs + 1) })) return null;
  const year = yearOf(atMs);
  const isFarPast = year.to <= monthOf(nowMs, -12 * monthlyYears).from;
  return isFarPast && !meets(year) ? year : monthOf(atMs);
}
