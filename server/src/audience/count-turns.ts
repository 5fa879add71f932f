// Turns at counting an audience for somebody who only asks: a preview, a dry run. Counts have connections of their own, so that
// no burst of them stands before a send; here apps share those fairly, and who finds no turn in time is told to come again.
import { ApiError } from '../platform/api-error.ts';
import { createFairSlots, withSlotWithin } from '../platform/fair-slots.ts';
import type { Uuid } from '../platform/ids.ts';

export interface CountTurns {
  /** Counts when it is the app's turn. Throws the 503 when that is not within the time it may wait. */
  run<Result>(appId: Uuid, count: () => Promise<Result>): Promise<Result>;
}

export interface CountTurnsOptions {
  /** Counts at once in this process; no app has all of them. */
  readonly turnsMax: number;
  readonly waitMsMax: number;
}

/** By then those who were turned away have been served or are gone. */
const retryAfterMs = 2_000;

export function createCountTurns({ turnsMax, waitMsMax }: CountTurnsOptions): CountTurns {
  const slots = createFairSlots({ slotsMax: turnsMax, perFree: 1 });
  const tooLate = (): ApiError => {
    const message = 'Too many audiences are being counted at the moment. Try again.';
    return new ApiError('unavailable', { message, retryAfterMs });
  };
  return { run: (appId, count) => withSlotWithin(slots, appId, waitMsMax, tooLate, count) };
}
