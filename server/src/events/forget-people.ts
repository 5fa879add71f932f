// Events stay when a person is erased, with their amounts and counts; they name nobody any more. Those of the user stay under the
// former user id. What a device did before it was anybody's counted for the user too: it goes on under a random id. What a device
// did as another user's is that user's.
import type { Sql, Tx } from '../platform/db.ts';
import { uuidFloorOf } from '../platform/ids.ts';
import type { ErasureTurn } from '../users/erasures.ts';
import {
  deleteDayCounts,
  type ForgottenDevice,
  insertDayCounts,
  moveDeviceEvents,
  updateForgottenUsers,
} from './erasure-queries.ts';
import { listEventNames, listSubjectDays } from './history-queries.ts';

/** A statement looks up each of them for each subject and month. */
const namesAtOnce = 20;

/**
 * Name by name and day by day, from where the turn has come to: each is a transaction of its own, so that whoever tracks waits for
 * little. May be repeated.
 */
export async function forgetPeople(sql: Sql, { appId, erasures, done, run }: ErasureTurn): Promise<void> {
  const userIds = erasures.map(({ userId }) => userId);
  const devices = erasures.flatMap(({ deviceIds, forgottenIds, at }) =>
    deviceIds.map((id, i): ForgottenDevice => ({ id, forgottenId: forgottenIds[i] ?? id, beforeId: uuidFloorOf(at) })),
  );
  const deviceIds = devices.map(({ id }) => id);
  const subjectIds = [...userIds, ...deviceIds];
  // The days of the name that was begun first; the names after it follow.
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
