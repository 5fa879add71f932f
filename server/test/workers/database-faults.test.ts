import { type Sql, transaction } from '@carillon/postgres';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import { createFairSlots } from '../../src/ground/pacing/fair-slots.ts';
import { mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { createAnswerForms } from '../../src/sending/delivery/answer-forms.ts';
import { type ClaimedBatch, claimsMax, leaseMs } from '../../src/sending/delivery/batch.ts';
import { type Attempt, errorNumber, statusNumber } from '../../src/sending/delivery/delivery.ts';
import { kindsOf } from '../../src/sending/delivery/delivery-kinds.ts';
import type { DeliveryRow } from '../../src/sending/delivery/delivery-row.ts';
import { upsertDeliveries } from '../../src/sending/delivery/outcome-queries.ts';
import { advanceBatch, claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { receiptTokensOf } from '../../src/sending/delivery/receipt-token.ts';
import { createRecorder } from '../../src/sending/delivery/record-outcomes.ts';
import { runBatch } from '../../src/sending/delivery/run-batch.ts';
import { listTargets } from '../../src/sending/delivery/targets.ts';
import { withFaultyBegin } from '../faulty-begin.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { accept } from '../push-service.ts';
import { newestReceiptTokenOf } from '../receipt-tokens.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';

const firstApp = '00000000-0000-0000-0000-000000000000';
const content = { title: 'Sale' };
/** A batch waits at most this long after a setback. */
const longestWaitMs = 60_000;

// Errors that nothing in the process catches; each of them would have ended it.
const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => void unhandled.push(error));
process.on('uncaughtException', (error) => void unhandled.push(error));
afterEach(() => {
  expect(unhandled.splice(0)).toEqual([]);
});

const setUp = (options: SetupOptions = {}) => setup({ workers: false, environment: { SEND_WAIT_MS: '0' }, ...options });

async function claim(t: Bundle): Promise<ClaimedBatch> {
  const batch = await claimNextBatch(t.sql, t.clock, firstApp, mintUuid(t.clock.nowMs()));
  if (!batch) throw new Error('nothing to claim');
  return batch;
}

/**
 * Queues more devices than an accepting process works itself, without workers, so that the batch
 * can be claimed.
 */
async function queue(t: Bundle, devices = 60, fields: object = {}): Promise<string> {
  await t.registerMany(devices);
  const message = { audience: { all: true }, content, ...fields };
  return (await t.server.post('/v1/messages', message)).body.id;
}

function createGate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  // A test that fails midway must not leave anything waiting.
  onTestFinished(() => open());
  return { open: () => open(), opened };
}

const flushes = { name: 'carillon send' };
const requests = { name: 'carillon transactions' };

function rowOf(t: Bundle, deviceId: Uuid, fields: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    deviceId,
    userId: null,
    doneAtMs: t.clock.nowMs(),
    latencyMs: 1,
    credentialId: 1,
    channel: 0,
    status: statusNumber('sent'),
    errorCode: null,
    attempts: 1,
    providerStatus: 201,
    form: null,
    providerRef: null,
    urls: null,
    timeline: null,
    ...fields,
  };
}

const retryOf = (t: Bundle): Attempt => ({
  at: t.clock.date().toISOString(),
  type: 'attempt',
  attempt: 1,
  outcome: 'retry',
  error_code: 'provider_unavailable',
  latency_ms: 1,
  retry_at: t.clock.date().toISOString(),
  provider: null,
});

const retrying = (t: Bundle, deviceId: Uuid): DeliveryRow =>
  rowOf(t, deviceId, {
    status: statusNumber('retrying'),
    errorCode: errorNumber('provider_unavailable'),
    timeline: JSON.stringify([retryOf(t)]),
  });

const lostAnswer = () => Object.assign(new Error('the answer was lost'), { code: 'CONNECTION_CLOSED' });

