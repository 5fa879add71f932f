// Turns an audience into batches of device ids, in one statement inside the message's transaction.
// The number of devices is what the message answers as `accepted`.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { batchSizeOf } from './batch.ts';
import { type BatchPlan, insertBatches } from './fan-out-queries.ts';

export interface FanOut {
  readonly accepted: number;
  readonly byChannel: { readonly webpush: number; readonly apns: number; readonly fcm: number };
  readonly firstBatchId: Uuid | null;
  readonly lastBatchId: Uuid | null;
  /** The time when the last batch is due; null without any batch. */
  readonly lastDueAt: Date | null;
}

/**
 * The number of batch ids minted before the audience is counted. Minting the least costs almost
 * nothing. Minting the most costs a thousandth of the work on that many devices.
 */
const batchesGuess = { least: 16, most: 1_024 };
const triesMax = 5;

/** `devicesGuess` is an upper estimate of the audience. A larger audience is read twice. */
export async function fanOut(
  deps: { readonly tx: Tx; readonly clock: Clock },
  plan: Omit<BatchPlan, 'batchIds'> & { readonly devicesGuess: number },
): Promise<FanOut & { readonly isOwn: boolean }> {
  const { tx, clock } = deps;
  const guess = Math.ceil(plan.devicesGuess / batchSizeOf(plan.perSecond));
  let count = Math.min(Math.max(guess, batchesGuess.least), batchesGuess.most);
  for (let tries = 1; tries <= triesMax; tries++) {
    const batchIds = mintBatchIds(clock.nowMs(), count);
    const made = await insertBatches(tx, clock, { ...plan, batchIds });
    if (made.batches <= batchIds.length) {
      return {
        accepted: made.web + made.ios + made.android,
        byChannel: { webpush: made.web, apns: made.ios, fcm: made.android },
        firstBatchId: made.batches > 0 ? (batchIds[0] ?? null) : null,
        lastBatchId: made.batches > 0 ? (batchIds[made.batches - 1] ?? null) : null,
        lastDueAt: made.lastDueAt,
        isOwn: made.isOwn,
      };
    }
    // One percent more, in case the audience grows before the second statement.
    count = Math.ceil(made.batches * 1.01) + 1;
  }
  throw new Error(`the audience needed more batches than were minted in each of ${triesMax} tries`);
}

// Sorted, so that the first id covers the first devices. UUIDv7 has no order within one
// millisecond.
function mintBatchIds(nowMs: number, count: number): Uuid[] {
  return Array.from({ length: count }, () => mintUuid(nowMs)).sort();
}
