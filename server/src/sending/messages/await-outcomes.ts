// Waits for a message's outcomes, at most SEND_WAIT_MS. This process works a small send at once;
// workers work a large one, and their last commit notifies. The send goes on, whatever becomes of
// the wait.

import { repeatUntilAnswered, type Sql } from '@carillon/postgres';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { listOwnBatches } from '../delivery/queries.ts';
import { type RunDeps, runBatches } from '../delivery/run-batch.ts';
import type { OwnClaim } from './accept-message.ts';
import { isFinalStatus, reportOf } from './message.ts';
import { findMessageCounts, type MessageCounts } from './queries.ts';

/** Makes promises that resolve when a message has ended or may have ended. */
export interface Finishes {
  /**
   * Called by the topic's listener with the id of the message that ended. '' wakes every waiter,
   * because the connection was lost.
   */
  notify(messageId: Uuid | ''): void;
  wait(messageId: Uuid, timeoutMs: number): Promise<void>;
}

export function createFinishes(): Finishes {
  const waiting = new Map<Uuid, Set<() => void>>();
  return {
    notify(messageId) {
      const woken = messageId === '' ? [...waiting.values()] : [waiting.get(messageId) ?? new Set<() => void>()];
      for (const wakes of woken) for (const wake of wakes) wake();
    },
    wait(messageId, timeoutMs) {
      return new Promise((resolve) => {
        const wakes = waiting.get(messageId) ?? new Set();
        waiting.set(messageId, wakes);
        const done = (): void => {
          clearTimeout(timer);
          wakes.delete(done);
          if (wakes.size === 0) waiting.delete(messageId);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        wakes.add(done);
      });
    },
  };
}

export interface AwaitDeps {
  readonly sql: Sql;
  readonly finishes: Finishes;
  readonly run: RunDeps;
  readonly sendWaitMs: number;
  /** Counts work under way in this process, so that a stop waits for it. */
  readonly track: (work: Promise<unknown>) => void;
  readonly isStopping: () => boolean;
}

/** The time between looks at the message, in case a NOTIFY is lost. */
const lookEveryMs = 1000;

/** Resolves with the message's counters: all final, or the present ones when the time is up. */
export async function awaitOutcomes(
  deps: AwaitDeps,
  appId: Uuid,
  messageId: Uuid,
  claim: OwnClaim | null,
): Promise<MessageCounts> {
  const deadline = performance.now() + deps.sendWaitMs;
  if (claim !== null) {
    const work = workOwnBatches(deps, messageId, claim);
    deps.track(work);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise((resolve) => {
      timer = setTimeout(resolve, deps.sendWaitMs);
    });
    await Promise.race([work, tooLate]);
    clearTimeout(timer);
  }
  for (;;) {
    const counts = await findMessageCounts(deps.sql, appId, messageId);
    // Only possible for a repeated request whose message is deleted at this moment. The next repeat
    // makes a new message.
    if (!counts) throw new ApiError('unavailable');
    const leftMs = deadline - performance.now();
    // A canceled message may still get outcomes.
    const isOver = isFinalStatus(counts.status) && reportOf(counts).pending === undefined;
    if (isOver || leftMs <= 0 || deps.isStopping()) return counts;
    await deps.finishes.wait(messageId, Math.min(leftMs, lookEveryMs));
  }
}

// Works the message's batches in this process. Never rejects: a batch that cannot be worked here
// goes back to the queue, and the caller just waits.
async function workOwnBatches({ run, isStopping }: AwaitDeps, messageId: Uuid, claim: OwnClaim): Promise<void> {
  try {
    // Repeated until the database answers, because no other process would work these batches before
    // the lease ends.
    const read = run.clock.beginReading();
    const batches = await repeatUntilAnswered(
      () => listOwnBatches(run.sql, messageId, claim.id),
      (error, attempt) => run.log.warn({ err: error, message_id: messageId, attempt }, 'own batches not read'),
    );
    if (batches[0]) read(batches[0].claimedAt.getTime());
    await runBatches(run, batches, claim.claimedAtMs, isStopping);
  } catch (error) {
    run.log.error({ err: error, message_id: messageId }, 'a batch failed in the process that accepted it');
  }
}
