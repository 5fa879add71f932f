// Gives numbers, by which audiences are counted, to users who have none: users from before numbers
// existed, and users who came by a request while no number was at hand. One transaction writes a
// user's number to all of their devices, so that a count sees it on all or on none. Another
// transaction that writes one of those rows waits.

import {
  clearBitsOfNobody,
  listAppsWithUnnumbered,
  listUnnumbered,
  updateUserNumbers,
} from '../audience/number-queries.ts';
import { listDeviceIdsOfUsers } from '../audience/queries.ts';
import { planWithoutValues, repeatOnDeadlock, type Sql, transaction } from '../database/db.ts';
import { runAlone } from '../database/run-alone.ts';
import { lockDevicesById } from '../devices/queries.ts';
import type { Uuid } from '../ground/ids.ts';
import { listNumbers, takeUserNumbers, updateNumbers } from './number-queries.ts';
import { lockPerson } from './queries.ts';

/** Users that are locked together, for some ten milliseconds. */
const usersAtOnceMost = 100;
const devicesAtOnce = 1_000;

/**
 * Gives a number to every user with a device and no number. Any number of processes may call it.
 * Returns false when another process is already doing so.
 */
export async function numberUsers({ sql }: { sql: Sql }, usersAtOnce = usersAtOnceMost): Promise<boolean> {
  return runAlone(sql, 'userNumbers', async () => {
    for (const appId of await listAppsWithUnnumbered(sql)) {
      for (let after: string | undefined = ''; after !== undefined; ) {
        const externalIds: string[] = await listUnnumbered(sql, appId, after, usersAtOnce);
        if (externalIds.length > 0) await numberSome(sql, appId, externalIds);
        // The next page begins after these users, so that a user whose number cannot be given is
        // not asked for again in this run.
        after = externalIds.at(-1);
      }
      while ((await clearBitsOfNobody(sql, appId, devicesAtOnce)) === devicesAtOnce);
    }
  });
}

async function numberSome(sql: Sql, appId: Uuid, externalIds: readonly string[]): Promise<void> {
  // The numbers are taken outside the transaction, so that other processes do not wait for its end
  // to take numbers.
  const first = await takeUserNumbers(sql, appId, externalIds.length);
  await repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      await planWithoutValues(tx);
      // In the order of locks that migration 0003 names. From here on no device can join these
      // users; a device that left them before is omitted below. One statement for each person,
      // because a distributed database locks rows on one shard only.
      await Promise.all([...externalIds].sort().map((externalId) => lockPerson(tx, appId, externalId)));
      await lockDevicesById(tx, appId, await listDeviceIdsOfUsers(tx, appId, externalIds));
      await updateNumbers(tx, appId, externalIds, first);
      await updateUserNumbers(tx, appId, await listNumbers(tx, appId, externalIds));
    }),
  );
}
