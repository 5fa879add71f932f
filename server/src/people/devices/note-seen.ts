// Updates `last_seen_at` of devices that were seen at work. It is exact to ten minutes
// (contract 8); a caller omits the devices that do not need a write.

import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { raiseLastSeen } from '../audience/queries.ts';
import { lockDevicesById } from './queries.ts';

/**
 * Stores when each device was seen, in milliseconds since the epoch. An earlier instant than the
 * stored one changes nothing.
 */
export async function noteSeen(tx: Tx, appId: Uuid, seen: ReadonlyMap<Uuid, number>): Promise<void> {
  if (seen.size === 0) return;
  // Sent together: the second statement begins when the first has its locks.
  await Promise.all([lockDevicesById(tx, appId, seen.keys()), raiseLastSeen(tx, appId, seen)]);
}
