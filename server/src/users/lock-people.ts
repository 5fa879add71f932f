// Gives many external ids their user ids at once. All of them stay locked until the
// transaction ends, so that writes about one user run one after the other.
import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
import { mintUuid, type Uuid } from '../ground/ids.ts';
import { claimPerson } from './claim-person.ts';
import { insertNewPeople } from './insert-many.ts';
import { listPeople, lockPerson } from './queries.ts';

/** Returns the user id of each external id, and whether this transaction minted it. */
export async function lockPeople(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  externalIds: Iterable<string>,
): Promise<Map<string, { readonly id: Uuid; readonly isNew: boolean }>> {
  const now = clock.date();
  const inOrder = [...new Set(externalIds)].sort();
  const people = new Map<string, { id: Uuid; isNew: boolean }>();
  if (inOrder.length === 0) return people;
  const known = await listPeople(tx, appId, inOrder);
  const unknown = inOrder.filter((externalId) => !known.has(externalId));
  const minted = unknown.map((externalId) => ({ externalId, id: mintUuid(now.getTime()), createdAt: now }));
  const added = minted.length === 0 ? new Set<string>() : await insertNewPeople(tx, appId, minted);
  for (const { externalId, id } of minted) if (added.has(externalId)) people.set(externalId, { id, isNew: true });
  const others = inOrder.filter((externalId) => !added.has(externalId));
  // One statement for each, because a distributed database locks rows on one shard only. The
  // statements are sent together, so that none waits for the answer to another.
  const locked = await Promise.all(others.map((externalId) => lockPerson(tx, appId, externalId)));
  for (const [i, externalId] of others.entries()) {
    people.set(externalId, { id: locked[i] ?? (await claimPerson(tx, clock, appId, externalId)), isNew: false });
  }
  return people;
}
