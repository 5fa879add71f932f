// When a message runs that names an instant: what send_at may be, alone and as a local time (contract 5.1, 5.20). Pure; the
// present is handed in.
import { invalid } from '../platform/api-error.ts';
import { type Instant, writeInstant } from '../platform/instant.ts';
import { earliestMsOf, type LocalTime, type LocalTimePast } from './local-time.ts';

const aheadMsLeast = 30_000;
const aheadMsMost = 365 * 24 * 3_600_000;

/** What a request says about its time. */
export interface Timing {
  readonly send_at: Instant;
  readonly local_time?: boolean | null | undefined;
  readonly local_time_past?: LocalTimePast | null | undefined;
}

export interface Schedule {
  readonly runAt: Date;
  /** Set: each device is due by its own clock. */
  readonly local: LocalTime | null;
}

/** Throws the 400 when it is too near, past, or too far. */
export function scheduleOf(timing: Timing, nowMs: number): Schedule {
  const sendAt = timing.send_at;
  const local = timing.local_time ? { sendAt, past: timing.local_time_past ?? 'refuse' } : null;
  const soonestMs = nowMs + aheadMsLeast;
  const earliestMs = local ? earliestMsOf(sendAt) : sendAt.ms;
  if (local?.past === 'refuse' && earliestMs < soonestMs) throw tooSoonSomewhere(sendAt, earliestMs, soonestMs);
  if (sendAt.ms < soonestMs) throw tooSoon('send_at must be at least 30 seconds ahead.');
  if (sendAt.ms - nowMs > aheadMsMost) {
    throw invalid([{ path: ['send_at'], code: 'too_big', message: 'send_at must be at most 365 days ahead.' }]);
  }
  // Where the earliest time is past or too near already, the message runs as soon as any may.
  return { runAt: new Date(Math.max(earliestMs, local ? Math.ceil(soonestMs) : earliestMs)), local };
}

function tooSoon(message: string, limit?: string) {
  return invalid([{ path: ['send_at'], code: 'too_soon', message, ...(limit !== undefined && { limit }) }]);
}

// In the offset that was written: with another, the same instant would be another time on the wall.
function tooSoonSomewhere(sendAt: Instant, earliestMs: number, soonestMs: number) {
  const limit = writeInstant({ ...sendAt, ms: Math.ceil(sendAt.ms + soonestMs - earliestMs) });
  return tooSoon(
    `In the first time zone, +14:00, this local time must be at least 30 seconds ahead: send_at from ${limit} on, or local_time_past.`,
    limit,
  );
}
