// Unlinks devices from their users: the profile is removed from their audience rows. The former
// user is stored, so that reports find the deliveries of that time.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type DeviceToCopyTo, writeCopies } from '../audience/write-copies.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import { insertFormerLinks } from './link-queries.ts';
import { updateUnidentified } from './queries.ts';

/** Unlinks devices that the caller's transaction has locked. */
export async function unlinkDevices(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  devices: readonly DeviceToCopyTo[],
): Promise<void> {
  if (devices.length === 0) return;
  const ids = devices.map(({ id }) => id);
  await insertFormerLinks(tx, clock, appId, ids);
  await updateUnidentified(tx, appId, ids);
  // The slots are read only after the locks. Before, another transaction could give a slot to a key
  // of these devices.
  await writeCopies(tx, appId, { profile: null, devices, slotted: await listSlottedAndNumbered(tx, appId, []) });
}
