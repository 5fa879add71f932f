// How many requests of a key are admitted in a minute at five times its rate, on one process and on
// several. The clock stands still between requests.
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../packages/postgres/test/database.ts';
import { createClock } from '../src/ground/database/clock.ts';
import { mintUuid } from '../src/ground/values/ids.ts';
import { type Caller, clientEventsDefault } from '../src/teams/apps/caller.ts';
import { builtInPlans } from '../src/teams/quotas/plan.ts';
import { type AdmitCaller, createRateLimit } from '../src/teams/quotas/rate-limit.ts';

const { sql } = await createTestDatabase();
const clock = await createClock(sql);
clock.hold(new Date('2026-11-21T10:15:30.000Z'));
const process = (): AdmitCaller => createRateLimit({ sql, clock, plans: builtInPlans, waitMs: 10_000 });
const caller = (plan: string, scope: Caller['scope']): Caller => {
  return { appId: mintUuid(), keyId: mintUuid(), keyName: 'Backend', scope, plan, clientEvents: clientEventsDefault };
};

const stepMs = 100;
const steps = 60_000 / stepMs;
const overload = 5;

/**
 * Offers five times the rate for a minute, evenly over the processes, and counts admitted requests.
 */
async function offer(rate: number, of: Caller, processes: readonly AdmitCaller[]): Promise<number> {
  let admitted = 0;
  let offered = 0;
  for (let step = 1; step <= steps; step++) {
    clock.advance(stepMs);
    const until = Math.floor((overload * rate * step * stepMs) / 1000);
    const requests: Promise<{ refusal: unknown } | null>[] = [];
    for (; offered < until; offered++)
      requests.push(processes[offered % processes.length]?.(of) ?? Promise.resolve(null));
    for (const admission of await Promise.all(requests)) if (admission?.refusal === null) admitted++;
  }
  return admitted;
}

describe('R-65 five times the rate for a minute', () => {
  it.each([
    ['growth', 'server', 60],
    ['pro', 'server', 300],
    ['pro', 'client', 1500],
  ] as const)(
    'on plan %s, %s: one process and four admit the requests of %i a second and one burst',
    async (plan, scope, rate) => {
      for (const count of [1, 4]) {
        const [one, another] = [caller(plan, scope), caller(plan, scope)];
        const processes = Array.from({ length: count }, process);
        const admitted = await offer(rate, one, processes);
        expect(admitted).toBeGreaterThanOrEqual(0.95 * rate * 60 + rate);
        expect(admitted).toBeLessThanOrEqual(1.02 * rate * 60 + rate);
        // Plans with low rates ask the database each time and are exact. Another key still has its
        // whole burst.
        if (rate <= 60) expect(admitted).toBeLessThanOrEqual(rate * 61);
        const fresh = await Promise.all(Array.from({ length: rate + 1 }, () => processes[0]?.(another)));
        expect(fresh.filter((admission) => admission?.refusal === null)).toHaveLength(rate);
      }
    },
  );

  it('leases of a fast plan are at most 2 % of it, and are returned after a second', async () => {
    const of = caller('pro', 'server');
    const processes = Array.from({ length: 4 }, process);
    for (const one of processes) await one(of);
    const [row] = await sql<{ granted: number }[]>`SELECT granted FROM rate_limits WHERE key_id = ${of.keyId}`;
    expect(row?.granted).toBe(6);
    clock.advance(1000);
    let admitted = 0;
    for (let i = 0; i < 400; i++) if ((await processes[i % 4]?.(of))?.refusal === null) admitted++;
    expect(admitted).toBe(300);
  });
});
