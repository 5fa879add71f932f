// The user id of an external id, minted when a profile, a link or an event names the external id
// first. The row of `people` stays locked until the transaction ends, so that writes about one user
// run one after the other.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { insertPerson, lockPerson } from './queries.ts';

export async function claimPerson(tx: Tx, clock: Clock, appId: Uuid, externalId: string): Promise<Uuid> {
  for (;;) {
    const userId = await lockPerson(tx, appId, externalId);
    if (userId !== undefined) return userId;
    const newId = mintUuid(clock.nowMs());
    if (await insertPerson(tx, clock, appId, externalId, newId)) return newId;
    // Another transaction inserted or erased the row in between: look it up again.
  }
}
