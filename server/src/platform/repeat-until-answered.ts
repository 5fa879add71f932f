// Outlasts a database that is slow or away: for what must be written or asked sooner or later, and may be repeated.
import { isDatabaseState, isPoolClosed } from './db.ts';

/** The wait grows by so much with each refusal: an outage ends within the longest one. */
const stepMs = 250;
const waitMsMax = 2000;

/**
 * Repeats `work` until the database answers it. Any other error rejects at once, and so does our own end of the pool.
 * `work` is told which try it is, from 1, and `noteRefusal` of each one that came to nothing.
 */
export async function repeatUntilAnswered<Result>(
  work: (attempt: number) => Promise<Result>,
  noteRefusal: (error: unknown, attempt: number) => void,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!isDatabaseState(error) || isPoolClosed(error)) throw error;
      noteRefusal(error, attempt);
      // Those who wait for the same database do not all come back in one instant.
      const waitMs = Math.min(stepMs * attempt, waitMsMax) * (0.75 + Math.random() / 4);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}
