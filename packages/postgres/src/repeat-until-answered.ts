// Waits for a database that is slow or unavailable, for repeatable work that must be done sooner or
// later.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseState, isPoolClosed } from './db.ts';

/** Milliseconds by which the wait grows with each refusal. */
const stepMs = 250;
/** Milliseconds. After an outage, work continues within this time. */
const waitMsMax = 1000;

/**
 * Repeats `work` until the database answers it. Any other error rejects at once, and so does a pool
 * that our own side closed. `work` gets the number of the try, from 1, and `noteRefusal` is called
 * for each failed one.
 */
export async function repeatUntilAnswered<Result>(
  work: (round: number) => Promise<Result>,
  noteRefusal: (error: unknown, round: number) => void,
): Promise<Result> {
  for (let round = 1; ; round++) {
    try {
      return await work(round);
    } catch (error) {
      if (!isDatabaseState(error) || isPoolClosed(error)) throw error;
      noteRefusal(error, round);
      // Random, so that callers of the same database do not all come back at once.
      const waitMs = Math.min(stepMs * round, waitMsMax) * (0.75 + Math.random() / 4);
      await sleep(waitMs);
    }
  }
}
