// Whose external ids are these? Someone whom only events named has a user id and no profile.
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { insertPeople, listPeople } from './queries.ts';

/** The user ids behind external ids, minted where one is first seen. Waits for a transaction that is just minting one of them. */
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
    // In everybody's order. Whom another transaction inserted, or erased again, in between, is looked for once more.
    await insertPeople(
      tx,
      clock,
      appId,
      missing.sort().map((externalId) => ({ externalId, userId: mintUuid(clock.nowMs()) })),
    );
  }
}
