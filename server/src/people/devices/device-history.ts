// The history of device states: every change with its reason, appended and never altered. Devices
// that their provider refused are retired here in bulk, and restored when the credential was at
// fault. Works in the caller's transaction. Everything may be repeated, because only a device that
// is still in the former state changes.

import type { Tx } from '@carillon/postgres';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { updateActive } from '../audience/queries.ts';
import type { InvalidReason } from './device.ts';
import { type StatusChange, totalChanges } from './device-totals.ts';
import {
  type DeviceChange,
  insertDeviceChanges,
  listRetiredByCredential,
  type Refusal,
  updateInvalid,
  updateRestored,
} from './history-queries.ts';
import { addDeviceDeltas } from './totals-queries.ts';

/** A change of a device's status, and the status before. */
export interface NotedChange extends DeviceChange, Pick<StatusChange, 'former'> {
  /**
   * The credential whose refusal caused the change, so that the change can be undone when the
   * credential was at fault.
   */
  readonly credentialId?: number | null;
}

/** Appends changes of status, and adds them to the sums. */
export async function appendChanges(tx: Tx, appId: Uuid, at: Date, changes: readonly NotedChange[]): Promise<void> {
  if (changes.length === 0) return;
  const minted = changes.map((change) => {
    return { ...change, credentialId: change.credentialId ?? null, changeId: mintUuid(at.getTime()) };
  });
  // Sent together, so that neither waits for the answer to the other.
  await Promise.all([
    insertDeviceChanges(tx, appId, at, minted),
    addDeviceDeltas(tx, appId, totalChanges(changes.map((change) => ({ ...change, at })))),
  ]);
}

export interface RefusedDevice {
  readonly deviceId: Uuid;
  readonly reason: Exclude<InvalidReason, 'replaced'>;
  /** Null when the credential cannot be at fault. */
  readonly credentialId: number | null;
  /**
   * The instant at which the token ended, in milliseconds, according to the provider; null when it
   * does not say.
   */
  readonly goneAtMs?: number | null;
  /**
   * The later of `devices.registered_at` and `devices.changed_at`, in milliseconds, as read together
   * with the refused token.
   */
  readonly storedAtMs?: number;
}

/**
 * Retires those of the devices that are still active, by one statement that locks them in the order
 * of their ids. A caller whose transaction also changes devices by another statement has locked all
 * of them before (`lockDevicesById`). A device keeps its status when it registered after the
 * provider's instant, and when it registered or changed in any way after the refused token was
 * read. The refusal may then be about its earlier token or environment, and the next push finds a
 * dead token again. Returns how many changed.
 */
export async function invalidateDevices(
  tx: Tx,
  { appId, at, items }: { readonly appId: Uuid; readonly at: Date; readonly items: readonly RefusedDevice[] },
): Promise<number> {
  if (items.length === 0) return 0;
  const refusals = items.map(({ deviceId, reason, goneAtMs, storedAtMs }): Refusal => {
    const registeredBy = new Date(Math.min(at.getTime(), goneAtMs ?? Number.POSITIVE_INFINITY));
    return { deviceId, reason, registeredBy, storedBy: new Date(storedAtMs ?? at) };
  });
  const changed = await updateInvalid(tx, appId, refusals);
  if (changed.length === 0) return 0;
  const credentialOf = new Map(items.map(({ deviceId, credentialId }) => [deviceId, credentialId]));
  const noted = changed.map((change) => {
    return { ...change, former: 'active' as const, credentialId: credentialOf.get(change.deviceId) ?? null };
  });
  // Sent together, so that neither waits for the answer to the other.
  await Promise.all([updateActive(tx, appId, idsOf(changed), false), appendChanges(tx, appId, at, noted)]);
  return changed.length;
}

/**
 * Undoes the retirements that a credential's refusals caused since an instant; both changes stay in
 * the history. The caller has locked these devices (`listRetiredByCredential`, `lockDevicesById`).
 * Returns how many are active again.
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
  await appendChanges(
    tx,
    appId,
    at,
    changed.map((change) => ({ ...change, former: 'invalid' })),
  );
  return changed.length;
}

function idsOf(changes: readonly DeviceChange[]): Uuid[] {
  return changes.map((change) => change.deviceId).sort();
}
