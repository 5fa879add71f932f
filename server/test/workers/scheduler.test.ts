import { openPool, transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { pause, resume } from '../../src/ground/database/restore-guard.ts';
import { decodeId } from '../../src/ground/values/ids.ts';
import { claimLateMessage, lockFreshMessages } from '../../src/sending/messages/schedule-queries.ts';
import { nextTryMs, startAlone } from '../../src/sending/messages/start-due.ts';
import { startScheduleWorker } from '../../src/sending/messages/worker.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { builtInPlans } from '../../src/teams/quotas/plan.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Bundle, setup, type TestApp } from '../setup.ts';

const content = { title: 'Sale' };
const firstApp = '00000000-0000-0000-0000-000000000000';
const minuteMs = 60_000;

/** Without workers: each test starts them when it is ready. */
const setUp = (plan = 'pro') => setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: plan } });

/** Schedules a message this far ahead and returns its id. */
async function schedule(t: Bundle, aheadMs: number, fields: object = {}, app: TestApp = t.app): Promise<string> {
  const send_at = new Date(t.clock.nowMs() + aheadMs).toISOString();
  const request = { audience: { all: true }, content, ...fields, send_at };
  const { status, body } = await t.clientOf(app.serverKey).post('/v1/messages', request);
  if (status !== 200) throw new Error(`not scheduled: ${JSON.stringify(body)}`);
  return body.id;
}

async function read(t: Bundle, message: string, app: TestApp = t.app) {
  return (await t.clientOf(app.serverKey).get(`/v1/messages/${message}`)).body;
}

async function usedBy(t: Bundle, app: TestApp = t.app): Promise<number> {
  const [row] = await t.sql<{ used: number }[]>`SELECT sum(used)::int AS used FROM usage WHERE app_id = ${app.id}`;
  return row?.used ?? 0;
}

const batchesOf = (t: Bundle, message: string) => t.sql<{ dueAt: Date; expiresAt: Date; size: number }[]>`
  SELECT due_at, expires_at, size FROM batches WHERE message_id = ${decodeId('msg', message) ?? ''}`;

describe('a scheduled message', () => {
  it('runs at its instant and not before, with the audience, the quota and the counts of that time', async () => {
    const t = await setUp();
    const gone = await t.registerDevice();
    const message = await schedule(t, minuteMs);
    const workers = t.service.startWorkers();
    t.clock.advance(minuteMs - 5000);
    await workers.idle();
    expect((await read(t, message)).status).toBe('scheduled');
    expect(await usedBy(t)).toBe(0);
    await t.server.delete(`/v1/devices/${gone}`);
    await t.registerMany(2);
    t.clock.advance(5000);
    await workers.idle();
    const ran = await read(t, message);
    expect(ran).toMatchObject({
      status: 'sent',
      status_reason: null,
      report: { accepted: 2, sent: 2, failed: 0, skipped: 0 },
    });
    expect(Date.parse(ran.started_at)).toBeGreaterThanOrEqual(Date.parse(ran.run_at));
    expect(t.push.requests).toHaveLength(2);
    expect(await usedBy(t)).toBe(2);
  });

  it('R-91 has windows that count from its instant, even when it runs late', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs, { content: { ...content, ttl: 3600 } });
    t.clock.advance(11 * minuteMs);
    await t.service.startWorkers().idle();
    const { run_at, expires_at, status } = await read(t, message);
    expect(status).toBe('sent');
    expect(Date.parse(expires_at) - Date.parse(run_at)).toBe(60 * minuteMs);
    const [batch] = await batchesOf(t, message);
    expect(batch?.dueAt.toISOString()).toBe(run_at);
    expect(batch?.expiresAt.toISOString()).toBe(expires_at);
    const left = Number(t.push.requests[0]?.headers['ttl']);
    expect(left).toBeLessThanOrEqual(50 * 60);
    expect(left).toBeGreaterThan(49 * 60);
  });

  it('R-91 whose window has passed before it could run fails as expired, uncharged and without a request', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs, { content: { ...content, ttl: 30 } });
    t.clock.advance(2 * minuteMs + 1000);
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({
      status: 'failed',
      status_reason: 'expired',
      started_at: null,
      finished_at: expect.any(String),
      expires_at: null,
      report: { accepted: 0 },
    });
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t)).toBe(0);
  });

  it('that reaches no device is sent, with zeros', async () => {
    const t = await setUp();
    const message = await schedule(t, minuteMs, { audience: { device_ids: ['nobody'] } });
    t.clock.advance(minuteMs);
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({
      status: 'sent',
      audience_unmatched: 1,
      report: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
    });
  });

  it('fails as app_suspended when it is due while its app is suspended, and stays so', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs);
    await updateAppSuspension(t.sql, t.clock, t.app.id, true);
    t.clock.advance(minuteMs);
    const workers = t.service.startWorkers();
    await workers.idle();
    await updateAppSuspension(t.sql, t.clock, t.app.id, false);
    t.clock.advance(minuteMs);
    await workers.idle();
    expect(await read(t, message)).toMatchObject({ status: 'failed', status_reason: 'app_suspended' });
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t)).toBe(0);
  });

  it('R-92 waits while sends are paused, and runs after the resume', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs);
    await pause(t.sql, 'operator');
    await t.service.pause.look();
    t.clock.advance(minuteMs);
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await read(t, message)).status).toBe('scheduled');
    await resume(t.sql);
    await t.service.pause.look();
    await workers.idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { sent: 1 } });
  });

  it('runs normally when its app was suspended only in between', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs);
    await updateAppSuspension(t.sql, t.clock, t.app.id, true);
    const workers = t.service.startWorkers();
    await workers.idle();
    await updateAppSuspension(t.sql, t.clock, t.app.id, false);
    t.clock.advance(minuteMs);
    await workers.idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { sent: 1 } });
  });
});