describe('a flush', () => {
  it('R-02 R-07 counts once when its commit succeeded and only the answer was lost', async () => {
    const t = await setUp();
    await queue(t);
    const batch = await claim(t);
    const sql = withFaultyBegin(t.service.run.sql, 1, async (work) => {
      await t.service.run.sql.begin(work);
      throw lostAnswer();
    });
    await recordTwenty(t, batch, sql, async () => undefined);
  });

  it('R-02 R-07 counts once when its answer was lost while its commit is still running', async () => {
    const t = await setUp();
    await queue(t);
    const batch = await claim(t);
    const commit = createGate();
    let first: Promise<unknown> = Promise.resolve();
    const sql = withFaultyBegin(t.service.run.sql, 1, async (work) => {
      const written = createGate();
      // The server continues the transaction although the client has lost the connection.
      first = t.service.run.sql.begin(async (tx, atEnd) => {
        await work(tx, atEnd);
        written.open();
        await commit.opened;
      });
      await written.opened;
      throw lostAnswer();
    });
    await recordTwenty(t, batch, sql, async () => {
      await untilLockWaits(t.sql, 1, flushes);
      commit.open();
      await first;
    });
  });

  it('R-02 that cannot be committed stops further pushes, because all of them might have to be repeated', async () => {
    const t = await setUp();
    await queue(t, 400);
    const held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void held.push(() => accept(request, response, count)));
    // The number of slots is fixed: answered pushes earn no more.
    const slots = createFairSlots({ slotsMax: 400, perFree: 1 });
    const running = runBatch({ ...t.service.run, slots }, await claim(t), t.clock.steadyMs(), () => false);
    await t.push.waitForCount(200);
    const written = createGate();
    const locked = createGate();
    const locking = t.sql.begin(async (tx) => {
      await tx`LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE`;
      locked.open();
      await written.opened;
    });
    await locked.opened;
    // Each answered push gives its place to another, until the commit is late.
    for (const answer of held.splice(0, 100)) answer();
    await untilLockWaits(t.sql, 1, { ...flushes, forMs: 700 });
    for (const answer of held.splice(0)) answer();
    await untilLockWaits(t.sql, 1, { ...flushes, forMs: 1500 });
    expect(t.push.requests.length).toBeLessThanOrEqual(300);
    t.push.scriptAll(undefined);
    written.open();
    await locking;
    expect(await running).toEqual({ kind: 'done' });
    expect(t.push.requests).toHaveLength(400);
  });

  async function recordTwenty(t: Bundle, batch: ClaimedBatch, sql: Sql, meanwhile: () => Promise<void>) {
    const { run } = t.service;
    const lease = run.leases.hold(batch, t.clock.steadyMs());
    const recorder = createRecorder({ ...run, sql }, batch, lease);
    for (const target of await listTargets(t.sql, batch.appId, batch.deviceIds.slice(0, 20), [])) {
      await recorder.add(target, 'webpush', [], { kind: 'failed', code: 'payload_too_large', credentialId: 1 });
    }
    const closed = recorder.close();
    await meanwhile();
    expect(await closed).toBe(true);
    lease.end();
    const [counted] = await t.sql`
      SELECT b.failed AS of_batch, m.webpush_failed AS of_message, m.error_counts,
        (SELECT count(*) FROM deliveries WHERE batch_id = b.id AND status = ${statusNumber('failed')}) AS rows
      FROM batches b JOIN messages m ON m.id = b.message_id`;
    expect(counted).toEqual({ ofBatch: 20, ofMessage: 20, rows: 20, errorCounts: { payload_too_large: 20 } });
  }

  it('that is repeated keeps an outcome without a new request: a waiting retry that expired', async () => {
    const t = await setUp();
    await queue(t);
    const batch = await claim(t);
    const { run } = t.service;
    const [deviceId = ''] = batch.deviceIds;
    await upsertDeliveries(t.sql, batch.id, [retrying(t, deviceId)]);
    const sql = withFaultyBegin(run.sql, 1, () =>
      Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' })),
    );
    const lease = run.leases.hold(batch, t.clock.steadyMs());
    const recorder = createRecorder({ ...run, sql }, batch, lease);
    for (const target of await listTargets(t.sql, batch.appId, [deviceId], [])) {
      await recorder.add(target, 'webpush', [retryOf(t)], { kind: 'failed', code: 'expired', credentialId: 1 });
    }
    expect(await recorder.close()).toBe(true);
    lease.end();
    expect(await t.sql`SELECT status, error_code, attempts FROM deliveries`).toMatchObject([
      { status: statusNumber('failed'), errorCode: errorNumber('expired'), attempts: 1 },
    ]);
    expect(await t.sql`SELECT failed FROM batches`).toMatchObject([{ failed: 1 }]);
    expect(await t.sql`SELECT webpush_failed FROM messages`).toMatchObject([{ webpushFailed: 1 }]);
  });
});

