// The monthly quota: deliveries are reserved whole in the message's own transaction, or the answer is 429 and nothing is
// sent (contract 4). Months are calendar months in UTC, by the database's clock.
import { ApiError } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
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

/** The first day of the month of an instant, as `2026-11-01`. */
export function monthOf(instant: Date): string {
  return `${instant.toISOString().slice(0, 7)}-01`;
}

/** What `deliveries` cost under a plan: one unit each, or one for the whole message. */
export function unitsOf(plan: Plan, deliveries: number): number {
  if (plan.quota?.unit === 'message') return deliveries > 0 ? 1 : 0;
  return deliveries;
}

/** How a send of `deliveries` would stand; null on a plan without quota. Charges nothing. */
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

/** Reserves a whole audience in the caller's transaction and returns the month that was charged; throws the 429 when it does not fit. */
export async function chargeQuota(
  deps: { sql: Tx; clock: Clock },
  appId: Uuid,
  plan: Plan,
  deliveries: number,
): Promise<string> {
  const month = monthOf(deps.clock.date());
  const units = unitsOf(plan, deliveries);
  if (units === 0) return month;
  const used = await chargeUsage(deps.sql, appId, month, units, plan.quota?.perMonth ?? null);
  if (used !== undefined) return month;
  const state = await describeQuota(deps, appId, plan, deliveries);
  const left = Math.max(0, (state?.limit ?? 0) - (state?.used ?? 0));
  throw new ApiError('quota_exceeded', {
    message: describeShortage(plan, units, left),
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

/** What a person reads when a message does not fit. */
export function describeShortage(plan: Plan, requested: number, left: number): string {
  const [one, many] = plan.quota?.unit === 'message' ? ['message', 'messages'] : ['delivery', 'deliveries'];
  return `This message needs ${requested} ${requested === 1 ? one : many}; ${left} ${left === 1 ? 'is' : 'are'} left this month.`;
}
