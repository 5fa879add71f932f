// A report's range cut up: into days, weeks or months of a time zone, and into whole quarters of an hour, which are summed up
// beforehand, with what is left at either end. Pure.
import { createLocalClock } from '../platform/local-clock.ts';

export const groups = ['day', 'week', 'month'] as const;
export type Group = (typeof groups)[number];

/** Half-open, in milliseconds since the epoch. */
export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const dayMs = 86_400_000;
export const quarterMs = 900_000;

/**
 * The periods that a range touches, in order and without a gap, the first and the last cut to the range. Weeks begin on Monday. A
 * day that a zone never had (Samoa's 30 December 2011) is no period.
 */
export function periodsOf({ fromMs, toMs }: Range, group: Group | null, zone: string): Range[] {
  if (group === null) return [{ fromMs, toMs }];
  const clock = createLocalClock(zone);
  const starts = [fromMs];
  for (let wallMs = startOf(clock.wallMs(fromMs), group); ; ) {
    wallMs = nextStart(wallMs, group);
    const startMs = clock.instantMs(wallMs);
    if (startMs >= toMs) break;
    if (startMs > (starts.at(-1) ?? fromMs)) starts.push(startMs);
  }
  return starts.map((startMs, i) => ({ fromMs: startMs, toMs: starts[i + 1] ?? toMs }));
}

// Of a date on the wall, as milliseconds that it would be at UTC.
function startOf(wallMs: number, group: Group): number {
  const day = Math.floor(wallMs / dayMs);
  if (group === 'day') return day * dayMs;
  // Day 0 was a Thursday.
  if (group === 'week') return (day - ((day + 3) % 7)) * dayMs;
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function nextStart(wallMs: number, group: Group): number {
  if (group === 'day') return wallMs + dayMs;
  if (group === 'week') return wallMs + 7 * dayMs;
  const date = new Date(wallMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Which of the periods is an instant of the range in? */
export function periodIndexOf(periods: readonly Range[], atMs: number): number {
  let low = 0;
  let high = periods.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((periods[middle]?.fromMs ?? 0) <= atMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

export interface SplitRange {
  /** Whole quarters of an hour; empty where `fromMs` is `toMs`. */
  readonly inner: Range;
  /** What is left of the range: at most two, each within a quarter. */
  readonly edges: readonly Range[];
}

/**
 * Splits a range at quarters of an hour. Of an edge from before `keptSinceMs` no event is kept: its quarter counts wholly when its
 * first instant is in the range, and else not at all, so that ranges that meet still share nothing and lose nothing.
 */
export function splitRange({ fromMs, toMs }: Range, keptSinceMs: number = Number.NEGATIVE_INFINITY): SplitRange {
  const firstMs = Math.ceil(fromMs / quarterMs) * quarterMs;
  const lastMs = Math.floor(toMs / quarterMs) * quarterMs;
  if (firstMs > lastMs) {
    // All of it is within one quarter, whose first instant came before it.
    return { inner: { fromMs: firstMs, toMs: firstMs }, edges: fromMs < keptSinceMs ? [] : [{ fromMs, toMs }] };
  }
  const edges: Range[] = [];
  if (fromMs < firstMs && fromMs >= keptSinceMs) edges.push({ fromMs, toMs: firstMs });
  const endsInside = lastMs < toMs;
  if (endsInside && lastMs >= keptSinceMs) edges.push({ fromMs: lastMs, toMs });
  const isRounded = endsInside && lastMs < keptSinceMs;
  return { inner: { fromMs: firstMs, toMs: isRounded ? lastMs + quarterMs : lastMs }, edges };
}
