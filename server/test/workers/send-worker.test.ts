import { transaction } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { decodeId, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { leaseMs } from '../../src/sending/delivery/batch.ts';
import { kindsOf } from '../../src/sending/delivery/delivery-kinds.ts';
import type { Leases } from '../../src/sending/delivery/leases.ts';
import { advanceBatch, claimNextBatch, handBackBatch, renewClaims } from '../../src/sending/delivery/queries.ts';
import { runBatch } from '../../src/sending/delivery/run-batch.ts';
import { accept } from '../push-service.ts';
import { type Bundle, setup } from '../setup.ts';
import { holdAt } from './held.ts';

const firstApp = '00000000-0000-0000-0000-000000000000';
const content = { title: 'Sale' };

const claim = (t: Bundle, after: Uuid = firstApp) => claimNextBatch(t.sql, t.clock, after, mintUuid());

/**
 * Queues a message that no process works yet: more devices than its accepting process takes,
 * without workers.
 */
async function queueMessage(t: Bundle, devices: number, app = t.app) {
  await t.registerMany(devices, app);
  const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
  expect(body.report).toEqual({ accepted: devices, sent: 0, failed: 0, skipped: 0, pending: devices });
  return body.id as string;
}

/** Sends one more message to the existing devices. */
async function sendAgain(t: Bundle): Promise<string> {
  return (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;
}

describe('claims', () => {
  it('R-17 with 200 concurrent claimers each batch has one holder, and no claim gets more than one', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 1100);
    const apps = await Promise.all(Array.from({ length: 8 }, () => t.newApp()));
    for (const app of apps) await queueMessage(t, 60, app);
    const claims = await Promise.all(Array.from({ length: 200 }, () => claim(t)));
    const held = claims.flatMap((batch) => (batch ? [batch.id] : []));
    expect(held).toHaveLength(10);
    expect(new Set(held).size).toBe(10);
  });

  it("R-62 alternate between apps: one app's many batches do not delay another app's single one", async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 3100);
    const small = await t.newApp();
    await queueMessage(t, 60, small);
    const first = await claim(t);
    const second = await claim(t, first?.appId);
    const third = await claim(t, second?.appId);
    expect(new Set([first?.appId, second?.appId])).toEqual(new Set([t.app.id, small.id]));
    expect(third?.appId).toBe(t.app.id);
  });

  it('R-03 a batch whose lease ran out is taken over, a renewed one is not, one handed back is due at its time', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const held = await claim(t);
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(leaseMs - 1000);
    if (!held) throw new Error('nothing claimed');
    expect(await renewClaims(t.sql, t.clock, [held])).toMatchObject([{ id: held.id, isRenewed: true }]);
    t.clock.advance(leaseMs - 1000);
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(2000);
    const taken = await claim(t);
    expect(taken).toMatchObject({ id: held.id, claims: 2 });
    if (!taken) throw new Error('nothing claimed');
    expect(await handBackBatch(t.sql, t.clock, taken, new Date(t.clock.nowMs() + 5000))).toBe(true);
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(6000);
    // The claim whose lease ran out stays counted; the one that was handed back does not.
    expect(await claim(t)).toMatchObject({ id: held.id, claims: 2 });
  });

  it('R-03 the batch of a killed worker is taken over before those that were queued in the meantime', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const dead = await claim(t);
    for (let message = 0; message < 30; message++) await sendAgain(t);
    // The lease ends after the others were queued, and after a new process may take over.
    t.clock.advance(leaseMs + 1);
    const turns = holdAt('batch.after_claim');
    const workers = t.startWorkers();
    const live = () => t.sql`SELECT 1 FROM batches WHERE state = 'claimed' AND available_at > ${t.clock.now}`;
    while ((await live()).length < 8) await turns.held;
    expect(await t.sql`SELECT claims FROM batches WHERE id = ${dead?.id ?? ''}`).toEqual([{ claims: 2 }]);
    turns.letGo();
    await workers.idle();
    expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toEqual([]);
  });

  it('R-18 ten thousand live leases do not hide one that ran out', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const dead = await claim(t);
    if (!dead) throw new Error('nothing claimed');
    t.clock.advance(leaseMs + 1);
    await t.sql`
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, claim_id, claims)
      SELECT lpad(to_hex(n), 32, '0')::uuid, b.app_id, b.message_id, b.device_ids, b.size, 'claimed', b.queued_at, b.due_at,
        b.expires_at, ${t.clock.now} + interval '19 seconds', lpad(to_hex(n), 32, 'a')::uuid, 1
      FROM batches b CROSS JOIN generate_series(1, 10000) n WHERE b.id = ${dead.id}`;
    expect(await claim(t)).toMatchObject({ id: dead.id, claims: 2 });
    expect(await claim(t)).toBeUndefined();
  });

  it('R-04 a worker that lost its claim changes nothing', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const stale = await claim(t);
    t.clock.advance(leaseMs + 1);
    const current = await claim(t);
    if (!stale || !current) throw new Error('nothing claimed');
    expect(await renewClaims(t.sql, t.clock, [stale])).toEqual([]);
    expect(await handBackBatch(t.sql, t.clock, stale, new Date())).toBe(false);
    const counts = { sent: 5, failed: 0, skipped: 0 };
    expect(await transaction(t.sql, (tx) => advanceBatch(tx, t.clock, stale, counts, kindsOf([])))).toBeUndefined();
    const [row] = await t.sql`SELECT sent, state, claim_id FROM batches WHERE id = ${current.id}`;
    expect(row).toMatchObject({ sent: 0, state: 'claimed', claimId: current.claimId });
  });
});

