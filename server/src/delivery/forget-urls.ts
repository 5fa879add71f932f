// Addresses that were rendered for a person may carry their name or mail, and clicks are led to them. Of an erased user, and of what
// their devices got before they were anybody's, they are taken out of the deliveries; the deliveries stay. Literal addresses stand in
// the message and go on leading where they lead.
import { uuidFloorOf } from '../platform/ids.ts';
import type { ErasureTurn } from '../users/erasures.ts';
import { clearUrls } from './outcome-queries.ts';

/** Whoever marks one of these deliveries meanwhile waits for so many at most. */
const deliveriesAtOnce = 5_000;

/** May be repeated. */
export async function forgetUrls({ erasures, run }: Pick<ErasureTurn, 'erasures' | 'run'>): Promise<void> {
  const userIds = erasures.map(({ userId }) => userId);
  // A device may have become somebody else's, or nobody's again, since then: what it gets now is not the erased user's.
  const devices = erasures.flatMap(({ deviceIds, at }) =>
    deviceIds.map((id) => ({ id, beforeBatch: uuidFloorOf(at) })),
  );
  for (let cleared = deliveriesAtOnce; cleared === deliveriesAtOnce; ) {
    await run(async (tx) => {
      cleared = await clearUrls(tx, userIds, devices, deliveriesAtOnce);
    });
  }
}
