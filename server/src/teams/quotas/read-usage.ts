// An app's use of its quota: this month, and the last twelve.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { monthOf } from './monthly-quota.ts';
import type { Plan } from './plan.ts';
import { listUsage } from './queries.ts';

const monthsShown = 12;

/** Reads the use. A month without a delivery is not listed, except the present one. */
export async function readUsage({ sql, clock }: { sql: Sql; clock: Clock }, appId: Uuid, plan: Plan) {
  const now = clock.date();
  const rows = await listUsage(sql, appId, monthsShown);
  const present = monthOf(now).slice(0, 7);
  const months = rows.some(({ month }) => month === present) ? rows : [{ month: present, used: 0 }, ...rows];
  return {
    plan: plan.name,
    used: months.find(({ month }) => month === present)?.used ?? 0,
    limit: plan.quota?.perMonth ?? null,
    unit: plan.quota?.unit ?? ('delivery' as const),
    resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)),
    months: months.slice(0, monthsShown),
  };
}
