// The devices of users whose profiles are written, in the transaction that holds the locks on these
// people. The devices are locked by their ids, read once, and kept up to date in memory while links
// change.
import { type DeviceOfUser, listAudienceRows, listDevicesOfUsers } from '../audience/queries.ts';
import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
import type { Device } from '../devices/device.ts';
import { insertFormerLinks } from '../devices/link-queries.ts';
import { lockDevice, updateIdentified } from '../devices/queries.ts';
import { unlinkDevices } from '../devices/unlink-devices.ts';
import type { Uuid } from '../ground/ids.ts';
import { listDevicesToUnlink } from './make-room.ts';

export interface HeldDevices {
  /** Returns whether a device that was named beside the users exists. */
  has(id: Uuid): boolean;
  /** Lists the devices of all these users, and the devices named beside them. */
  list(): Iterable<DeviceOfUser>;
  /** Lists the locked devices of a user. */
  listLocked(externalId: string): Device[];
  /** Links a locked device to a user, unless the device is linked to that user; makes room for it. */
  link(externalId: string, id: Uuid, write: (device: Device) => Promise<void>): Promise<void>;
}

/**
 * Reads the devices of these users. Locks the devices of those users whose devices may be written, and
 * the devices `besideIds`, which may belong to anyone.
 */
export async function holdDevices(
  { tx, clock, appId }: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  externalIds: readonly string[],
  writtenIds: readonly string[],
  besideIds: readonly Uuid[],
): Promise<HeldDevices> {
  const rows = new Map<Uuid, DeviceOfUser>();
  for (const row of await listDevicesOfUsers(tx, appId, externalIds)) rows.set(row.deviceId, row);
  const written = new Set(writtenIds);
  const ofWritten = [...rows.values()].filter(({ externalId }) => externalId !== null && written.has(externalId));
  const ids = [...new Set([...ofWritten.map(({ deviceId }) => deviceId), ...besideIds])].sort();
  const devices = new Map<Uuid, Device>();
  if (ids.length > 0) {
    // One statement for each device, because a distributed database locks rows on one shard only. The
    // rows are read by a later statement, so that they include the writes of the previous lock holder.
    const locking = Promise.all(ids.map((id) => lockDevice(tx, appId, id)));
    const [locked, afterwards] = await Promise.all([locking, listAudienceRows(tx, appId, ids)]);
    for (const device of locked) if (device) devices.set(device.id, device);
    for (const id of ids) rows.delete(id);
    for (const row of afterwards) rows.set(row.deviceId, row);
  }

  const devicesOf = (externalId: string): Device[] =>
    [...devices.values()].filter(({ id }) => rows.get(id)?.externalId === externalId);
  const setOwner = (id: Uuid, externalId: string | null): void => {
    const row = rows.get(id);
    if (row) rows.set(id, { ...row, externalId });
  };
  return {
    has: (id) => devices.has(id),
    list: () => rows.values(),
    listLocked: devicesOf,
    async link(externalId, id, write) {
      const device = devices.get(id);
      if (!device || rows.get(id)?.externalId === externalId) return;
      const leaving = await listDevicesToUnlink(tx, appId, { externalId, deviceId: id, byClient: false });
      const unlinked = devicesOf(externalId).filter((each) => leaving.includes(each.id));
      await unlinkDevices(tx, clock, appId, unlinked);
      for (const each of unlinked) setOwner(each.id, null);
      await insertFormerLinks(tx, clock, appId, [id]);
      await updateIdentified(tx, clock, appId, id);
      await write(device);
      setOwner(id, externalId);
    },
  };
}
