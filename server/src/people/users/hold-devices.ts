// The devices of users whose profiles are written, in the transaction that holds the locks on these
// people. The devices are locked by their ids, and kept up to date in memory while links change.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type DeviceOfUser, listAudienceRows } from '../audience/queries.ts';
import type { Device } from '../devices/device.ts';
import { insertFormerLinks } from '../devices/link-queries.ts';
import { type lockDevice, type lockDeviceUnlessBusy, updateIdentified } from '../devices/queries.ts';
import { unlinkDevices } from '../devices/unlink-devices.ts';
import type { Property } from '../properties/property.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import { listDevicesToUnlink } from './make-room.ts';

export interface HeldDevices {
  /** Returns whether a device that was named beside the users exists. */
  has(id: Uuid): boolean;
  /** Lists the devices of all these users, and the devices named beside them. */
  list(): Iterable<DeviceOfUser>;
  /** Lists the locked devices of a user. */
  listLocked(externalId: string): Device[];
  /** Devices that another transaction has locked, each with its user. */
  readonly busy: readonly DeviceOfUser[];
  /** The properties to copy, read after the locks. Empty when no device is locked. */
  readonly slotted: readonly Property[];
  /**
   * Links a locked device to a user, and makes room for it. Does nothing if the device belongs to
   * that user.
   */
  link(externalId: string, id: Uuid, write: (device: Device) => Promise<void>): Promise<void>;
}

/**
 * Locks those devices of `ofUsers` that belong to one of the users `writtenIds`, and the devices
 * `besideIds`, which may belong to anyone.
 */
export async function holdDevices(
  { tx, clock, appId }: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  ofUsers: readonly DeviceOfUser[],
  writtenIds: readonly string[],
  besideIds: readonly Uuid[],
  lock: typeof lockDevice | typeof lockDeviceUnlessBusy,
): Promise<HeldDevices> {
  const rows = new Map(ofUsers.map((row) => [row.deviceId, row]));
  const written = new Set(writtenIds);
  const ofWritten = ofUsers.filter(({ externalId }) => externalId !== null && written.has(externalId));
  const ids = [...new Set([...ofWritten.map(({ deviceId }) => deviceId), ...besideIds])].sort();
  const devices = new Map<Uuid, Device>();
  let slotted: readonly Property[] = [];
  if (ids.length > 0) {
    // One statement for each device, because a distributed database locks rows on one shard only.
    // The rows are read by a later statement, so that they include the writes of the previous lock
    // holder. The properties are read later too: before, another transaction could give a slot to a
    // key of a device.
    const locking = Promise.all(ids.map((id) => lock(tx, appId, id)));
    const reading = [listAudienceRows(tx, appId, ids), listSlottedAndNumbered(tx, appId, [])] as const;
    const [locked, afterwards, properties] = await Promise.all([locking, ...reading]);
    for (const device of locked) if (device) devices.set(device.id, device);
    for (const id of ids) rows.delete(id);
    for (const row of afterwards) rows.set(row.deviceId, row);
    slotted = properties;
  }
  const busy = ids.flatMap((id) => (devices.has(id) ? [] : (rows.get(id) ?? [])));

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
    busy,
    slotted,
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
