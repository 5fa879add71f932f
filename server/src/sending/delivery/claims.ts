// The claims of one process. After an outage the process at first takes over no expired lease
// . A claim whose answer was lost may have been granted. The process gives such a claim back,
// so that the batch does not wait for the lease and does not count a dead process.

import { isDatabaseState, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { wasWatched } from '../../ground/database/lookout.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import { type OutageWatch, ownersFirstMs } from './outage-watch.ts';
import { handBackClaims, type TakeOver } from './queries.ts';

export interface Claims {
  /** Asks for one batch. Rejects when the database does not answer. */
  claim(
    ask: (claimId: Uuid, takeOver: TakeOver) => Promise<ClaimedBatch | undefined>,
  ): Promise<ClaimedBatch | undefined>;
}

/**
 * Milliseconds. A claim that the server executes later than this takes over no expired lease,
 * because its process may have given up the connection. At the beginning of an outage the youngest
 * lease has ten seconds left, which is much longer.
 */
const answerMsMax = 8000;
/**
 * A claim without an answer is given back again every `lookEveryMs`, for `lookForMs`: a server that
 * was stopped may execute the claim late.
 */
const lookEveryMs = 1000;
const lookForMs = 30_000;

export function createClaims({
  sql,
  clock,
  outages,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly outages: OutageWatch;
}): Claims {
  /** For each claim, the time when it was first given back; undefined: not yet. */
  const unheard = new Map<Uuid, number | undefined>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  // Called before the next claim. So at most one claim is unanswered while the database does not
  // answer, instead of one a second.
  const giveBackUnheard = async (): Promise<void> => {
    const nowMs = clock.steadyMs();
    if (unheard.size === 0 || nowMs - lookedAtMs < lookEveryMs) return;
    await handBackClaims(sql, clock, [...unheard.keys()]);
    lookedAtMs = nowMs;
    for (const [claimId, sinceMs = nowMs] of unheard) {
      if (nowMs - sinceMs > lookForMs) unheard.delete(claimId);
      else unheard.set(claimId, sinceMs);
    }
  };

  return {
    async claim(ask) {
      let asked: Uuid | undefined;
      try {
        await giveBackUnheard();
        if (outages.mayAsk() && (await wasWatched(sql, ownersFirstMs))) outages.noteWasThere();
        const claimId = mintUuid(clock.nowMs());
        const before = new Date(clock.nowMs() + answerMsMax);
        asked = claimId;
        const read = clock.beginReading();
        const batch = await ask(claimId, outages.mayTakeOver() ? { before } : 'none');
        outages.noteAnswered();
        if (batch) read(batch.claimedAt.getTime());
        return batch;
      } catch (error) {
        if (isDatabaseState(error)) outages.noteAway();
        if (asked !== undefined) unheard.set(asked, undefined);
        lookedAtMs = Number.NEGATIVE_INFINITY;
        throw error;
      }
    },
  };
}
