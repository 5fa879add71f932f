// The spans of the partitions of events: months, and whole years for the far past, so that their
// number stays bounded whatever dates strangers send. Pure.

/** A span: from the first instant, and before the second. */
export interface Times {
  readonly from: Date;
  readonly to: Date;
}

export interface Span extends Times {
  /** The part of a table's name: `202611`, or `2003`. */
  readonly name: string;
}

const monthsBack = 3;
const monthsAhead = 2;
/** Years; an older time has a partition for its whole year. */
const monthlyYears = 3;

/** The month, in UTC, of an instant, or the month that is `offset` months later. */
export function monthOf(ms: number, offset = 0): Span {
  const at = new Date(ms);
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset + 1));
  return { name: from.toISOString().slice(0, 7).replace('-', ''), from, to };
}

/** The year, in UTC, of an instant. */
export function yearOf(ms: number): Span {
  const year = new Date(ms).getUTCFullYear();
  return { name: String(year), from: new Date(Date.UTC(year, 0)), to: new Date(Date.UTC(year + 1, 0)) };
}

/**
 * The months that should have partitions at an instant, without months that retention has deleted.
 */
export function monthsAround(nowMs: number, keptSince: Date | null): Span[] {
  const months = Array.from({ length: monthsBack + 1 + monthsAhead }, (_, i) => monthOf(nowMs, i - monthsBack));
  return months.filter(({ to }) => keptSince === null || to > keptSince);
}

/**
 * The span of the partition that an event lacks; null when it has one. A whole year is chosen only
 * when none of its months has a partition, so that partitions do not overlap.
 */
export function missingSpan(atMs: number, nowMs: number, existing: readonly Times[]): Span | null {
  const meets = ({ from, to }: Times): boolean => existing.some((other) => other.from < to && from < other.to);
  if (meets({ from: new Date(atMs), to: new Date(atMs + 1) })) return null;
  const year = yearOf(atMs);
  const isFarPast = year.to <= monthOf(nowMs, -12 * monthlyYears).from;
  return isFarPast && !meets(year) ? year : monthOf(atMs);
}