describe('R-18 a batch whose outcomes the database always refuses', () => {
  it('is handed back with a wait, and its claim counts, because its pushes are unknown', async () => {
    const t = await setUp();
    await queue(t);
    // A wrong earlier count: with any outcome more it exceeds the batch's size.
    await t.sql`UPDATE batches SET sent = size`;
    expect(await runBatch(t.service.run, await claim(t), t.clock.steadyMs(), () => false)).toMatchObject({
      kind: 'waiting',
    });
    const [batch] = await t.sql`SELECT state, claims, pushed, faults, available_at > now() AS waits FROM batches`;
    expect(batch).toEqual({ state: 'waiting', claims: 1, pushed: true, faults: 1, waits: true });
    expect(await t.sql`SELECT 1 FROM deliveries`).toHaveLength(0);
  });

  it('R-02 fails its deliveries after five claims if that can be written: each was pushed to, and no answer is known', async () => {
    const t = await setUp();
    const id = await queue(t);
    await t.sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'this cannot be stored'; END $$`;
    await t.sql.unsafe(`
      CREATE TRIGGER refuse BEFORE INSERT ON deliveries FOR EACH ROW
      WHEN (NEW.status = ${statusNumber('sent')}) EXECUTE FUNCTION refuse()`);
    // A refused flush ends the pushes of its batch, so all are on the wire before the first answer.
    let held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => {
      held.push(() => accept(request, response, count));
      if (held.length < 60) return;
      for (const answer of held) answer();
      held = [];
    });
    const workers = t.service.startWorkers();
    for (let turn = 0; turn < claimsMax; turn++) {
      await workers.idle();
      expect((await t.server.get(`/v1/messages/${id}`)).body.status).toBe('sending');
      t.clock.advance(longestWaitMs + 1);
    }
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
      status: 'failed',
      report: { accepted: 60, sent: 0, failed: 60 },
      error_counts: { timeout: 60 },
    });
    expect(t.push.requests).toHaveLength(60 * claimsMax);
  });

  it('occupies no worker and makes no more pushes if not even that can be written; other batches are sent', async () => {
    const t = await setUp();
    await queue(t);
    await t.sql`UPDATE batches SET sent = 10, claims = ${claimsMax}`;
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(0);
    expect(await t.sql`SELECT state, claims FROM batches`).toMatchObject([{ state: 'waiting', claims: claimsMax + 1 }]);
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${body.id}`)).body).toMatchObject({
      status: 'sent',
      report: { sent: 60 },
    });
  });
});

describe('R-49 receipts', () => {
  const tokenOf = (t: Bundle, batch: ClaimedBatch, deviceId: Uuid) =>
    receiptTokensOf(t.receiptKey, batch.id)(batch.deviceIds.indexOf(deviceId));
  const displayed = (t: Bundle, token: string) =>
    t.request('POST', '/v1/receipts', { body: { token, event: 'displayed' } });

  it('two that wait for one flush both succeed', async () => {
    const t = await setUp();
    await queue(t);
    const batch = await claim(t);
    const [a = '', b = ''] = batch.deviceIds;
    const written = createGate();
    const commit = createGate();
    const flush = transaction(t.sql, async (tx) => {
      await advanceBatch(tx, t.clock, batch, { sent: 2, failed: 0, skipped: 0 }, kindsOf([]));
      await upsertDeliveries(tx, batch.id, [rowOf(t, a), rowOf(t, b)]);
      written.open();
      await commit.opened;
    });
    await written.opened;
    const receipts = [a, b].map((device) => displayed(t, tokenOf(t, batch, device)));
    await untilLockWaits(t.sql, 2, requests);
    commit.open();
    await flush;
    for (const answer of await Promise.all(receipts)) {
      expect(answer).toMatchObject({ status: 200, body: { recorded: true } });
    }
    expect(await t.sql`SELECT displayed FROM batches`).toMatchObject([{ displayed: 2 }]);
    expect(await t.sql`SELECT 1 FROM deliveries WHERE displayed_at IS NOT NULL`).toHaveLength(2);
  });

  it('one beside the flush of a retried delivery succeeds, and so does the flush', async () => {
    const t = await setUp();
    await queue(t);
    const batch = await claim(t);
    const [deviceId = ''] = batch.deviceIds;
    await upsertDeliveries(t.sql, batch.id, [retrying(t, deviceId)]);
    const fenced = createGate();
    const receiptWaits = createGate();
    const flush = transaction(t.sql, async (tx) => {
      await advanceBatch(tx, t.clock, batch, { sent: 1, failed: 0, skipped: 0 }, kindsOf([]));
      fenced.open();
      await receiptWaits.opened;
      await upsertDeliveries(tx, batch.id, [rowOf(t, deviceId, { attempts: 2 })]);
    });
    await fenced.opened;
    const receipt = displayed(t, tokenOf(t, batch, deviceId));
    await untilLockWaits(t.sql, 1, requests);
    receiptWaits.open();
    await flush;
    expect(await receipt).toMatchObject({ status: 200, body: { recorded: true } });
    expect(await t.sql`SELECT status, displayed_at IS NOT NULL AS displayed FROM deliveries`).toMatchObject([
      { status: statusNumber('sent'), displayed: true },
    ]);
  });

  it('a click on a personalized url before the commit of its outcome waits for it and redirects to the right one', async () => {
    const t = await setUp({ environment: { SEND_WAIT_MS: '10000' } });
    const answered = createGate();
    t.push.scriptAll(async (request, response, count) => {
      await answered.opened;
      accept(request, response, count);
    });
    const device = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'ada', device_id: device });
    const sending = t.server.post('/v1/messages', {
      audience: { device_ids: [device] },
      content: { ...content, url: 'https://shop.example/sale?who={{external_id}}' },
    });
    await t.push.waitForCount(1);
    const token = await newestReceiptTokenOf(t, device);
    const click = t.request('GET', `/v1/r/${token}`);
    await untilLookedForUrl(t);
    answered.open();
    const [{ status, headers }, { body }] = await Promise.all([click, sending]);
    expect([status, headers.get('location')]).toEqual([302, 'https://shop.example/sale?who=ada']);
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.engagement.clicked).toBe(1);
  });

  /** Resolves when a request has read the message of a click, its last read before it waits. */
  async function untilLookedForUrl(t: Bundle): Promise<void> {
    for (;;) {
      const looked = await t.sql`
        SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'carillon send'
          AND state = 'idle' AND query LIKE '%m.content, a.default_url%'`;
      if (looked.length > 0) return;
    }
  }
});

