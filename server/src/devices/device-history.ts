// The history of device states: every change with its reason, appended and never altered. Devices
// that their provider refused are retired here in bulk, and restored when the credential was at
// fault. Works in the caller's transaction. Everything may be repeated, because only a device that
// is still in the former state changes.
import { updateActive } from '../audience/queries.ts';
import type { Tx } from '../database/db.ts';
import { mintUuid, type Uuid } from '../ground/ids.ts';
import type { DeviceStatus, InvalidReason } from './device.ts';
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
export type NotedChange = DeviceChange & Pick<StatusChange, 'former'>;

/**
 * Appends changes of status, and adds them to the sums. `credentialId`: the credential whose
 * refusals caused them, so that they can be undone when it was at fault.
 */
export async function appendChanges(
  tx: Tx,
  appId: Uuid,
  at: Date,
  changes: readonly NotedChange[],
  credentialId: number | null = null,
): Promise<void> {
  if (changes.length === 0) return;
  const minted = changes.map((change) => ({ ...change, changeId: mintUuid(at.getTime()) }));
  // Sent together, so that neither waits for the answer to the other.
  await Promise.all([
    insertDeviceChanges(tx, appId, at, minted, credentialId),
    addDeviceDeltas(tx, appId, totalChanges(changes.map((change) => ({ ...change, at })))),
  ]);
}

const after = (former: DeviceStatus, changes: readonly DeviceChange[]): NotedChange[] =>
  changes.map((change) => ({ ...change, former }));

export interface RefusedDevice {
  readonly deviceId: Uuid;
  readonly reason: Exclude<InvalidReason, 'replaced'>;
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
 * Retires those of the devices that are still active. The caller has locked them all by
 * `lockDevicesById`. A device keeps its status when it registered after the provider's instant, and
 * when it registered or changed in any way after the refused token was read. The refusal may then be
 * about its earlier token or environment, and the next push finds a dead token again. Returns how
 * many changed.
 */
export async function invalidateDevices(
  tx: Tx,
  refused: {
    readonly appId: Uuid;
    /** Null when the credential cannot be at fault. */
    readonly credentialId: number | null;
    readonly at: Date;
    readonly items: readonly RefusedDevice[];
  },
): Promise<number> {
  const { appId, credentialId, at } = refused;
  if (refused.items.length === 0) return 0;
  const refusals = refused.items.map(({ deviceId, reason, goneAtMs, storedAtMs }): Refusal => {
    const registeredBy = new Date(Math.min(at.getTime(), goneAtMs ?? Number.POSITIVE_INFINITY));
    return { deviceId, reason, registeredBy, storedBy: new Date(storedAtMs ?? at) };
  });
  const changed = await updateInvalid(tx, appId, refusals);
  if (changed.length === 0) return 0;
  await updateActive(tx, appId, idsOf(changed), false);
  await appendChanges(tx, appId, at, after('active', changed), credentialId);
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
  await appendChanges(tx, appId, at, after('invalid', changed));
  return changed.length;
}

function idsOf(changes: readonly DeviceChange[]): Uuid[] {
  return changes.map((change) => change.deviceId).sort();
}
