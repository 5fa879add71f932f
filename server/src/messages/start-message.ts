// A message starts: its audience becomes batches and its quota is charged, in the caller's transaction: all or nothing.

import type { Audience } from '../audience/audience.ts';
import { audiencePredicate, countUnmatched } from '../audience/queries.ts';
import { fanOut } from '../delivery/fan-out.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { chargeQuota, unitsOf } from '../quotas/monthly-quota.ts';
import type { Plan } from '../quotas/plan.ts';
import { updateFannedOut } from './queries.ts';

/** A send this small is worked by the process that accepted it, at once: no poll stands between the caller and the phone. */
export const ownDevicesMax = 50;

export interface Started {
  readonly accepted: number;
  /** True: the batches are claimed by the caller's claim. */
  readonly isOwn: boolean;
}

/**
 * Throws the 429 when the audience does not fit the quota; the caller's transaction then undoes everything. Without a
 * `claimId` the batches are for the workers, however few they are.
 */
export async function startMessage(
  { tx, clock }: { tx: Tx; clock: Clock },
  message: { appId: Uuid; id: Uuid; audience: Audience; windowMs: number; plan: Plan; claimId: Uuid | null },
): Promise<Started> {
  const { appId, id, audience, windowMs, plan, claimId } = message;
  const made = await fanOut(
    { tx, clock },
    {
      appId,
      messageId: id,
      predicate: audiencePredicate(tx, appId, audience),
      windowMs,
      own: claimId === null ? null : { claimId, devicesMax: ownDevicesMax },
    },
  );
  const unmatched = await countUnmatched(tx, appId, audience);
  const chargedMonth = await chargeQuota({ sql: tx, clock }, appId, plan, made.accepted);
  await updateFannedOut(tx, clock, {
    appId,
    id,
    byChannel: made.byChannel,
    unmatched,
    firstBatchId: made.firstBatchId,
    lastBatchId: made.lastBatchId,
    chargedMonth,
    chargedUnits: unitsOf(plan, made.accepted),
  });
  return { accepted: made.accepted, isOwn: made.isOwn };
}