describe('when the database becomes unreachable', () => {
  it('while answers are stored as forms, they are stored whole and no push is repeated', async () => {
    const t = await setUp();
    const id = await queue(t, 300);
    const blip = (() => Promise.reject(lostAnswer())) as unknown as Sql;
    const run = { ...t.service.run, forms: createAnswerForms({ sql: blip }) };
    expect(await runBatch(run, await claim(t), t.clock.steadyMs(), () => false)).toMatchObject({ kind: 'done' });
    expect(t.push.requests).toHaveLength(300);
    expect(new Set(t.push.requests.map(({ token }) => token)).size).toBe(300);
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({ status: 'sent', report: { sent: 300 } });
    const [delivery] = (await t.server.get(`/v1/messages/${id}/deliveries?limit=1`)).body.data;
    expect(delivery.provider_message_id).toMatch(/^https:\/\/push\.test\.example\/m\//);
    expect(delivery.timeline.at(-1).provider).toMatchObject({ http_status: 201 });
  });

  it('between the acceptance and the first push, the caller gets a 503 and the message is sent after the outage', async () => {
    const gate = createDatabaseGate();
    const t = await setUp({
      environment: { SEND_WAIT_MS: '10000', DEFAULT_PLAN: 'pro' },
      reachDatabase: (url) => gate.reach(url),
    });
    const device = await t.registerDevice();
    const charged = createGate();
    const looked = createGate();
    const held = createGate();
    const taken = createGate();
    // The acceptance has made its batch and waits for its charge. Behind it a transaction requests
    // a lock on all batches, which it gets at the commit, before the acceptance can look for its
    // own batch.
    const charging = t.sql.begin(async (tx) => {
      await tx`LOCK TABLE usage IN EXCLUSIVE MODE`;
      held.open();
      await charged.opened;
    });
    await held.opened;
    const sending = t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    await untilLockWaits(t.sql, 1, requests);
    const looking = t.sql.begin(async (tx) => {
      await tx`LOCK TABLE batches IN ACCESS EXCLUSIVE MODE`;
      taken.open();
      await looked.opened;
    });
    await untilLockWaits(t.sql, 1, { text: 'LOCK TABLE batches' });
    charged.open();
    await charging;
    await taken.opened;
    await untilLockWaits(t.sql, 1, flushes);
    await gate.shut();
    looked.open();
    await looking;
    expect(await sending).toMatchObject({ status: 503 });
    expect(t.push.requests).toHaveLength(0);
    await gate.open();
    t.clock.advance(leaseMs + 1);
    const workers = t.service.startWorkers();
    await t.push.waitForCount(1);
    // The accepting process may have sent the message instead of a worker.
    const isSent = async () => (await t.sql`SELECT 1 FROM messages WHERE status = 'sent'`).length > 0;
    while (!(await isSent())) await workers.idle();
    expect(await t.sql`SELECT status, webpush_sent FROM messages`).toMatchObject([{ status: 'sent', webpushSent: 1 }]);
    expect(t.push.requests).toHaveLength(1);
  });
});

describe('the clock', () => {
  it('ignores an answer that took longer than 250 ms, and follows a faster one', async () => {
    const { sql } = await setUp();
    let elapsedMs = 0;
    let tookMs = 0;
    const host = { wallMs: () => elapsedMs, steadyMs: () => elapsedMs };
    // A database whose clock stands still, and whose answers take as long as the test says.
    const slow = (async () => {
      elapsedMs += tookMs;
      return [{ nowMs: 1_000_000 }];
    }) as unknown as Sql;
    const clock = await createClock(slow, host);
    expect(clock.nowMs()).toBe(1_000_000);
    tookMs = 251;
    await clock.synchronize();
    expect(clock.nowMs()).toBe(1_000_251);
    tookMs = 250;
    await clock.synchronize();
    expect(clock.nowMs()).toBe(1_000_125);
    expect(Math.abs((await createClock(sql)).nowMs() - Date.now())).toBeLessThan(60_000);
  });
});
