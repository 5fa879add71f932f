// Limits how many pieces of some work run at once in a process. Apps share the turns fairly, none
// of them ever has all, and an app that gets no turn in time is refused with a time to retry.

import { createFairSlots, withSlotWithin } from '../pacing/fair-slots.ts';
import type { Uuid } from '../values/ids.ts';
import { ApiError } from './api-error.ts';

export interface Turns {
  /** Runs the work when it is the app's turn. Throws the 503 after a wait of `waitMsMax`. */
  run<Result>(appId: Uuid, work: () => Promise<Result>): Promise<Result>;
}

export interface TurnsOptions {
  /** Turns that run at once in this process. */
  readonly turnsMax: number;
  readonly waitMsMax: number;
  /** The message of the 503. */
  readonly refusal: string;
  /**
   * Milliseconds after which the callers in front are usually served or gone. Sent as
   * `Retry-After`.
   */
  readonly retryAfterMs: number;
}

export function createTurns({ turnsMax, waitMsMax, refusal, retryAfterMs }: TurnsOptions): Turns {
  const slots = createFairSlots({ slotsMax: turnsMax, perFree: 1 });
  const tooLate = (): ApiError => new ApiError('unavailable', { message: refusal, retryAfterMs });
  return { run: (appId, work) => withSlotWithin(slots, appId, waitMsMax, tooLate, work) };
}
