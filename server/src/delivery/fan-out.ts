// An audience becomes batches of up to 1,000 device ids, in one statement inside the message's transaction: what it returns
// is what the message accepts.
import type { Clock } from '../platform/clock.ts';
import type { Fragment, Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { batchSizeMax } from './batch.ts';
import { insertBatches } from './queries.ts';

export interface FanOut {
  readonly accepted: number;
  readonly byChannel: { readonly webpush: number; readonly apns: number; readonly fcm: number };
  readonly firstBatchId: Uuid | null;
  readonly lastBatchId: Uuid | null;
}

/** Batch ids are minted before their number is known: enough for most sends, and exactly enough on a second try. */
const batchesGuess = 16;

export async function fanOut(
  deps: { readonly tx: Tx; readonly clock: Clock },
  plan: {
    readonly appId: Uuid;
    readonly messageId: Uuid;
    readonly predicate: Fragment;
    readonly windowMs: number;
    /** Claims the batches for the caller when they are this few devices; null: never. */
    readonly own: { readonly claimId: Uuid; readonly devicesMax: number } | null;
  },
): Promise<FanOut & { readonly isOwn: boolean }> {
  const { tx, clock } = deps;
  const insert = async (count: number, claimId: Uuid | null) => {
    const batchIds = mintBatchIds(clock.nowMs(), count);
    const made = await insertBatches(tx, clock, { ...plan, batchIds, claimId });
    return { ...made, batchIds, accepted: made.web + made.ios + made.android };
  };

  await tx`SAVEPOINT fan_out`;
  let claimId = plan.own?.claimId ?? null;
  let made = await insert(claimId === null ? batchesGuess : 1, claimId);
  const isTooMany = plan.own !== null && made.accepted > plan.own.devicesMax;
  if (made.accepted > made.batchIds.length * batchSizeMax || isTooMany) {
    // The statement counts the whole audience whatever the ids it was given, so the second try knows how many it needs.
    await tx`ROLLBACK TO SAVEPOINT fan_out`;
    claimId = null;
    made = await insert(Math.ceil(made.accepted / batchSizeMax) + 1, null);
    if (made.accepted > made.batchIds.length * batchSizeMax)
      throw new Error('the audience grew between two statements');
  }
  return {
    accepted: made.accepted,
    byChannel: { webpush: made.web, apns: made.ios, fcm: made.android },
    firstBatchId: made.batches > 0 ? (made.batchIds[0] ?? null) : null,
    lastBatchId: made.batches > 0 ? (made.batchIds[made.batches - 1] ?? null) : null,
    isOwn: claimId !== null,
  };
}

// In order, so that the first id covers the first devices: within one millisecond UUIDv7 has no order of its own.
function mintBatchIds(nowMs: number, count: number): Uuid[] {
  return Array.from({ length: count }, () => mintUuid(nowMs)).sort();
}
