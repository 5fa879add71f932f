// Links a device to a user or to nobody. Works in the transaction that holds the lock on the user's
// row of `people`, so that no device joins or misses a change meanwhile.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { notFound } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { listDevicesOfUsers } from '../audience/queries.ts';
import { findLink, listReached } from '../devices/queries.ts';
import { holdDevices } from './hold-devices.ts';
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
  const isLink = wanted !== null && before.externalId !== wanted;
  const theirs = isLink ? await listDevicesOfUsers(tx, appId, [wanted]) : [];
  const others = theirs.filter((device) => device.deviceId !== deviceId);
  const leavingIds = await listDevicesToUnlink(others, (ids) => listReached(tx, appId, ids), byClient);
  const devices = await holdDevices({ tx, clock, appId }, { besideIds: [deviceId, ...leavingIds] });
  const link = devices.find(deviceId) && (await findLink(tx, appId, deviceId));
  if (!link) throw notFound();
  const { externalId, identifiedAt } = link;
  if (externalId === wanted) return { formerExternalId: undefined, identifiedAt };
  // A device may have gone to another user before it was locked.
  for (const id of leavingIds) if (devices.ownerOf(id) === wanted) devices.setOwner(id, null);
  devices.setOwner(deviceId, wanted);
  const since = await devices.write(new Map(user ? [[user.externalId, user]] : []));
  return { formerExternalId: externalId, identifiedAt: since };
}
