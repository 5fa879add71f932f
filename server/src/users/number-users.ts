// Users who have none get numbers, which audiences are counted by: in an app from before everybody, and later whoever came by a
// request while none was at hand. A user's number comes to stand on all of their devices in one transaction, so that a count sees it on all or on none;
// whoever writes one of those rows meanwhile waits for it.

import {
  clearBitsOfNobody,
  listAppsWithUnnumbered,
  listUnnumbered,
  updateUserNumbers,
} from '../audience/number-queries.ts';
import { listDeviceIdsOfUsers } from '../audience/queries.ts';
import { lockDevicesById } from '../devices/queries.ts';
import { repeatOnDeadlock, type Sql, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { runAlone } from '../platform/run-alone.ts';
import { listNumbers, takeUserNumbers, updateNumbers } from './number-queries.ts';
import { lockPerson } from './queries.ts';

/** Any number that nothing else in this database locks. */
const numberLock = 4_271_960_139;
/** Held together: for some ten milliseconds. */
const usersAtOnceMost = 100;
const devicesAtOnce = 1_000;

/** Gives a number to everybody who has a device and none yet. To be run by any number of processes. False: another one is at it. */
export async function numberUsers({ sql }: { sql: Sql }, usersAtOnce = usersAtOnceMost): Promise<boolean> {
  return runAlone(sql, numberLock, async () => {
    for (const appId of await listAppsWithUnnumbered(sql)) {
      for (let after: string | undefined = ''; after !== undefined; ) {
        const externalIds: string[] = await listUnnumbered(sql, appId, after, usersAtOnce);
        if (externalIds.length > 0) await numberSome(sql, appId, externalIds);
        // Behind them, so that nobody whose number cannot be given is asked for again in this turn.
        after = externalIds.at(-1);
      }
      while ((await clearBitsOfNobody(sql, appId, devicesAtOnce)) === devicesAtOnce);
    }
  });
}

async function numberSome(sql: Sql, appId: Uuid, externalIds: readonly string[]): Promise<void> {
  // Outside of the transaction, so that nobody waits for its end who takes numbers too.
  const first = await takeUserNumbers(sql, appId, externalIds.length);
  await repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      // In the order of locks that migration 0003 names. Nobody can join these users from here on, and whoever leaves them was locked
      // and is left out below. A statement for each, since a distributed database locks rows on one shard only.
      await Promise.all([...externalIds].sort().map((externalId) => lockPerson(tx, appId, externalId)));
      await lockDevicesById(tx, appId, await listDeviceIdsOfUsers(tx, appId, externalIds));
      await updateNumbers(tx, appId, externalIds, first);
      await updateUserNumbers(tx, appId, await listNumbers(tx, appId, externalIds));
    }),
  );
}
