// Claims as one process asks for them. After an outage it takes over nothing at first. And a claim whose answer was lost may
// have been granted: the process gives it back, so that nobody waits for its lease and the batch is not held to have lost a
// process.
import type { Clock } from '../platform/clock.ts';
import { isDatabaseState, type Sql } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import type { OutageWatch } from './outage-watch.ts';
import { handBackClaims, type TakeOver } from './queries.ts';

export interface Claims {
  /** Asks for one batch. Rejects when the database does not answer. */
  claim(
    ask: (claimId: Uuid, takeOver: TakeOver) => Promise<ClaimedBatch | undefined>,
  ): Promise<ClaimedBatch | undefined>;
}

/**
 * A claim that the server comes to later takes over nothing: its process may have given up the connection. Well below the ten
 * seconds that the youngest lease has left when an outage begins.
 */
const answerMsMax = 8000;
/** A claim that was not heard of is looked for so often and so long: a server that was stopped may come to it late. */
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
  /** By claim, when it was first looked for; undefined: not yet. */
  const unheard = new Map<Uuid, number | undefined>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  // Asked before the next claim: while nobody answers, one claim is unheard and not one a second.
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
        const claimId = mintUuid(clock.nowMs());
        const before = new Date(clock.nowMs() + answerMsMax);
        asked = claimId;
        const batch = await ask(claimId, outages.mayTakeOver() ? { before } : 'none');
        outages.noteAnswered();
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
