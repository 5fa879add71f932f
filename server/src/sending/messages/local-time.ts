// Turns one wall-clock time into its instants in many zones (contract 5.20). Pure: the runtime
// knows the zones and their changes.
import type { Instant } from '../../ground/values/instant.ts';
import { createLocalClock } from '../../ground/values/local-clock.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The first zone in which a day begins, +14:00. */
const firstOffsetMs = 14 * hourMs;

/** The choices for zones in which the time is already past. */
export const localTimePasts = ['refuse', 'now', 'skip'] as const;
export type LocalTimePast = (typeof localTimePasts)[number];

/** A time that is read on each device's own clock. */
export interface LocalTime {
  /** The wall-clock date and time count as written. The offset is for devices without a zone. */
  readonly sendAt: Instant;
  readonly past: LocalTimePast;
}

/** A wall-clock time as the milliseconds that it would have in UTC. */
export function wallMsOf({ ms, offsetMinutes }: Instant): number {
  return ms + offsetMinutes * minuteMs;
}

/**
 * The earliest instant at which any device may be due: the time in +14:00, or in the written
 * offset.
 */
export function earliestMsOf(sendAt: Instant): number {
  return Math.min(wallMsOf(sendAt) - firstOffsetMs, sendAt.ms);
}

/**
 * The instant at which a zone's clocks show a wall-clock time. For a time that they skip, the first
 * instant after it (`values/local-clock.ts`). Throws a RangeError for a zone unknown to the
 * runtime.
 */
export function localInstantMs(wallMs: number, zone: string): number {
  return createLocalClock(zone).instantMs(wallMs);
}

/** The time when a zone's devices are due. */
export interface ZoneDue {
  readonly zone: string;
  readonly dueAtMs: number;
  /** The zone's time was before the run, so nothing is sent. */
  readonly isSkipped: boolean;
}

/**
 * The time when each zone is due, for a message that runs at `runAtMs`. A zone whose time is past
 * at the run is due with the run, or skipped.
 */
export function zonesDue(
  { past }: LocalTime,
  runAtMs: number,
  instants: ReadonlyMap<string, number>,
): readonly ZoneDue[] {
  return [...instants].map(([zone, ms]) => ({
    zone,
    dueAtMs: Math.max(ms, runAtMs),
    isSkipped: past === 'skip' && ms < runAtMs,
  }));
}

/** The instants of a wall-clock time in every known zone. */
export type LocalInstants = (wallMs: number) => ReadonlyMap<string, number>;

const wallsKept = 20;

/**
 * Remembers the instants of the last 20 times. They cost tens of milliseconds each, and messages
 * that are due together mostly name the same time.
 */
export function createLocalInstants(zoneNames: () => readonly string[]): LocalInstants {
  const kept = new Map<number, ReadonlyMap<string, number>>();
  return (wallMs) => {
    const known = kept.get(wallMs);
    if (known) return known;
    const instants = new Map(zoneNames().map((zone) => [zone, localInstantMs(wallMs, zone)]));
    const [oldest] = kept.keys();
    if (oldest !== undefined && kept.size >= wallsKept) kept.delete(oldest);
    kept.set(wallMs, instants);
    return instants;
  };
}
