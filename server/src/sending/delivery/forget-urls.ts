// Deletes the urls of an erased user from their deliveries. A url rendered for a person may contain
// their name or mail address. Deliveries that their devices got before they had a user are cleared
// too. The deliveries stay, and literal urls stay in the message.
import { uuidFloorOf } from '../../ground/values/ids.ts';
import type { ErasureTurn } from '../../people/users/erasures.ts';
import { clearUrls } from './outcome-queries.ts';

/** The deliveries of one transaction. A receipt may have to wait for the transaction. */
const deliveriesAtOnce = 5_000;

/** Deletes the urls of these users. May run again after a crash. */
export async function forgetUrls({ erasures, run }: Pick<ErasureTurn, 'erasures' | 'run'>): Promise<void> {
  const userIds = erasures.map(({ userId }) => userId);
  // Only batches from before the erasure count, because a device may have another user by now, or
  // none.
  const devices = erasures.flatMap(({ deviceIds, at }) =>
    deviceIds.map((id) => ({ id, beforeBatch: uuidFloorOf(at) })),
  );
  for (let cleared = deliveriesAtOnce; cleared === deliveriesAtOnce; ) {
    await run(async (tx) => {
      cleared = await clearUrls(tx, userIds, devices, deliveriesAtOnce);
    });
  }
}