describe('the quota of a scheduled message', () => {
  const setUsed = (t: Bundle, used: number) => t.sql`
    INSERT INTO usage (app_id, month, used)
    VALUES (${t.app.id}, date_trunc('month', now()), ${used})
    ON CONFLICT (app_id, month) DO UPDATE SET used = excluded.used`;

  it('R-68 is charged when it runs, whole or not at all: of several due at once those that fit run', async () => {
    const t = await setUp('free');
    await t.registerMany(2);
    const messages: string[] = [];
    for (let count = 0; count < 4; count++) messages.push(await schedule(t, minuteMs));
    await setUsed(t, 9995);
    t.clock.advance(minuteMs);
    await t.service.startWorkers().idle();
    const ends = await Promise.all(messages.map((message) => read(t, message)));
    const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
    expect(ends.filter(({ status }) => status === 'sent')).toHaveLength(2);
    const refused = ends.filter(({ status }) => status !== 'sent');
    for (const message of refused) {
      expect(message).toMatchObject({
        status: 'failed',
        status_reason: 'quota_exceeded',
        started_at: null,
        report: none,
      });
    }
    expect(await usedBy(t)).toBe(9999);
    expect(t.push.requests).toHaveLength(4);
  });

  it('R-68 is that of the month it runs in, and refunds go there', async () => {
    const t = await setUp('free');
    const [month] = await t.sql<{ nextMs: number }[]>`
      SELECT extract(epoch FROM date_trunc('month', now()) + interval '1 month')::float8 * 1000 AS next_ms`;
    const untilNextMs = (month?.nextMs ?? 0) - t.clock.nowMs();
    await t.registerMany(2);
    await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) });
    await schedule(t, untilNextMs + minuteMs);
    t.clock.advance(untilNextMs + minuteMs);
    await t.service.startWorkers().idle();
    const rows = await t.sql<{ isNext: boolean; used: number }[]>`
      SELECT month > now() AS is_next, used FROM usage WHERE app_id = ${t.app.id}`;
    expect(rows.map((row) => ({ ...row }))).toEqual([{ isNext: true, used: 2 }]);
  });
});

