// The table of plans: built in, or read from PLANS_FILE (contract 4). Rates are requests per second
// for each key; null means no limit. An error in the file stops the start and names its place.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export interface Plan {
  readonly name: string;
  readonly skPerSecond: number | null;
  readonly ckPerSecond: number | null;
  readonly quota: { readonly perMonth: number; readonly unit: 'delivery' | 'message' } | null;
}

export type Plans = ReadonlyMap<string, Plan>;

const planSchema = z.strictObject({
  sk_per_second: z.number().int().positive().nullable(),
  ck_per_second: z.number().int().positive().nullable(),
  quota: z
    .strictObject({
      per_month: z.number().int().nonnegative(),
      unit: z.enum(['delivery', 'message']).default('delivery'),
    })
    .nullable(),
});
const fileSchema = z.strictObject({ plans: z.record(z.string().min(1).max(64), planSchema) });

export const builtInPlans: Plans = toPlans({
  free: { sk_per_second: 10, ck_per_second: 50, quota: { per_month: 10_000, unit: 'delivery' } },
  growth: { sk_per_second: 60, ck_per_second: 300, quota: { per_month: 250_000, unit: 'delivery' } },
  pro: { sk_per_second: 300, ck_per_second: 1500, quota: { per_month: 5_000_000, unit: 'delivery' } },
  unlimited: { sk_per_second: null, ck_per_second: null, quota: null },
});

/**
 * Reads the plans. Throws an error for operators, which names the file and the missing or wrong
 * plan.
 */
export function loadPlans(file: string | null, needed: readonly string[]): Plans {
  const plans = file === null ? builtInPlans : readPlansFile(file);
  const missing = needed.find((name) => !plans.has(name));
  if (missing !== undefined) {
    throw new Error(
      `The plan '${missing}' is in use but ${file === null ? 'is not built in' : `not in ${file}`}: describe it in PLANS_FILE, or choose one of ${[...plans.keys()].join(', ')} (of new apps: DEFAULT_PLAN)`,
    );
  }
  return plans;
}

function readPlansFile(file: string): Plans {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`PLANS_FILE ${file} cannot be read: ${(error as Error).message}`);
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`PLANS_FILE ${file} is wrong at ${issue?.path.join('.')}: ${issue?.message}`);
  }
  return toPlans(parsed.data.plans);
}

function toPlans(plans: Record<string, z.output<typeof planSchema>>): Plans {
  return new Map(
    Object.entries(plans).map(([name, plan]) => [
      name,
      {
        name,
        skPerSecond: plan.sk_per_second,
        ckPerSecond: plan.ck_per_second,
        quota: plan.quota && { perMonth: plan.quota.per_month, unit: plan.quota.unit },
      },
    ]),
  );
}

/**
 * Returns the plan of an app. At the start every plan in use existed; an app that was moved to an
 * unknown plan later gets `free`, the strictest.
 */
export function planNamed(plans: Plans, name: string): Plan {
  const plan = plans.get(name) ?? builtInPlans.get('free');
  if (!plan) throw new Error(`no plan for ${name}`);
  return plan;
}
