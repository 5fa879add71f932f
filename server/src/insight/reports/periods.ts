// Divides a report's range into days, weeks or months of a time zone. Also splits it into whole
// quarters of an hour, for which sums are stored, and the rest at both ends. Pure.
import { createLocalClock } from '../../ground/values/local-clock.ts';

export const groups = ['day', 'week', 'month'] as const;
export type Group = (typeof groups)[number];

/** A range in milliseconds since the epoch, without its end. */
export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

const dayMs = 86_400_000;
export const quarterMs = 900_000;

/**
 * The periods of a range, in order and without gaps, the first and the last cut to the range. Weeks
 * begin on Monday. A day that a zone never had (Samoa's 30 December 2011) is no period.
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

// The start of the period of a local time, given as the milliseconds of the same wall-clock time in
// UTC.
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

/** A part of a period, on one side of a cut. */
export interface Part {
  readonly part: Range;
  /** The index of its period. */
  readonly period: number;
  readonly isAfterCut: boolean;
}

/** Cuts periods at an instant, in order and without gaps: the period around it has two parts. */
export function cutAt(periods: readonly Range[], cutMs: number): Part[] {
  return periods.flatMap(({ fromMs, toMs }, period): Part[] => {
    if (cutMs <= fromMs || cutMs >= toMs) return [{ part: { fromMs, toMs }, period, isAfterCut: cutMs <= fromMs }];
    return [
      { part: { fromMs, toMs: cutMs }, period, isAfterCut: false },
      { part: { fromMs: cutMs, toMs }, period, isAfterCut: true },
    ];
  });
}

/** Returns the index of the period that contains an instant of the range. */
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
  /** Whole quarters of an hour; empty when `fromMs` equals `toMs`. */
  readonly inner: Range;
  /** The rest of the range: at most two parts, each within a quarter. */
  readonly edges: readonly Range[];
}

/**
 * Splits a range at quarters of an hour. For an edge before `keptSinceMs` no events are stored. Its
 * quarter then counts completely when its first instant is in the range, and otherwise not at all,
 * so that adjacent ranges neither share nor lose anything.
 */
export function splitRange({ fromMs, toMs }: Range, keptSinceMs: number = Number.NEGATIVE_INFINITY): SplitRange {
  const firstMs = Math.ceil(fromMs / quarterMs) * quarterMs;
  const lastMs = Math.floor(toMs / quarterMs) * quarterMs;
  if (firstMs > lastMs) {
    // The whole range lies within one quarter, after the quarter's first instant.
    return { inner: { fromMs: firstMs, toMs: firstMs }, edges: fromMs < keptSinceMs ? [] : [{ fromMs, toMs }] };
  }
  const edges: Range[] = [];
  if (fromMs < firstMs && fromMs >= keptSinceMs) edges.push({ fromMs, toMs: firstMs });
  const endsInside = lastMs < toMs;
  if (endsInside && lastMs >= keptSinceMs) edges.push({ fromMs: lastMs, toMs });
  const isRounded = endsInside && lastMs < keptSinceMs;
  return { inner: { fromMs: firstMs, toMs: isRounded ? lastMs + quarterMs : lastMs }, edges };
}
