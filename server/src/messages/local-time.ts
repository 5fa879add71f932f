// One wall-clock time in many zones → instants (contract 5.20). Pure: what a zone is and when it changes is the runtime's to know.
import type { Instant } from '../platform/instant.ts';
import { createLocalClock } from '../platform/local-clock.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Where a day begins first. */
const firstOffsetMs = 14 * hourMs;

/** What to do about zones in which the time is past already. */
export const localTimePasts = ['refuse', 'now', 'skip'] as const;
export type LocalTimePast = (typeof localTimePasts)[number];

/** A time that counts on each device's own clock. */
export interface LocalTime {
  /** Its date and wall-clock time are meant as written; its offset is for devices without a zone. */
  readonly sendAt: Instant;
  readonly past: LocalTimePast;
}

/** A wall-clock time as milliseconds: those that it would be at UTC. */
export function wallMsOf({ ms, offsetMinutes }: Instant): number {
  return ms + offsetMinutes * minuteMs;
}

/** The earliest instant at which any device may be due: that of +14:00, or as written. */
export function earliestMsOf(sendAt: Instant): number {
  return Math.min(wallMsOf(sendAt) - firstOffsetMs, sendAt.ms);
}

/**
 * When a zone's clocks show a wall-clock time, or the next one that they do show (`platform/local-clock.ts`). Throws a RangeError
 * for a zone that the runtime does not know.
 */
export function localInstantMs(wallMs: number, zone: string): number {
  return createLocalClock(zone).instantMs(wallMs);
}

/** When a zone's devices are due. */
export interface ZoneDue {
  readonly zone: string;
  readonly dueAtMs: number;
  /** Its time was before the run: nothing is sent there. */
  readonly isSkipped: boolean;
}

/** When each zone is due of a message that runs then. A zone whose time is past by then is due with the run, or skipped. */
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

/** The instants of a wall-clock time in every zone there is. */
export type LocalInstants = (wallMs: number) => ReadonlyMap<string, number>;

const wallsKept = 20;

/** Remembers the last few: they cost tens of milliseconds each, and what is due together was mostly written alike. */
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