describe('many messages at one instant', () => {
  it('R-08 20 messages due at once, and three processes that start them: each runs once', async () => {
    const t = await setUp();
    const other = await t.newApp();
    await t.registerMany(2);
    await t.registerMany(1, other);
    const messages = await Promise.all(Array.from({ length: 15 }, () => schedule(t, minuteMs)));
    const others = await Promise.all(Array.from({ length: 5 }, () => schedule(t, minuteMs, {}, other)));
    t.clock.advance(minuteMs + 1000);
    await Promise.all([t.service.startWorkers(), t.startWorkers(), t.startWorkers()].map((workers) => workers.idle()));
    for (const message of messages) {
      expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 2, sent: 2 } });
      expect(await batchesOf(t, message)).toHaveLength(1);
    }
    for (const message of others) {
      expect(await read(t, message, other)).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 1 } });
    }
    expect(t.push.requests).toHaveLength(35);
    expect([await usedBy(t), await usedBy(t, other)]).toEqual([30, 5]);
  });

  it('R-08 a process that dies while it starts them leaves nothing behind: another starts each of them once', async () => {
    const t = await setUp();
    await t.registerMany(2);
    const messages = await Promise.all(Array.from({ length: 5 }, () => schedule(t, minuteMs)));
    t.clock.advance(minuteMs);
    // Another transaction holds the app's usage row: batches are made, and the charge waits.
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${t.app.id}, date_trunc('month', now()), 0)`;
    let letGo: () => void = () => undefined;
    const held = transaction(t.sql, async (tx) => {
      await tx`UPDATE usage SET used = used WHERE app_id = ${t.app.id}`;
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
    });
    const workers = t.service.startWorkers();
    const [pid = 0] = await untilLockWaits(t.sql, 1, { text: 'usage' });
    await t.sql`SELECT pg_terminate_backend(${pid})`;
    letGo();
    await held;
    await workers.idle();
    for (const message of messages) {
      expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 2, sent: 2 } });
      expect(await batchesOf(t, message)).toHaveLength(1);
    }
    expect(await usedBy(t)).toBe(10);
    expect(t.push.requests).toHaveLength(10);
  });

  it("R-62 apps take turns: one app's many messages do not delay another app's single one", async () => {
    const t = await setUp();
    const apps = [t.app, await t.newApp()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const [busy, quiet] = apps as [TestApp, TestApp];
    await Promise.all(Array.from({ length: 6 }, () => schedule(t, minuteMs, {}, busy)));
    const one = await schedule(t, minuteMs + 500, {}, quiet);
    t.clock.advance(2 * minuteMs);
    const claim = { freshMs: 10 * minuteMs, limit: 4 };
    await transaction(t.sql, async (first) => {
      const taken = await lockFreshMessages(first, t.clock, { ...claim, afterAppId: firstApp });
      expect(taken.map(({ appId }) => appId)).toEqual(Array(4).fill(busy.id));
      await transaction(t.sql, async (second) => {
        const next = await lockFreshMessages(second, t.clock, { ...claim, afterAppId: busy.id });
        expect(next.map(({ id }) => id)).toContain(decodeId('msg', one));
        expect(next).toHaveLength(3);
      });
    });
  });
});

describe('a scheduled message that cannot be started', () => {
  it('R-18 delays nothing else, is tried again less and less often, and fails in the end', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const broken = await schedule(t, minuteMs, { name: 'broken' });
    const healthy = await schedule(t, minuteMs);
    await t.sql`UPDATE messages SET content = '{"title": "{{ broken"}' WHERE name = 'broken'`;
    t.clock.advance(minuteMs);
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(await read(t, healthy)).toMatchObject({ status: 'sent', report: { sent: 1 } });
    const waits: number[] = [];
    for (let tries = 0; tries < 20; tries++) {
      const [waiting] = await t.sql<{ nextStartAt: Date }[]>`
        SELECT next_start_at FROM messages WHERE name = 'broken' AND status = 'scheduled'`;
      if (!waiting) break;
      const waitMs = waiting.nextStartAt.getTime() - t.clock.nowMs();
      waits.push(waitMs);
      t.clock.advance(waitMs + 10);
      await workers.idle();
    }
    expect(await read(t, broken)).toMatchObject({
      status: 'failed',
      status_reason: 'internal_error',
      started_at: null,
    });
    expect(waits.length).toBeGreaterThan(3);
    for (const [index, waitMs] of waits.entries()) {
      if (index > 0) expect(waitMs).toBeGreaterThan((waits[index - 1] ?? 0) * 1.3);
    }
    expect(await usedBy(t)).toBe(1);
  });

  it('R-18 is counted before it is tried once it is late, so that one that kills its process fails in the end', async () => {
    const t = await setUp();
    await t.registerMany(1);
    await schedule(t, minuteMs);
    // The state after a process that the message killed again and again.
    await t.sql`UPDATE messages SET starts = 8`;
    t.clock.advance(minuteMs);
    await t.service.startWorkers().idle();
    const { body } = await t.server.get('/v1/messages');
    expect(body.data).toMatchObject([{ status: 'failed', status_reason: 'internal_error' }]);
    expect(t.push.requests).toHaveLength(0);
  });

  it('whose audience takes too long is tried again, however often, until it succeeds', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs);
    const pool = openPool({ url: t.databaseUrl, connectionsMax: 3, name: 'short', statementTimeoutMs: 200 });
    const { clock, run, localInstants } = t.service;
    const { log, isPaused } = run;
    const worker = startScheduleWorker({
      clock,
      plans: builtInPlans,
      log,
      isPaused,
      localInstants,
      teller: run.teller,
      txSql: pool,
      workSql: pool,
    });
    whenDone(async () => {
      await worker.stop();
      await pool.end({ timeout: 1 });
    });
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
      t.clock.advance(minuteMs);
      for (let tries = 0; tries < 10; tries++) {
        await worker.idle();
        t.clock.advance(31_000);
      }
    });
    expect((await read(t, message)).status).toBe('scheduled');
    // On a busy machine 200 ms may be too short even for a free audience.
    await worker.stop();
    t.clock.advance(31_000);
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 1 } });
  });

  it.each(['53300', '53100', '55P03', '40P01', 'CONNECTION_CLOSED'])(
    'R-96 because of the state of the database (%s) is tried again, however often, until it succeeds',
    async (code) => {
      const t = await setUp();
      await t.registerMany(1);
      const message = await schedule(t, minuteMs);
      const { clock, run, localInstants } = t.service;
      const rules = { clock, plans: builtInPlans, log: run.log, localInstants, teller: run.teller };
      const sql = new Proxy(t.sql, {
        get(target, name) {
          if (name !== 'begin') return Reflect.get(target, name);
          return () => Promise.reject(Object.assign(new Error('refused'), { code }));
        },
      });
      for (let tries = 0; tries < 10; tries++) {
        // Late, so that it is started alone.
        t.clock.advance(2 * minuteMs);
        const claim = await claimLateMessage(t.sql, clock, { afterAppId: firstApp, freshMs: 0, waitMs: nextTryMs });
        if (!claim) throw new Error('nothing is due');
        await startAlone({ ...rules, sql }, claim);
      }
      expect((await read(t, message)).status).toBe('scheduled');
      t.clock.advance(minuteMs);
      await t.service.startWorkers().idle();
      expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 1 } });
    },
  );
});

describe('a stop', () => {
  it('R-05 does not wait for an audience that takes long: nothing of that start remains, and the next process starts it', async () => {
    const t = await setUp();
    await t.registerMany(1);
    const message = await schedule(t, minuteMs);
    const pool = openPool({ url: t.databaseUrl, connectionsMax: 3, name: 'stopped', statementTimeoutMs: 60_000 });
    const { clock, run, localInstants } = t.service;
    const { log, isPaused } = run;
    const rules = { plans: builtInPlans, log, isPaused, localInstants, teller: run.teller };
    await transaction(t.sql, async (tx) => {
      await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
      t.clock.advance(3 * minuteMs);
      const worker = startScheduleWorker({ clock, ...rules, txSql: pool, workSql: pool });
      await untilLockWaits(t.sql, 1, { name: 'stopped' });
      await worker.stop();
      await pool.end({ timeout: 0 });
    });
    expect((await read(t, message)).status).toBe('scheduled');
    t.clock.advance(minuteMs);
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 1 } });
    expect(await batchesOf(t, message)).toHaveLength(1);
  });
});
