// The user id behind an external id: minted when the external id is first seen, by a profile, a link or an event. The row of
// `people` stays locked to the end of the transaction, so what is written about one user is written by one after the other.
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { insertPerson, lockPerson } from './queries.ts';

export async function claimPerson(tx: Tx, clock: Clock, appId: Uuid, externalId: string): Promise<Uuid> {
  for (;;) {
    const userId = await lockPerson(tx, appId, externalId);
    if (userId !== undefined) return userId;
    const newId = mintUuid(clock.nowMs());
    if (await insertPerson(tx, clock, appId, externalId, newId)) return newId;
    // Another transaction inserted it, or erased it again, in between: look once more.
  }
}
