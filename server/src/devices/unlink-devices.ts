// Devices become nobody's: the profile leaves their audience rows, and what they were is noted for those who look at what was sent then.
import { type DeviceToCopyTo, writeCopies } from '../audience/write-copies.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import { insertFormerLinks } from './link-queries.ts';
import { updateUnidentified } from './queries.ts';

/** The caller's transaction has locked the devices. */
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
  // Only now: until the devices were locked, others could give slots to keys that they hold.
  await writeCopies(tx, appId, { profile: null, devices, slotted: await listSlottedAndNumbered(tx, appId, []) });
}
