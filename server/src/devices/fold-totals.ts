// Keeps the sums of devices' states small and right: folds what transactions append, compares the
// sums with the devices, and counts the history again on request.
import type { Clock } from '../database/clock.ts';
import { type Sql, transaction } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import {
  correctDeviceTotals,
  foldDeviceDeltas,
  lockDeviceTotals,
  recountDeviceTotals,
  tryLockDeviceTotals,
} from './totals-queries.ts';

const foldedAtOnce = 20_000;

/**
 * Folds all deltas. Any number of processes may call it, every few seconds. While an app is counted
 * again it folds nothing and does not wait.
 */
export async function foldDeviceTotals({ sql }: { readonly sql: Sql }): Promise<void> {
  while ((await foldDeviceDeltas(sql, foldedAtOnce)) === foldedAtOnce);
}

/**
 * Makes the number of an app's active devices right, which a process of the version before changes
 * without adding to the sums. Does nothing while the sums are folded or counted again.
 */
export async function compareDeviceTotals(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
): Promise<void> {
  await transaction(sql, async (tx) => {
    if (await tryLockDeviceTotals(tx)) await correctDeviceTotals(tx, clock, appId);
  });
}

/**
 * Counts an app's sums again from the history of its devices. Needs a connection without a time
 * limit: ten million devices take minutes. Times in the history are not in the order of commits, so
 * the number of active devices comes from the devices themselves.
 */
export async function rebuildDeviceTotals(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
): Promise<void> {
  await transaction(sql, async (tx) => {
    await lockDeviceTotals(tx);
    await recountDeviceTotals(tx, appId);
    await correctDeviceTotals(tx, clock, appId);
  });
}
