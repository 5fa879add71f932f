// The run time of a message with send_at: which values are allowed, alone and as a local time
// (contract 5.1, 5.20). Pure; the caller gives the present.

import { invalid } from '../../ground/http/api-error.ts';
import { type Instant, writeInstant } from '../../ground/values/instant.ts';
import { earliestMsOf, type LocalTime, type LocalTimePast } from './local-time.ts';

const aheadMsLeast = 30_000;
const aheadMsMost = 365 * 24 * 3_600_000;

/** The part of a request that concerns time. */
export interface Timing {
  readonly send_at: Instant;
  readonly local_time?: boolean | null | undefined;
  readonly local_time_past?: LocalTimePast | null | undefined;
}

export interface Schedule {
  readonly runAt: Date;
  /** Set when each device is due by its own clock. */
  readonly local: LocalTime | null;
}

/** The schedule of a request. Throws the 400 when its time is past, too near or too far. */
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
  // When the earliest zone's time is past or too near, the message runs 30 seconds from now.
  return { runAt: new Date(Math.max(earliestMs, local ? Math.ceil(soonestMs) : earliestMs)), local };
}

function tooSoon(message: string, limit?: string) {
  return invalid([{ path: ['send_at'], code: 'too_soon', message, ...(limit !== undefined && { limit }) }]);
}

// The limit has the offset of the request. In another offset the same instant would be another
// wall-clock time.
function tooSoonSomewhere(sendAt: Instant, earliestMs: number, soonestMs: number) {
  const limit = writeInstant({ ...sendAt, ms: Math.ceil(sendAt.ms + soonestMs - earliestMs) });
  return tooSoon(
    `In the first time zone, +14:00, this local time must be at least 30 seconds ahead: send_at from ${limit} on, or local_time_past.`,
    limit,
  );
}
