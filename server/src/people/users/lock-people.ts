// Gives many external ids their user ids at once. All of them stay locked until the
// transaction ends, so that writes about one user run one after the other.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { insertNewPeople, insertNewPeopleBriefly } from './insert-many.ts';
import type { lockPerson, lockPersonUnlessBusy } from './queries.ts';

/**
 * Mints a user id for each external id that has none. Returns the ids that were minted: another
 * transaction may mint one at the same time, and is waited for. With `isBrief` the wait ends soon,
 * with 55P03.
 */
export async function mintPeople(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  inOrder: readonly string[],
  known: ReadonlyMap<string, Uuid>,
  isBrief = false,
): Promise<Map<string, Uuid>> {
  const now = clock.date();
  const minted = inOrder
    .filter((externalId) => !known.has(externalId))
    .map((externalId) => ({ externalId, id: mintUuid(now.getTime()), createdAt: now }));
  if (minted.length === 0) return new Map();
  const added = await (isBrief ? insertNewPeopleBriefly : insertNewPeople)(tx, appId, minted);
  return new Map(minted.flatMap(({ externalId, id }) => (added.has(externalId) ? [[externalId, id] as const] : [])));
}

/** Locks people in the given order, and returns the user ids of those that exist. */
export async function lockKnownPeople(
  tx: Tx,
  appId: Uuid,
  inOrder: readonly string[],
  lock: typeof lockPerson | typeof lockPersonUnlessBusy,
): Promise<Map<string, Uuid>> {
  // One statement for each, because a distributed database locks rows on one shard only. The
  // statements are sent together, so that none waits for the answer to another.
  const locked = await Promise.all(inOrder.map((externalId) => lock(tx, appId, externalId)));
  return new Map(locked.flatMap((id, i) => (id === undefined ? [] : [[inOrder[i] ?? '', id] as const])));
}
