import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import { statusNumber } from '../../src/sending/delivery/delivery.ts';
import { cancelSuspended } from '../../src/sending/messages/cancel-message.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { accept, type Script } from '../push-service.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type Bundle, setup, type TestApp } from '../setup.ts';

const content = { title: 'Sale', url: 'https://shop.example/sale' };
const oneSecondMs = 1000;

/**
 * Without workers: each test starts them when it is ready. The plan counts deliveries, so that
 * refunds are visible.
 */
async function setUp() {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: 'pro' } });
  const send = async (devices: number): Promise<string> => {
    await t.registerMany(devices);
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    expect(body.report.pending).toBe(devices);
    return body.id;
  };
  return { t, send };
}

// Does the same as `carillon app suspend`; the next function does the same as `app resume`.
async function suspend(t: Bundle): Promise<void> {
  await updateAppSuspension(t.sql, t.clock, t.app.id, true);
  await cancelSuspended({ ...t, teller: t.service.run.teller }, t.app.id);
}
const resume = (t: Bundle) => updateAppSuspension(t.sql, t.clock, t.app.id, false);

/** Lets a second pass, after which no process remembers the former state of a key. */
const forgetKeys = (t: Bundle): void => t.clock.advance(oneSecondMs + 1);

const comeBackLater: Script = (_request, response) => {
  response.writeHead(503, { 'retry-after': '300' });
  response.end();
};

async function usedBy(t: Bundle, app: TestApp): Promise<number> {
  const [row] = await t.sql<{ used: number }[]>`SELECT sum(used)::int AS used FROM usage WHERE app_id = ${app.id}`;
  return row?.used ?? 0;
}

async function untilCanceled(t: Bundle, message: string): Promise<void> {
  const id = decodeId('msg', message) ?? '';
  for (;;) {
    const found = await t.sql`SELECT 1 FROM messages WHERE id = ${id} AND status = 'canceled'`;
    if (found.length > 0) return;
  }
}

/** The message as its owner sees it after the suspension. */
async function readMessage(t: Bundle, message: string) {
  await resume(t);
  forgetKeys(t);
  return (await t.server.get(`/v1/messages/${message}`)).body;
}

