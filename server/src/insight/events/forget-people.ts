// Keeps the events of an erased person with their amounts and counts, without naming the person.
// The user's events stay under the former user id. Events of a device from before it had a user
// counted for the user too, and continue under a random id. Events from the time when the device
// had another user belong to that user.
import type { Sql, Tx } from '@carillon/postgres';
import { uuidFloorOf } from '../../ground/values/ids.ts';
import type { ErasureTurn } from '../../people/users/erasures.ts';
import {
  deleteDayCounts,
  type ForgottenDevice,
  insertDayCounts,
  moveDeviceEvents,
  updateForgottenUsers,
} from './erasure-queries.ts';
import { listEventNames, listSubjectDays } from './history-queries.ts';

/** Names in one statement, which looks up each name for each subject and month. */
const namesAtOnce = 20;

/**
 * Clears events name by name and day by day, from the turn's progress on. Each day is a transaction
 * of its own, so that tracking waits only briefly. May be repeated.
 */
export async function forgetPeople(sql: Sql, { appId, erasures, done, run }: ErasureTurn): Promise<void> {
  const userIds = erasures.map(({ userId }) => userId);
  const devices = erasures.flatMap(({ deviceIds, forgottenIds, at }) =>
    deviceIds.map((id, i): ForgottenDevice => ({ id, forgottenId: forgottenIds[i] ?? id, beforeId: uuidFloorOf(at) })),
  );
  const deviceIds = devices.map(({ id }) => id);
  const subjectIds = [...userIds, ...deviceIds];
  // First the remaining days of the name in progress, then the names after it.
  let names = done === null ? [] : [done.name];
  for (let after = done?.name ?? ''; ; ) {
    if (names.length === 0) names = await listEventNames(sql, appId, after, namesAtOnce);
    if (names.length === 0) return;
    for (const { name, day } of await listSubjectDays(sql, appId, names, subjectIds)) {
      if (done !== null && name === done.name && day <= done.day) continue;
      const asked = { appId, name, day };
      const clear = async (tx: Tx): Promise<void> => {
        await updateForgottenUsers(tx, asked, userIds);
        const counted = await deleteDayCounts(tx, asked, deviceIds);
        const moving = devices.filter(({ id }) => counted.has(id));
        if (moving.length === 0) return;
        await moveDeviceEvents(tx, asked, moving);
        const subjects = moving.flatMap(({ id, forgottenId }) => [id, forgottenId]);
        await insertDayCounts(tx, asked, subjects);
      };
      await run(clear, { name, day });
    }
    after = names.at(-1) ?? after;
    names = [];
  }
}
