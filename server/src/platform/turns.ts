// Turns at some work of which only so much is done at once in a process. Apps share the turns fairly, none of them ever has all,
// and an app that finds no turn in time is told to come again.
import { ApiError } from './api-error.ts';
import { createFairSlots, withSlotWithin } from './fair-slots.ts';
import type { Uuid } from './ids.ts';

export interface Turns {
  /** Does the work when it is the app's turn. Throws the 503 when that is not within the time it may wait. */
  run<Result>(appId: Uuid, work: () => Promise<Result>): Promise<Result>;
}

export interface TurnsOptions {
  /** At once in this process. */
  readonly turnsMax: number;
  readonly waitMsMax: number;
  /** What the 503 says. */
  readonly refusal: string;
  /** By then those who were turned away have been served or are gone. */
  readonly retryAfterMs: number;
}

export function createTurns({ turnsMax, waitMsMax, refusal, retryAfterMs }: TurnsOptions): Turns {
  const slots = createFairSlots({ slotsMax: turnsMax, perFree: 1 });
  const tooLate = (): ApiError => new ApiError('unavailable', { message: refusal, retryAfterMs });
  return { run: (appId, work) => withSlotWithin(slots, appId, waitMsMax, tooLate, work) };
}
