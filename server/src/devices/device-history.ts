// Every change of a device's status, with its reason: appended, never changed. Devices that their provider refused are
// retired here in bulk, and brought back when the credential turns out to be at fault. Works in the caller's transaction; all
// of it may be repeated, since only a device that is still in the former state changes.
import { updateActive } from '../audience/queries.ts';
import type { Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { InvalidReason } from './device.ts';
import {
  type DeviceChange,
  insertDeviceChanges,
  listRetiredByCredential,
  type Refusal,
  updateInvalid,
  updateRestored,
} from './history-queries.ts';

/** Notes changes of status. `credentialId`: whose refusals caused them, where they are to be undone with it. */
export async function appendChanges(
  tx: Tx,
  appId: Uuid,
  at: Date,
  changes: readonly DeviceChange[],
  credentialId: number | null = null,
): Promise<void> {
  const minted = changes.map((change) => ({ ...change, changeId: mintUuid(at.getTime()) }));
  if (minted.length > 0) await insertDeviceChanges(tx, appId, at, minted, credentialId);
}

export interface RefusedDevice {
  readonly deviceId: Uuid;
  readonly reason: Exclude<InvalidReason, 'replaced'>;
  /** When the provider says that the token ended; null where it does not say. */
  readonly goneAtMs?: number | null;
  /** `devices.registered_at` as it was read with the token that was refused. */
  readonly registeredAtMs?: number;
}

/**
 * Retires devices that are active still; the caller has locked them all by `lockDevicesById`. One that has registered since the provider's instant, or since the refused token was
 * read, keeps its status: the refusal was about what it had before. Returns how many changed.
 */
export async function invalidateDevices(
  tx: Tx,
  refused: {
    readonly appId: Uuid;
    /** Null where the credential cannot be at fault. */
    readonly credentialId: number | null;
    readonly at: Date;
    readonly items: readonly RefusedDevice[];
  },
): Promise<number> {
  const { appId, credentialId, at } = refused;
  if (refused.items.length === 0) return 0;
  const refusals = refused.items.map(({ deviceId, reason, goneAtMs, registeredAtMs }): Refusal => {
    const limitsMs = [at.getTime(), goneAtMs ?? Number.POSITIVE_INFINITY, registeredAtMs ?? Number.POSITIVE_INFINITY];
    return { deviceId, reason, registeredBy: new Date(Math.min(...limitsMs)) };
  });
  const changed = await updateInvalid(tx, appId, refusals);
  if (changed.length === 0) return 0;
  await updateActive(tx, appId, idsOf(changed), false);
  await appendChanges(tx, appId, at, changed, credentialId);
  return changed.length;
}

/**
 * Undoes what a credential's refusals did to devices since an instant: both changes stay in the history. The caller has locked
 * those devices (`listRetiredByCredential`, `lockDevicesById`). Returns how many are active again.
 */
export async function restoreDevices(
  tx: Tx,
  appId: Uuid,
  credentialId: number,
  since: Date,
  at: Date,
): Promise<number> {
  const retired = await listRetiredByCredential(tx, appId, credentialId, since);
  if (retired.length === 0) return 0;
  const changed = await updateRestored(tx, appId, credentialId, retired);
  if (changed.length === 0) return 0;
  await updateActive(tx, appId, idsOf(changed), true);
  await appendChanges(tx, appId, at, changed);
  return changed.length;
}

function idsOf(changes: readonly DeviceChange[]): Uuid[] {
  return changes.map((change) => change.deviceId).sort();
}
