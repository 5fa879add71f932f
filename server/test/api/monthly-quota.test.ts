// The monthly quota: never exceeded, never used in part, counted by calendar months of the
// database's clock. The plans come from a file.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { ApiError } from '../../src/ground/http/api-error.ts';
import { updateAppPlan } from '../../src/teams/apps/queries.ts';
import { chargeQuota } from '../../src/teams/quotas/monthly-quota.ts';
import { loadPlans, planNamed } from '../../src/teams/quotas/plan.ts';
import { type Bundle, type Response, setup, type TestApp, unknownId } from '../setup.ts';

const directory = await mkdtemp(join(tmpdir(), 'carillon-plans-'));
whenDone(() => rm(directory, { recursive: true }));
async function plansFile(name: string, quotas: Record<string, { per_month: number; unit?: string } | null>) {
  const file = join(directory, name);
  const plans = Object.entries(quotas).map(([plan, quota]) => [
    plan,
    { sk_per_second: null, ck_per_second: null, quota },
  ]);
  await writeFile(file, JSON.stringify({ plans: Object.fromEntries(plans) }));
  return file;
}

const file = await plansFile('plans.json', {
  hundred: { per_month: 100 },
  thousand: { per_month: 1000 },
  messages: { per_month: 2, unit: 'message' },
  open: null,
});
const setUp = () => setup({ workers: false, environment: { PLANS_FILE: file, DEFAULT_PLAN: 'hundred' } });

const t = await setUp();
const content = { title: 'Sale', url: 'https://shop.example/sale' };
const everybody = { audience: { all: true }, content };
const send = (
  app: TestApp,
  body: object = everybody,
  headers: Record<string, string> = {},
  of: Bundle = t,
): Promise<Response> => of.clientOf(app.serverKey).post('/v1/messages', body, headers);

/** Usage by month. */
async function usedBy(app: TestApp, of: Bundle = t): Promise<Record<string, number>> {
  const rows = await of.sql<{ month: string; used: number }[]>`
    SELECT to_char(month, 'YYYY-MM') AS month, used FROM usage WHERE app_id = ${app.id} ORDER BY month`;
  return Object.fromEntries(rows.map(({ month, used }) => [month, used]));
}
const usedNow = async (app: TestApp, of: Bundle = t): Promise<number> =>
  (await usedBy(app, of))[of.clock.date().toISOString().slice(0, 7)] ?? 0;

