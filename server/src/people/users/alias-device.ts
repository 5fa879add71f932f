// Links a device to a user or to nobody, and locks the devices of a user. Works in the transaction that holds the lock on the user's row of `people`, so that no device
// joins or misses a change meanwhile.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { notFound } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { listAudienceRows, listDeviceIdsOfUser } from '../audience/queries.ts';
import { writeCopies } from '../audience/write-copies.ts';
import type { Device } from '../devices/device.ts';
import { insertFormerLinks } from '../devices/link-queries.ts';
import { findLink, lockDevice, lockDevicesById, updateIdentified } from '../devices/queries.ts';
import { unlinkDevices } from '../devices/unlink-devices.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import { listDevicesToUnlink } from './make-room.ts';
import type { User } from './user.ts';

export interface ChangedLink {
  /**
   * The external id of the former user: undefined when nothing changed, null when the device
   * belonged to nobody.
   */
  readonly formerExternalId: string | null | undefined;
  readonly identifiedAt: Date | null;
}

/**
 * Links the device to `user`, or to nobody; its former user loses it. The user's other devices are
 * not changed, except a device that makes room. Throws the 404 for a device that does not exist,
 * and the 400 when a client key finds no room.
 */
export async function linkDevice(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { deviceId, user, byClient }: { readonly deviceId: Uuid; readonly user: User | null; readonly byClient: boolean },
): Promise<ChangedLink> {
  const wanted = user?.externalId ?? null;
  const before = await findLink(tx, appId, deviceId);
  if (!before) throw notFound();
  const isLink = user !== null && before.externalId !== wanted;
  const leavingIds = isLink
    ? await listDevicesToUnlink(tx, appId, { externalId: user.externalId, deviceId, byClient })
    : [];
  await lockDevicesById(tx, appId, [deviceId, ...leavingIds]);
  const device = await lockDevice(tx, appId, deviceId);
  const link = device && (await findLink(tx, appId, deviceId));
  if (!device || !link) throw notFound();
  const { externalId, identifiedAt } = link;
  if (externalId === wanted) return { formerExternalId: undefined, identifiedAt };
  await unlinkDevices(tx, clock, appId, await listStillLinked(tx, appId, leavingIds, wanted));
  if (user === null) {
    await unlinkDevices(tx, clock, appId, [device]);
    return { formerExternalId: externalId, identifiedAt: null };
  }
  await insertFormerLinks(tx, clock, appId, [deviceId]);
  const since = await updateIdentified(tx, clock, appId, deviceId);
  // The slots are read only after the lock. Before, another transaction could give a slot to a key
  // of the device.
  const slotted = await listSlottedAndNumbered(tx, appId, []);
  await writeCopies(tx, appId, { profile: { ...user, userId: user.id }, devices: [device], slotted });
  return { formerExternalId: externalId, identifiedAt: since };
}

/**
 * Selects the locked devices that still belong to the user: a device may have gone to another user
 * before it was locked.
 */
async function listStillLinked(
  tx: Tx,
  appId: Uuid,
  ids: readonly Uuid[],
  externalId: string | null,
): Promise<Device[]> {
  const found: Device[] = [];
  for (const id of ids) {
    const device = await lockDevice(tx, appId, id);
    if (device && (await findLink(tx, appId, id))?.externalId === externalId) found.push(device);
  }
  return found;
}

/** Locks a user's devices. Devices that went to another user meanwhile are omitted. */
export async function lockDevicesOfUser(tx: Tx, appId: Uuid, externalId: string): Promise<Device[]> {
  const ids = await listDeviceIdsOfUser(tx, appId, externalId);
  const devices: Device[] = [];
  // One statement for each device, in the order of ids, because a distributed database locks rows
  // on one shard only.
  for (const id of ids) {
    const device = await lockDevice(tx, appId, id);
    if (device) devices.push(device);
  }
  if (devices.length === 0) return [];
  const rows = await listAudienceRows(tx, appId, ids);
  const owners = new Map(rows.map((row) => [row.deviceId, row.externalId]));
  return devices.filter(({ id }) => owners.get(id) === externalId);
}