describe('the send worker', () => {
  it('R-01 takes over after a crash and pushes to no device that has an outcome', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const id = await queueMessage(t, 60);
    const crashed = await claim(t);
    if (!crashed) throw new Error('nothing claimed');
    // The crashed worker had committed the outcomes of ten devices, as a flush does.
    await t.recordSent(crashed, crashed.deviceIds.slice(0, 10));
    t.clock.advance(leaseMs + 1);
    await t.service.startWorkers().idle();
    expect(t.push.requests).toHaveLength(50);
    const { body } = await t.server.get(`/v1/messages/${id}`);
    expect(body).toMatchObject({ status: 'sent', report: { accepted: 60, sent: 60, failed: 0, skipped: 0 } });
    const rows = await t.sql`SELECT status, count(*) FROM deliveries GROUP BY status`;
    expect(rows.map((row) => ({ ...row }))).toEqual([{ status: 1, count: 60 }]);
    expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toHaveLength(0);
  });

  it('R-04 a worker that wakes after another finished its batch changes nothing, whatever answers it still gets', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const id = await queueMessage(t, 60);
    const open: (() => void)[] = [];
    t.push.scriptAll((_request, response) => {
      open.push(() => {
        response.writeHead(410);
        response.end();
      });
    });
    const { run } = t.service;
    const stale = await claim(t);
    if (!stale) throw new Error('nothing claimed');
    const asleep = runBatch(run, stale, t.clock.steadyMs(), () => false);
    await t.push.waitForCount(60);
    t.clock.advance(leaseMs + 1);
    const current = await claim(t);
    if (!current) throw new Error('nothing claimed');
    t.push.scriptAll(undefined);
    expect(await runBatch(run, current, t.clock.steadyMs(), () => false)).toMatchObject({ kind: 'done' });
    const read = async () => [
      (await t.server.get(`/v1/messages/${id}`)).body,
      (await t.server.get(`/v1/messages/${id}/deliveries?limit=500`)).body.data,
      (await t.server.get('/v1/devices?limit=200')).body.data,
    ];
    const before = await read();
    expect(before[0]).toMatchObject({ status: 'sent', report: { accepted: 60, sent: 60, failed: 0, skipped: 0 } });
    for (const answer of open) answer();
    expect(await asleep).toMatchObject({ kind: 'lost' });
    expect(await read()).toEqual(before);
  });

  it('R-02 R-04 a worker that wakes after its lease sends nothing that it had prepared before', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const batch = await claim(t);
    if (!batch) throw new Error('nothing claimed');
    let isHeld = true;
    const { leases: real } = t.service.run;
    const leases: Leases = {
      ...real,
      hold: (...claimed) => Object.assign(real.hold(...claimed), { isOver: () => !isHeld, mayPush: () => isHeld }),
    };
    let prepared = 0;
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const asleep = new Promise<void>((resolve) => {
      // Ten pushes are sent; all others are held just before they go out, and the process with
      // them.
      const disarm = armFailpoints((name) => {
        if (name !== 'push.before_write' || ++prepared <= 10) return undefined;
        if (prepared === 60) resolve();
        return woken;
      });
      onTestFinished(disarm);
    });
    const running = runBatch({ ...t.service.run, leases }, batch, t.clock.steadyMs(), () => false);
    await asleep;
    await t.push.waitForCount(10);
    isHeld = false;
    wake();
    await running;
    expect(t.push.requests).toHaveLength(10);
    expect(await t.sql`SELECT 1 FROM deliveries WHERE attempts > 0`).toHaveLength(10);
    expect(await t.sql`SELECT 1 FROM deliveries`).toHaveLength(10);
  });

  it('R-18 a batch that ends its workers again and again fails its own deliveries and delays nothing else', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const poisoned = await queueMessage(t, 60);
    const healthyApp = await t.newApp();
    const healthy = await queueMessage(t, 60, healthyApp);
    await t.sql`UPDATE batches SET claims = 5 WHERE app_id = ${t.app.id}`;
    await t.service.startWorkers().idle();
    expect((await t.server.get(`/v1/messages/${poisoned}`)).body).toMatchObject({
      status: 'failed',
      report: { accepted: 60, sent: 0, failed: 60 },
      error_counts: { unknown_error: 60 },
    });
    const other = await t.clientOf(healthyApp.serverKey).get(`/v1/messages/${healthy}`);
    expect(other.body).toMatchObject({ status: 'sent', report: { sent: 60 } });
  });

  it('R-18 goes on to the next batch of the same app after one whose message is missing or unreadable', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const [gone, unreadable, healthy] = [await queueMessage(t, 60), await sendAgain(t), await sendAgain(t)];
    await t.sql`DELETE FROM messages WHERE id = ${decodeId('msg', gone) ?? ''}`;
    await t.sql`UPDATE messages SET content = '{"title": "{{ broken"}' WHERE id = ${decodeId('msg', unreadable) ?? ''}`;
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${healthy}`)).body).toMatchObject({
      status: 'sent',
      report: { sent: 60 },
    });
    for (let turn = 0; turn < 6; turn++) {
      t.clock.advance(leaseMs + 1);
      await workers.idle();
    }
    expect((await t.server.get(`/v1/messages/${unreadable}`)).body.error_counts).toEqual({ unknown_error: 60 });
    expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toHaveLength(0);
    expect(t.push.requests).toHaveLength(60);
  });

  it('R-18 content that can no longer be read fails its deliveries after five claims, not the worker', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const id = await queueMessage(t, 60);
    await t.sql`UPDATE messages SET content = '{"title": "{{ broken"}'`;
    const workers = t.service.startWorkers();
    for (let turn = 0; turn < 7; turn++) {
      await workers.idle();
      t.clock.advance(leaseMs + 1);
    }
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
      status: 'failed',
      error_counts: { unknown_error: 60 },
    });
    expect(t.push.requests).toHaveLength(0);
  });

  it('R-05 a stop finishes pushes in flight, hands the rest back, and the next worker sends each of them once', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const id = await queueMessage(t, 900);
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void open.push(() => accept(request, response, count)));
    const first = t.startWorkers();
    await t.push.waitForCount(100);
    const stopped = first.stop();
    for (const answer of open) answer();
    t.push.scriptAll((request, response, count) => accept(request, response, count));
    await stopped;
    const sentBefore = t.push.requests.length;
    expect(sentBefore).toBeLessThan(900);
    const [batch] = await t.sql`SELECT state, claims, sent FROM batches`;
    expect(batch).toMatchObject({ state: 'waiting', claims: 0, sent: sentBefore });
    await t.startWorkers().idle();
    expect((await t.server.get(`/v1/messages/${id}`)).body.report).toEqual({
      accepted: 900,
      sent: 900,
      failed: 0,
      skipped: 0,
    });
    expect(new Set(t.push.requests.map((request) => request.token)).size).toBe(900);
    expect(t.push.requests).toHaveLength(900);
  });

  it('a Retry-After pauses the lane: no other device is pushed to there meanwhile, and no attempt is counted', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const id = await queueMessage(t, 300);
    t.push.scriptAll((_request, response) => {
      response.writeHead(429, { 'retry-after': '30' });
      response.end();
    });
    const workers = t.service.startWorkers();
    await workers.idle();
    const asked = t.push.requests.length;
    expect(asked).toBeLessThan(300);
    const rows = await t.sql`SELECT status, attempts FROM deliveries`;
    expect(rows).toHaveLength(asked);
    t.push.scriptAll(undefined);
    t.clock.advance(31_000);
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${id}`)).body.report).toEqual({
      accepted: 300,
      sent: 300,
      failed: 0,
      skipped: 0,
    });
    expect(t.push.requests).toHaveLength(300 + asked);
  });
});

