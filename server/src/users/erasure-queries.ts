// SQL: erased users of whom something is still to be cleared.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface Erasure {
  readonly appId: Uuid;
  /** Resolves to nobody any more. */
  readonly userId: Uuid;
  /** The devices that were theirs. */
  readonly deviceIds: readonly Uuid[];
  /** In the same order: the random id under which what a device did before `at` goes on. */
  readonly forgottenIds: readonly Uuid[];
  readonly at: Date;
}

/** Notes that something is to be cleared. */
export async function insertErasure(tx: Tx, erasure: Erasure): Promise<void> {
  const { appId, userId, deviceIds, forgottenIds, at } = erasure;
  await tx`
    INSERT INTO erasures (app_id, user_id, device_ids, forgotten_ids, at)
    VALUES (${appId}, ${userId}, ${deviceIds as Uuid[]}::uuid[], ${forgottenIds as Uuid[]}::uuid[], ${at})`;
}