describe('a message that is being sent when its app is suspended', () => {
  it('ends now and not when its retries would be due, even if its batch is being claimed', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    const held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void held.push(() => comeBackLater(request, response, count)));
    const workers = t.service.startWorkers();
    await t.push.waitForCount(60);
    await suspend(t);
    for (const answer of held) answer();
    await workers.idle();
    expect(await readMessage(t, message)).toMatchObject({
      status: 'canceled',
      report: { accepted: 60, sent: 0, failed: 0, skipped: 60 },
    });
    expect(t.push.requests).toHaveLength(60);
  });

  it('refunds the one unit of a plan that counts messages, when no delivery was tried', async () => {
    const plans = await mkdtemp(join(tmpdir(), 'carillon-plans-'));
    whenDone(() => rm(plans, { recursive: true }));
    const file = join(plans, 'plans.json');
    const quota = { per_month: 10, unit: 'message' };
    await writeFile(file, JSON.stringify({ plans: { pro: { sk_per_second: null, ck_per_second: null, quota } } }));
    const environment = { SEND_WAIT_MS: '0', DEFAULT_PLAN: 'pro', PLANS_FILE: file };
    const t = await setup({ workers: false, environment });
    await t.registerMany(60);
    await t.server.post('/v1/messages', { audience: { all: true }, content });
    expect(await usedBy(t, t.app)).toBe(1);
    await suspend(t);
    await t.service.startWorkers().idle();
    expect(await usedBy(t, t.app)).toBe(0);
  });

  it('ends canceled before anything has begun: nothing is pushed and everything is refunded', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    expect(await usedBy(t, t.app)).toBe(60);
    await suspend(t);
    await t.service.startWorkers().idle();
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t, t.app)).toBe(0);
    expect(await readMessage(t, message)).toMatchObject({
      status: 'canceled',
      status_reason: 'app_suspended',
      report: { accepted: 60, sent: 0, failed: 0, skipped: 60 },
      error_counts: { canceled: 60 },
    });
  });

  it('records the pushes in flight, and skips and refunds the rest', async () => {
    const { t, send } = await setUp();
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void open.push(() => accept(request, response, count)));
    const message = await send(900);
    const workers = t.service.startWorkers();
    await t.push.waitForCount(100);
    await suspend(t);
    await untilCanceled(t, message);
    t.push.scriptAll(accept);
    for (const answer of open) answer();
    await workers.idle();
    const pushed = t.push.requests.length;
    expect(pushed).toBeLessThan(900);
    expect(await usedBy(t, t.app)).toBe(pushed);
    expect(await readMessage(t, message)).toMatchObject({
      status: 'canceled',
      status_reason: 'app_suspended',
      report: { accepted: 900, sent: pushed, failed: 0, skipped: 900 - pushed },
    });
    expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toHaveLength(0);
  });

  it('ends deliveries that wait for a retry at once, not when the retry would be due, and refunds them', async () => {
    const { t, send } = await setUp();
    t.push.scriptAll(comeBackLater);
    const message = await send(60);
    const workers = t.service.startWorkers();
    await workers.idle();
    const asked = t.push.requests.length;
    expect(asked).toBeGreaterThan(0);
    expect(await t.sql`SELECT 1 FROM deliveries WHERE status = 0`).toHaveLength(asked);
    await suspend(t);
    await workers.idle();
    expect(t.push.requests).toHaveLength(asked);
    expect(await usedBy(t, t.app)).toBe(0);
    expect(await readMessage(t, message)).toMatchObject({
      status: 'canceled',
      status_reason: 'app_suspended',
      report: { accepted: 60, sent: 0, failed: 0, skipped: 60 },
    });
    // Attempts stay on record.
    const tried =
      await t.sql`SELECT timeline FROM deliveries WHERE status = ${statusNumber('skipped')} AND attempts = 1`;
    expect(tried.map((row) => row['timeline'])).toEqual(
      Array(asked).fill([expect.objectContaining({ outcome: 'retry', error_code: 'provider_unavailable' })]),
    );
  });

  it('stays canceled when the app is resumed, and later messages are sent', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    await suspend(t);
    const workers = t.service.startWorkers();
    await workers.idle();
    await resume(t);
    forgetKeys(t);
    const { status, body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    expect(status).toBe(200);
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${body.id}`)).body).toMatchObject({
      status: 'sent',
      report: { sent: 60 },
    });
    expect((await t.server.get(`/v1/messages/${message}`)).body.status).toBe('canceled');
    expect(t.push.requests).toHaveLength(60);
  });

  it("does not affect other apps' messages and its own finished ones", async () => {
    const { t, send } = await setUp();
    const workers = t.service.startWorkers();
    const ended = await send(60);
    await workers.idle();
    const other = await t.newApp();
    await t.registerMany(60, other);
    await suspend(t);
    const client = t.clientOf(other.serverKey);
    const { body } = await client.post('/v1/messages', { audience: { all: true }, content });
    await workers.idle();
    expect((await client.get(`/v1/messages/${body.id}`)).body).toMatchObject({ status: 'sent', report: { sent: 60 } });
    expect(await readMessage(t, ended)).toMatchObject({ status: 'sent', status_reason: null, report: { sent: 60 } });
    expect(await usedBy(t, t.app)).toBe(60);
  });
});

describe('while an app is suspended', () => {
  it('every keyed request is 403, and receipts and click redirects keep working', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    await t.service.startWorkers().idle();
    const [delivery] = await t.sql<{ deviceId: string }[]>`SELECT device_id FROM deliveries LIMIT 1`;
    const token = await receiptTokenOf(t, message, encodeId('dev', delivery?.deviceId ?? ''));
    await suspend(t);
    forgetKeys(t);
    for (const answer of [
      await t.server.post('/v1/messages', { audience: { all: true }, content }),
      await t.server.get(`/v1/messages/${message}`),
      await t.client.get('/v1/config'),
    ]) {
      expect(answer).toMatchObject({ status: 403, body: { error: 'app_suspended' } });
    }
    const receipt = await t.request('POST', '/v1/receipts', { body: { token, event: 'displayed' } });
    expect(receipt).toMatchObject({ status: 200, body: { recorded: true } });
    const click = await t.request('GET', `/v1/r/${token}`);
    expect([click.status, click.headers.get('location')]).toEqual([302, 'https://shop.example/sale']);
    expect((await readMessage(t, message)).engagement).toEqual({ displayed: 1, clicked: 1, dismissed: 0 });
  });
});