async function appWith(devices: number, plan = 'hundred', used = 0, of: Bundle = t): Promise<TestApp> {
  const app = await of.newApp({ plan });
  await of.registerMany(devices, app);
  const month = `${of.clock.date().toISOString().slice(0, 7)}-01`;
  if (used > 0) await of.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, ${month}::date, ${used})`;
  return app;
}

describe('R-68 the quota is never exceeded', () => {
  it('150 sends of one device on a quota of 100 at once: exactly 100 are accepted', async () => {
    const app = await appWith(1);
    const answers = await Promise.all(Array.from({ length: 150 }, () => send(app)));
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(100);
    expect(accepted.every(({ body }) => body.report.accepted === 1)).toBe(true);
    const refused = answers.filter(({ body }) => body.error === 'quota_exceeded');
    expect(refused).toHaveLength(50);
    expect(await usedNow(app)).toBe(100);
    const [messages] = await t.sql`SELECT count(*)::int AS count FROM messages WHERE app_id = ${app.id}`;
    expect(messages?.['count']).toBe(100);
  });

  it('256 racing callers on a quota of 1,000: exactly 1,000, whatever each of them requests', async () => {
    const app = await t.newApp({ plan: 'thousand' });
    const plan = planNamed(loadPlans(file, []), 'thousand');
    const charge = (units: number): Promise<number> =>
      transaction(t.sql, (tx) => chargeQuota({ sql: tx, clock: t.clock }, app.id, plan, units)).then(
        () => units,
        (error: unknown) => {
          if (error instanceof ApiError && error.code === 'quota_exceeded') return 0;
          throw error;
        },
      );
    const race = async (unitsOf: (caller: number) => number): Promise<number> => {
      let sum = 0;
      await Promise.all(
        Array.from({ length: 256 }, async (_, caller) => {
          for (let got = 1; got > 0 && sum <= 1000; sum += got) got = await charge(unitsOf(caller));
        }),
      );
      return sum;
    };
    const first = await race((caller) => (caller % 7) + 1);
    const rest = await race(() => 1);
    expect(first + rest).toBe(1000);
    expect(await usedNow(app)).toBe(1000);
  });

  it('an audience that does not fit is refused as a whole, and a smaller one still fits', async () => {
    const app = await appWith(3, 'hundred', 98);
    const refused = await send(app);
    expect(refused).toMatchObject({
      status: 429,
      body: {
        error: 'quota_exceeded',
        message: 'This message needs 3 deliveries; 2 are left this month.',
        quota: { plan: 'hundred', limit: 100, used: 98, requested: 3 },
      },
    });
    expect(Object.keys(refused.body)).toEqual(['error', 'message', 'quota', 'upgrade', 'request_id']);
    expect(refused.body.upgrade).toMatch(/\S/);
    expect(refused.headers.get('retry-after')).toBeNull();
    const device = await t.registerDevice({}, app);
    expect((await send(app, { audience: { device_ids: [device] }, content })).status).toBe(200);
    expect(await usedNow(app)).toBe(99);
  });

  it('an audience that does not fit is refused before it becomes batches', async () => {
    const full = await appWith(2, 'hundred', 100);
    const nearlyFull = await appWith(3, 'hundred', 98);
    const { body: page } = await t.clientOf(nearlyFull.serverKey).get('/v1/devices');
    const listed = page.data.map(({ id }: { id: string }) => id);
    const filter = { field: 'device.platform', op: 'eq', value: 'web' };
    await transaction(t.sql, async (tx) => {
      // No batch can be made while this lock is held.
      await tx`LOCK TABLE batches IN SHARE MODE`;
      const refused = await Promise.all([
        send(full),
        send(full, { audience: { filter }, content }),
        send(nearlyFull),
        send(nearlyFull, { audience: { device_ids: listed }, content }),
      ]);
      expect(refused.map(({ status, body }) => [status, body.quota?.requested])).toEqual([
        [429, 2],
        [429, 2],
        [429, 3],
        [429, 3],
      ]);
    });
    // Ids that match no device cost nothing, so the remaining quota is enough for the others.
    const some = [listed[0], unknownId('dev'), listed[1]];
    expect(await send(nearlyFull, { audience: { device_ids: some }, content })).toMatchObject({ status: 200 });
    expect([await usedNow(full), await usedNow(nearlyFull)]).toEqual([100, 100]);
  });

  it('a plan without a quota refuses nothing', async () => {
    const app = await appWith(2, 'open');
    for (let i = 0; i < 3; i++) expect((await send(app)).status).toBe(200);
    expect((await send(app, { ...everybody, dry_run: true })).body.quota).toBeNull();
  });
});

describe('these cost nothing:', () => {
  it('a replay, a dry run, a preview and an empty audience, even when the month is used up', async () => {
    const app = await appWith(1, 'hundred', 99);
    const key = { 'idempotency-key': 'first' };
    const first = await send(app, everybody, key);
    expect(first.status).toBe(200);
    expect((await send(app)).body.error).toBe('quota_exceeded');
    expect((await send(app, everybody, key)).body).toMatchObject({ id: first.body.id, replayed: true });
    const dry = await send(app, { ...everybody, dry_run: true });
    expect(dry).toMatchObject({ status: 200, body: { quota: { used: 100, requested: 1, fits: false } } });
    expect(dry.body.warnings).toContainEqual({
      code: 'quota_exceeded',
      message: 'This message needs 1 delivery; 0 are left this month.',
    });
    const filter = { field: 'device.platform', op: 'eq', value: 'web' };
    const preview = await t.clientOf(app.serverKey).post('/v1/segments/preview', { filter });
    expect(preview).toMatchObject({ status: 200, body: expect.any(Object) });
    const nobody = await send(app, { audience: { external_ids: ['nobody'] }, content });
    expect(nobody).toMatchObject({ status: 200, body: { report: { accepted: 0 } } });
    expect(await usedNow(app)).toBe(100);
  });

  it('R-13 a request that the quota refuses, whose idempotency key stays free', async () => {
    const app = await appWith(1, 'hundred', 100);
    const key = { 'idempotency-key': 'refused' };
    expect((await send(app, everybody, key)).status).toBe(429);
    await t.sql`UPDATE usage SET used = 0 WHERE app_id = ${app.id}`;
    expect((await send(app, everybody, key)).body).toMatchObject({ replayed: false });
  });

  it('skipped deliveries; failed ones cost their unit', async () => {
    const app = await appWith(0);
    t.push.script('gone', (_request, response) => {
      response.writeHead(410);
      response.end();
    });
    await t.registerDevice({ token: t.pushSubscription('gone') }, app);
    await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) }, app);
    const { body } = await send(app);
    expect(body.report).toEqual({ accepted: 2, sent: 0, failed: 1, skipped: 1 });
    expect(await usedNow(app)).toBe(1);
  });
});

describe('the month', () => {
  it('is a calendar month in UTC: a millisecond before its end it is full, and then a new one begins', async () => {
    const at = await setUp();
    at.clock.hold(new Date('2026-11-30T23:59:59.999Z'));
    const app = await appWith(1, 'hundred', 100, at);
    const refused = await send(app, everybody, {}, at);
    expect(refused.body).toMatchObject({ error: 'quota_exceeded', quota: { resets_at: '2026-12-01T00:00:00.000Z' } });
    at.clock.advance(1);
    expect((await send(app, everybody, {}, at)).status).toBe(200);
    expect(await usedBy(app, at)).toEqual({ '2026-11': 100, '2026-12': 1 });
  });

  it('also changes at the end of a year', async () => {
    const at = await setUp();
    at.clock.hold(new Date('2026-12-31T23:59:59.999Z'));
    const app = await appWith(1, 'hundred', 100, at);
    const refused = await send(app, everybody, {}, at);
    expect(refused.body.quota.resets_at).toBe('2027-01-01T00:00:00.000Z');
  });

  it('that was charged is the month that gets refunds, even after its end', async () => {
    const at = await setup({
      workers: false,
      environment: { PLANS_FILE: file, DEFAULT_PLAN: 'hundred', SEND_WAIT_MS: '0' },
    });
    at.clock.hold(new Date('2026-11-30T23:59:50.000Z'));
    const app = await appWith(60, 'hundred', 0, at);
    expect((await send(app, everybody, {}, at)).body.report.pending).toBe(60);
    expect(await usedBy(app, at)).toEqual({ '2026-11': 60 });
    // The devices are retired before their turn, and their turn comes in December.
    await at.sql`UPDATE devices SET status = 'invalid', status_reason = 'unregistered' WHERE app_id = ${app.id}`;
    await at.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, '2026-12-01', 5)`;
    at.clock.advance(30_000);
    await at.startWorkers().idle();
    expect(await usedBy(app, at)).toEqual({ '2026-11': 0, '2026-12': 5 });
  });
});

