// Counts the profiles that have a value, for catalogs of apps that are too large to count at each
// request. One process at a time counts, under an advisory lock; no request waits for a count.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { runAlone } from '../../ground/database/run-alone.ts';
import {
  countUsersByProperty,
  listCatalogsToCount,
  listPropertyNumbers,
  updateCountedAt,
  updateUsersCount,
} from './queries.ts';

/** Contract 5.4 allows an hour; the rest of the hour is for the count itself. */
const countAfterMinutes = 45;

export interface PropertyCounter {
  /**
   * Counts every catalog whose count is due. Any number of processes may call it, every few
   * minutes.
   */
  runOnce(): Promise<void>;
}

export function createPropertyCounter({ sql, clock }: { sql: Sql; clock: Clock }): PropertyCounter {
  return {
    async runOnce() {
      await runAlone(sql, 'countedProperties', async () => {
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
