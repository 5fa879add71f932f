// Finds or creates the user ids of many external ids. A person that only events named has a user id
// and no profile.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { insertPeople, listPeople } from './queries.ts';

/**
 * Returns the user id of each external id, and mints one for an external id that is new. Waits for
 * a transaction that mints the same one.
 */
export async function claimPeople(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string, Uuid>> {
  if (externalIds.length === 0) return new Map();
  for (;;) {
    const people = await listPeople(tx, appId, externalIds);
    const missing = externalIds.filter((externalId) => !people.has(externalId));
    if (missing.length === 0) return people;
    // In the order of external ids, which every transaction uses. An external id that another
    // transaction inserted or erased in between is looked up again.
    await insertPeople(
      tx,
      clock,
      appId,
      missing.sort().map((externalId) => ({ externalId, userId: mintUuid(clock.nowMs()) })),
    );
  }
}