describe('the breaker', () => {
  it('a credential that never worked and is refused for three tokens is suspect, and retires no device', async () => {
    const t = await setup();
    const devices = [await t.registerDevice(), await t.registerDevice(), await t.registerDevice()];
    t.push.scriptAll((_request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end('{"reason":"VapidPkHashMismatch"}');
    });
    const { body } = await t.server.post('/v1/messages', { audience: { device_ids: devices }, content });
    expect(body.report).toEqual({ accepted: 3, sent: 0, failed: 3, skipped: 0 });
    await t.judged();
    const [credential] = await t.sql`SELECT state FROM credentials WHERE app_id = ${t.app.id}`;
    expect(credential).toMatchObject({ state: 'suspect' });
    const listed = (await t.server.get('/v1/devices?status=active')).body.data;
    expect(listed).toHaveLength(3);
    t.push.scriptAll(undefined);
    await t.server.post('/v1/messages', { audience: { device_ids: devices }, content });
    await t.judged();
    const [healed] = await t.sql`SELECT state FROM credentials WHERE app_id = ${t.app.id}`;
    expect(healed).toMatchObject({ state: 'ok' });
  });

  it('one device that mismatches in three messages in a row, while others succeed, is retired', async () => {
    const t = await setup();
    const stale = await t.registerDevice({ token: t.pushSubscription('stale') });
    await t.registerDevice({ token: t.pushSubscription('fresh') });
    t.push.script('stale', (_request, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end('{"reason":"VapidPkHashMismatch"}');
    });
    const statusOf = async () => (await t.server.get('/v1/devices?status=invalid')).body.data;
    for (let message = 1; message <= 3; message++) {
      expect(await statusOf()).toEqual([]);
      const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
      expect(body.report).toEqual({ accepted: 2, sent: 1, failed: 1, skipped: 0 });
      await t.judged();
    }
    expect(await statusOf()).toMatchObject([{ id: stale, status_reason: 'credential_mismatch' }]);
  });
});
