// The monthly quota: a message's deliveries are all reserved in the message's own transaction, or
// the answer is 429 and nothing is sent (contract 4). Months are calendar months in UTC, by the
// database's clock.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Plan } from './plan.ts';
import { chargeUsage, getUsage } from './queries.ts';

export interface QuotaState {
  readonly plan: string;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  readonly fits: boolean;
  readonly resets_at: string;
}

/** The first day of an instant's month, as `2026-11-01`. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/**
 * The units that `deliveries` cost under a plan: one for each delivery, or one for the whole
 * message.
 */
function unitsOf(plan: Plan, deliveries: number): number {
  if (plan.quota?.unit === 'message') return deliveries > 0 ? 1 : 0;
  return deliveries;
}

/**
 * Describes how much of the quota a send of `deliveries` would use; null on a plan without quota.
 * Charges nothing.
 */
export async function describeQuota(
  { sql, clock }: { sql: Tx; clock: Clock },
  appId: Uuid,
  plan: Plan,
  deliveries: number,
): Promise<QuotaState | null> {
  if (!plan.quota) return null;
  const now = clock.date();
  const requested = unitsOf(plan, deliveries);
  const used = await getUsage(sql, appId, monthOf(now));
  return {
    plan: plan.name,
    limit: plan.quota.perMonth,
    used,
    requested,
    fits: used + requested <= plan.quota.perMonth,
    resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
  };
}

/** The cost of a send and the month it is charged to. A refund goes to the same month. */
export interface Charge {
  readonly month: string;
  readonly units: number;
}

export function chargeOf(clock: Clock, plan: Plan, deliveries: number): Charge {
  return { month: monthOf(clock.date()), units: unitsOf(plan, deliveries) };
}

/**
 * Reserves the cost of one or more sends in the caller's transaction. Returns false when the cost
 * does not fit. Call it last: it locks the app's row of the month until the commit, and every
 * sender of the app needs that row.
 */
export async function tryCharge(tx: Tx, appId: Uuid, plan: Plan, { month, units }: Charge): Promise<boolean> {
  return units === 0 || (await chargeUsage(tx, appId, month, units, plan.quota?.perMonth ?? null)) !== undefined;
}

/**
 * Reserves the cost of a whole audience in the caller's transaction. Throws the 429 when the cost
 * does not fit.
 */
export async function chargeQuota(
  deps: { sql: Tx; clock: Clock },
  appId: Uuid,
  plan: Plan,
  deliveries: number,
  charge: Charge = chargeOf(deps.clock, plan, deliveries),
): Promise<void> {
  if (await tryCharge(deps.sql, appId, plan, charge)) return;
  throw quotaExceeded(plan, await describeQuota(deps, appId, plan, deliveries));
}

/**
 * When fewer deliveries than this are left of the month, an audience is counted before its batches
 * are created. The count of a fitting audience is cheap, because the audience is small.
 */
const countedFirstBelow = 10_000;

/**
 * Throws the 429 for an audience that does not fit, before anything is created, if so little is
 * left that counting is cheap. Charges nothing, so the charge itself may still fail later.
 * `deliveriesMax`: an upper bound of the deliveries that is known without a count.
 */
export async function refuseBeforehand(
  deps: { sql: Tx; clock: Clock },
  appId: Uuid,
  plan: Plan,
  { deliveriesMax, count }: { deliveriesMax: number; count: () => Promise<number> },
): Promise<void> {
  if (!plan.quota) return;
  const left = plan.quota.perMonth - (await getUsage(deps.sql, appId, monthOf(deps.clock.date())));
  if (left >= countedFirstBelow || unitsOf(plan, deliveriesMax) <= left) return;
  const deliveries = await count();
  if (unitsOf(plan, deliveries) > Math.max(0, left))
    throw quotaExceeded(plan, await describeQuota(deps, appId, plan, deliveries));
}

/**
 * Throws the 429 when nothing is left of this month, so that a scheduled send is refused when it is
 * requested. The deliveries are counted only for the answer.
 */
export async function refuseWhenUsedUp(
  deps: { sql: Tx; clock: Clock },
  appId: Uuid,
  plan: Plan,
  countDeliveries: () => Promise<number>,
): Promise<void> {
  if (!plan.quota || (await getUsage(deps.sql, appId, monthOf(deps.clock.date()))) < plan.quota.perMonth) return;
  throw quotaExceeded(plan, await describeQuota(deps, appId, plan, await countDeliveries()));
}

function quotaExceeded(plan: Plan, state: QuotaState | null): ApiError {
  const left = Math.max(0, (state?.limit ?? 0) - (state?.used ?? 0));
  return new ApiError('quota_exceeded', {
    message: describeShortage(plan, state?.requested ?? 0, left),
    extra: {
      quota: state && {
        plan: state.plan,
        limit: state.limit,
        used: state.used,
        requested: state.requested,
        resets_at: state.resets_at,
      },
      upgrade: 'Upgrade the plan of this app to send more this month.',
    },
  });
}

/** The sentence that tells a person that a message does not fit. */
export function describeShortage(plan: Plan, requested: number, left: number): string {
  const [one, many] = plan.quota?.unit === 'message' ? ['message', 'messages'] : ['delivery', 'deliveries'];
  return `This message needs ${requested} ${requested === 1 ? one : many}; ${left} ${left === 1 ? 'is' : 'are'} left this month.`;
}
