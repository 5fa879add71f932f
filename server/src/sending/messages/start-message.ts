// Starts a message: its audience becomes batches, in the caller's transaction. An audience larger
// than the rest of the quota is refused before that (429). The caller charges the quota last,
// because that locks a row which all sends of the app share. When the charge does not fit, the
// transaction is rolled back.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Audience } from '../../people/audience/audience.ts';
import { countDevices } from '../../people/audience/count-queries.ts';
import { audiencePredicate, countUnmatched } from '../../people/audience/queries.ts';
import { resolveAudience } from '../../people/segments/resolve-audience.ts';
import { type Charge, chargeOf, refuseBeforehand } from '../../teams/quotas/monthly-quota.ts';
import type { Plan } from '../../teams/quotas/plan.ts';
import { fanOut } from '../delivery/fan-out.ts';
import type { OwnBatches, SendWindow } from '../delivery/fan-out-queries.ts';
import { updateFannedOut } from './queries.ts';

/**
 * The process that accepts a message up to this size works it at once, so that the caller's push
 * waits for no worker.
 */
export const ownDevicesMax = 50;

export interface MessageStart {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly audience: Audience;
  /** The segment whose users and devices are excluded from the audience. */
  readonly excludeSegmentId: string | null;
  readonly window: SendWindow;
  readonly plan: Plan;
  /** Null: any worker may claim the batches. */
  readonly own: OwnBatches | null;
  readonly perSecond: number | null;
}

export interface Started {
  readonly accepted: number;
  /** True when the caller's claim holds the batches. */
  readonly isOwn: boolean;
  /** The charge that the caller makes. */
  readonly charge: Charge;
  /** The end of the last window; null for a message that is sent now. */
  readonly expiresAt: Date | null;
}

export async function startMessage(
  { tx, clock }: { tx: Tx; clock: Clock },
  { appId, id, audience, excludeSegmentId, window, plan, own, perSecond }: MessageStart,
): Promise<Started> {
  const resolved = await resolveAudience(tx, appId, audience, excludeSegmentId);
  const context = { tx, clock, appId };
  await refuseBeforehand({ sql: tx, clock }, appId, plan, {
    deliveriesMax: 'device_ids' in audience ? audience.device_ids.length : Number.POSITIVE_INFINITY,
    count: () => countDevices(context, resolved),
  });
  const predicate = audiencePredicate(context, resolved);
  const devicesGuess = devicesGuessOf(audience);
  const made = await fanOut({ tx, clock }, { appId, messageId: id, predicate, window, own, perSecond, devicesGuess });
  const unmatched = await countUnmatched(context, resolved, made.accepted);
  const charge = chargeOf(clock, plan, made.accepted);
  const lastDueAt = window.dueAt && (made.lastDueAt ?? window.dueAt);
  const expiresAt = lastDueAt && new Date(lastDueAt.getTime() + window.windowMs);
  await updateFannedOut(tx, clock, {
    appId,
    id,
    byChannel: made.byChannel,
    unmatched,
    firstBatchId: made.firstBatchId,
    lastBatchId: made.lastBatchId,
    charge,
    expiresAt,
  });
  return { accepted: made.accepted, isOwn: made.isOwn, charge, expiresAt };
}

/** Planner guess: most apps have fewer devices than this. */
const devicesOfApp = 1_000_000;
const devicesOfUser = 3;

function devicesGuessOf(audience: Audience): number {
  if ('device_ids' in audience) return audience.device_ids.length;
  return 'external_ids' in audience ? audience.external_ids.length * devicesOfUser : devicesOfApp;
}