describe('a plan that counts messages', () => {
  it('charges one unit for each message with an audience of any size', async () => {
    const app = await appWith(3, 'messages');
    expect((await send(app)).body.report.accepted).toBe(3);
    expect((await send(app, { audience: { external_ids: ['nobody'] }, content })).status).toBe(200);
    expect((await send(app)).status).toBe(200);
    expect(await usedNow(app)).toBe(2);
    expect((await send(app)).body).toMatchObject({
      message: 'This message needs 1 message; 0 are left this month.',
      quota: { plan: 'messages', limit: 2, used: 2, requested: 1 },
    });
  });

  it('refunds the unit only when no delivery of the message was tried', async () => {
    const app = await t.newApp({ plan: 'messages', channels: false });
    await t.registerMany(2, app);
    expect((await send(app)).body.report).toMatchObject({ skipped: 2 });
    expect(await usedNow(app)).toBe(0);
    const mixed = await appWith(1, 'messages');
    await t.registerDevice({ platform: 'ios', token: 'cd'.repeat(32) }, mixed);
    expect((await send(mixed)).body.report).toMatchObject({ sent: 1, skipped: 1 });
    expect(await usedNow(mixed)).toBe(1);
  });
});

describe('PLANS_FILE', () => {
  const startWith = (plans: string, plan = 'hundred') =>
    setup({
      workers: false,
      environment: { PLANS_FILE: plans, DEFAULT_PLAN: plan },
      reachDatabase: async () => t.databaseUrl,
    });

  it('changes limits at the next start, and cancels nothing that was accepted', async () => {
    const app = await appWith(1, 'hundred', 99);
    expect((await send(app)).status).toBe(200);
    const smaller = await plansFile('smaller.json', {
      hundred: { per_month: 50 },
      thousand: null,
      messages: null,
      open: null,
    });
    const later = await startWith(smaller);
    expect((await send(app, everybody, {}, later)).body.quota).toMatchObject({ limit: 50, used: 100 });
    const larger = await plansFile('larger.json', {
      hundred: { per_month: 101 },
      thousand: null,
      messages: null,
      open: null,
    });
    const last = await startWith(larger);
    expect(
      [await send(app, everybody, {}, last), await send(app, everybody, {}, last)].map(({ status }) => status),
    ).toEqual([200, 429]);
  });

  it('without a plan in use stops the start, and the error names the plan', async () => {
    const app = await t.newApp({ plan: 'open' });
    await updateAppPlan(t.sql, app.id, 'gold');
    await expect(startWith(file)).rejects.toThrow("The plan 'gold' is in use but not in");
    await updateAppPlan(t.sql, app.id, 'open');
    await expect(startWith(file, 'silver')).rejects.toThrow("The plan 'silver' is in use but not in");
  });
});
