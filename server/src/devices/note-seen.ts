// Devices were seen at work: their `last_seen_at` follows. Exact to ten minutes (contract 8); whoever calls this leaves out what is
// not worth a write.
import { raiseLastSeen } from '../audience/queries.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { lockDevicesById } from './queries.ts';

/** Notes when each device was seen, in milliseconds since the epoch; earlier than what is known changes nothing. */
export async function noteSeen(tx: Tx, appId: Uuid, seen: ReadonlyMap<Uuid, number>): Promise<void> {
  if (seen.size === 0) return;
  // Sent together: the second statement begins when the first has its locks.
  await Promise.all([lockDevicesById(tx, appId, seen.keys()), raiseLastSeen(tx, appId, seen)]);
}
