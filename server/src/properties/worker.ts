// Counts the profiles that have a value, for the catalog of apps too large to be counted as they are asked for. One process
// at a time does it, under an advisory lock; a count never stands in the way of a request.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { runAlone } from '../platform/run-alone.ts';
import {
  countUsersByProperty,
  listCatalogsToCount,
  listPropertyNumbers,
  updateCountedAt,
  updateUsersCount,
} from './queries.ts';

/** Contract 5.4 allows an hour; what is left is for the count itself. */
const countAfterMinutes = 45;

/** Any number that nothing else in this database locks. */
const countingLock = 4_271_960_131;

export interface PropertyCounter {
  /** Brings every catalog up to date that is due. To be run every few minutes, by any number of processes. */
  runOnce(): Promise<void>;
}

export function createPropertyCounter({ sql, clock }: { sql: Sql; clock: Clock }): PropertyCounter {
  return {
    async runOnce() {
      await runAlone(sql, countingLock, async () => {
        for (const appId of await listCatalogsToCount(sql, clock, countAfterMinutes)) await countOne(appId);
      });
    },
  };

  async function countOne(appId: string): Promise<void> {
    const startedAt = clock.date();
    const counts = await countUsersByProperty(sql, appId);
    for (const id of await listPropertyNumbers(sql, appId)) await updateUsersCount(sql, appId, id, counts.get(id) ?? 0);
    await updateCountedAt(sql, appId, startedAt);
  }
}
