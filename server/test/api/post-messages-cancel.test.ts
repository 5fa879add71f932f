import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { claimNextBatch, handBackBatch } from '../../src/sending/delivery/queries.ts';
import { cancelMessage } from '../../src/sending/messages/cancel-message.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { accept, type Script } from '../push-service.ts';
import { type Bundle, setup, unknownId } from '../setup.ts';

const content = { title: 'Sale' };
const minuteMs = 60_000;
const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };

/**
 * No workers: each test starts them when it is ready. The plan counts deliveries, so that refunds
 * are visible.
 */
async function setUp() {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: 'pro' } });
  const send = async (devices: number, fields: object = {}): Promise<string> => {
    await t.registerMany(devices);
    const { status, body } = await t.server.post('/v1/messages', { audience: { all: true }, content, ...fields });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.id;
  };
  const later = (devices: number): Promise<string> =>
    send(devices, { send_at: new Date(t.clock.nowMs() + minuteMs).toISOString() });
  return { t, send, later };
}

const cancel = (t: Bundle, message: string) => t.server.post(`/v1/messages/${message}/cancel`);
const read = async (t: Bundle, message: string) => (await t.server.get(`/v1/messages/${message}`)).body;

async function usedBy(t: Bundle): Promise<number> {
  const [row] = await t.sql<{ used: number }[]>`SELECT sum(used)::int AS used FROM usage WHERE app_id = ${t.app.id}`;
  return row?.used ?? 0;
}

const comeBackLater: Script = (_request, response) => {
  response.writeHead(503, { 'retry-after': '300' });
  response.end();
};

describe('200', () => {
  it('a scheduled message is canceled at once and never runs', async () => {
    const { t, later } = await setUp();
    const message = await later(2);
    const answer = await cancel(t, message);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: message,
      status: 'canceled',
      status_reason: null,
      started_at: null,
      finished_at: expect.any(String),
      expires_at: null,
      report: none,
    });
    expect(answer.body).toEqual(await read(t, message));
    t.clock.advance(minuteMs + 1000);
    await t.service.startWorkers().idle();
    expect((await read(t, message)).status).toBe('canceled');
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t)).toBe(0);
  });

  it('of a message that no process works yet, everything is skipped and refunded without a push', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    expect(await usedBy(t)).toBe(60);
    expect((await cancel(t, message)).body).toMatchObject({
      status: 'canceled',
      report: { ...none, accepted: 60, pending: 60 },
    });
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({
      status: 'canceled',
      report: { ...none, accepted: 60, skipped: 60 },
      error_counts: { canceled: 60 },
    });
    const deliveries = await t.server.get(`/v1/messages/${message}/deliveries?limit=1`);
    expect(deliveries.body.data).toMatchObject([{ status: 'skipped', error_code: 'canceled', attempts: 0 }]);
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t)).toBe(0);
  });

  it('pushes in flight end and are recorded; the rest is skipped and refunded', async () => {
    const { t, send } = await setUp();
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void open.push(() => accept(request, response, count)));
    const message = await send(900);
    const workers = t.service.startWorkers();
    await t.push.waitForCount(100);
    expect((await cancel(t, message)).body.status).toBe('canceled');
    t.push.scriptAll(accept);
    for (const answer of open) answer();
    await workers.idle();
    const pushed = t.push.requests.length;
    expect(pushed).toBeLessThan(900);
    expect(await read(t, message)).toMatchObject({
      status: 'canceled',
      status_reason: null,
      report: { accepted: 900, sent: pushed, failed: 0, skipped: 900 - pushed },
    });
    expect(await usedBy(t)).toBe(pushed);
    expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toHaveLength(0);
  });

  it('deliveries that wait for a retry are skipped now, keep their attempts, and are refunded', async () => {
    const { t, send } = await setUp();
    t.push.scriptAll(comeBackLater);
    const message = await send(60);
    const workers = t.service.startWorkers();
    await workers.idle();
    const asked = t.push.requests.length;
    await cancel(t, message);
    await workers.idle();
    expect(t.push.requests).toHaveLength(asked);
    expect(await read(t, message)).toMatchObject({
      status: 'canceled',
      report: { ...none, accepted: 60, skipped: 60 },
    });
    const { body } = await t.server.get(`/v1/messages/${message}/deliveries?limit=100`);
    const tried = body.data.filter(({ attempts }: { attempts: number }) => attempts === 1);
    expect(tried).toHaveLength(asked);
    for (const delivery of tried) {
      expect(delivery).toMatchObject({ status: 'skipped', error_code: 'canceled' });
      expect(delivery.timeline).toContainEqual(expect.objectContaining({ type: 'attempt', outcome: 'retry' }));
    }
    expect(await usedBy(t)).toBe(0);
  });

  it('a batch in work ends when it is handed back, and not when its retries would be due', async () => {
    const { t, send } = await setUp();
    const held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void held.push(() => comeBackLater(request, response, count)));
    const message = await send(60);
    const workers = t.service.startWorkers();
    await t.push.waitForCount(60);
    await cancel(t, message);
    for (const answer of held) answer();
    await workers.idle();
    expect(await read(t, message)).toMatchObject({
      status: 'canceled',
      report: { ...none, accepted: 60, skipped: 60 },
    });
    expect(t.push.requests).toHaveLength(60);
  });

  it('a canceled message stays unchanged, however often it is canceled, and keeps its first end', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    const answers = await Promise.all(Array.from({ length: 8 }, () => cancel(t, message)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map(({ body }) => body.finished_at)).size).toBe(1);
    await t.service.startWorkers().idle();
    const [{ body: first } = { body: undefined }] = answers;
    const again = await t.server.post(`/v1/messages/${message}/cancel`, {});
    expect(again.body).toMatchObject({ status: 'canceled', finished_at: first.finished_at, report: { skipped: 60 } });
    expect(await usedBy(t)).toBe(0);
  });

  it('the request that sends it answers with all outcomes, the skipped ones included', async () => {
    const t = await setup();
    await t.registerMany(60);
    const held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void held.push(() => comeBackLater(request, response, count)));
    const sending = t.server.post('/v1/messages', { audience: { all: true }, content });
    await t.push.waitForCount(60);
    const { body } = await t.server.get('/v1/messages');
    await cancel(t, body.data[0].id);
    for (const answer of held) answer();
    expect((await sending).body).toMatchObject({ status: 'sent', report: { ...none, accepted: 60, skipped: 60 } });
  });
});

describe('races', () => {
  it('with its due time: it runs or it does not, and both answers agree', async () => {
    const { t, later } = await setUp();
    const messages: string[] = [];
    for (let count = 0; count < 12; count++) messages.push(await later(1));
    t.clock.advance(minuteMs);
    const workers = t.service.startWorkers();
    await Promise.all(messages.map((message) => cancel(t, message)));
    await workers.idle();
    let accepted = 0;
    for (const message of messages) {
      const { status, started_at, report } = await read(t, message);
      expect(['canceled', 'sent']).toContain(status);
      expect(report.pending).toBeUndefined();
      if (started_at === null) expect(report).toEqual(none);
      else accepted += report.sent;
    }
    expect(t.push.requests).toHaveLength(accepted);
    expect(await usedBy(t)).toBe(accepted);
  });

  it('with the flush of its last outcome: the first end stands', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    const id = decodeId('msg', message) ?? '';
    let letGo: () => void = () => undefined;
    // Like a flush: the batch first, and with the last outcome the end of the message.
    const flush = transaction(t.sql, async (tx) => {
      await tx`
        UPDATE batches SET state = 'done', finished_at = now(), skipped = size, device_ids = '{}' WHERE message_id = ${id}`;
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      await tx`UPDATE messages SET status = 'sent', finished_at = now(), webpush_skipped = 60 WHERE id = ${id}`;
    });
    const canceling = cancel(t, message);
    await untilLockWaits(t.sql, 1, { name: 'carillon transactions' });
    letGo();
    await flush;
    expect(await canceling).toMatchObject({ status: 400, body: { issues: [{ code: 'not_cancelable' }] } });
    expect((await read(t, message)).status).toBe('sent');
  });

  it('with its start: it is canceled as a message that is being sent', async () => {
    const { t, later } = await setUp();
    const message = await later(2);
    t.clock.advance(minuteMs);
    // Another transaction holds the app's usage row: the message has its batches, and its charge
    // waits.
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${t.app.id}, date_trunc('month', now()), 0)`;
    let letGo: () => void = () => undefined;
    const held = transaction(t.sql, async (tx) => {
      await tx`UPDATE usage SET used = used WHERE app_id = ${t.app.id}`;
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
    });
    t.push.scriptAll(comeBackLater);
    const workers = t.service.startWorkers();
    await untilLockWaits(t.sql, 1, { text: 'usage' });
    const canceling = cancel(t, message);
    letGo();
    await held;
    expect((await canceling).body).toMatchObject({ status: 'canceled', started_at: expect.any(String) });
    await workers.idle();
    expect(await read(t, message)).toMatchObject({
      status: 'canceled',
      report: { ...none, accepted: 2, skipped: 2 },
    });
    expect(await usedBy(t)).toBe(0);
  });

  it('with a batch that is handed back for later: it is due at once, in either order', async () => {
    const { t, send } = await setUp();
    const claim = () => claimNextBatch(t.sql, t.clock, '00000000-0000-0000-0000-000000000000', mintUuid());
    const later = new Date(t.clock.nowMs() + 60 * minuteMs);
    const [first, second] = [await send(60), await send(0)];
    const held = [await claim(), await claim()];
    const [canceledFirst, handedBackFirst] = [first, second].map((message) =>
      held.find((batch) => batch?.messageId === decodeId('msg', message)),
    );
    if (!canceledFirst || !handedBackFirst) throw new Error('nothing claimed');
    await cancel(t, first);
    expect(await handBackBatch(t.sql, t.clock, canceledFirst, later)).toBe(true);
    expect(await handBackBatch(t.sql, t.clock, handedBackFirst, later)).toBe(true);
    await cancel(t, second);
    await t.service.startWorkers().idle();
    for (const message of [first, second]) {
      expect((await read(t, message)).report).toEqual({ ...none, accepted: 60, skipped: 60 });
    }
    expect(t.push.requests).toHaveLength(0);
  });

  it('with a kill at any point: batches and message are canceled together or not at all', async () => {
    const { t, send } = await setUp();
    const message = await send(60);
    const id = decodeId('msg', message) ?? '';
    let letGo: () => void = () => undefined;
    const held = transaction(t.sql, async (tx) => {
      await tx`SELECT 1 FROM messages WHERE id = ${id} FOR UPDATE`;
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
    });
    const canceling = cancelMessage(t.service.run, t.app.id, id);
    canceling.catch(() => undefined);
    const [pid = 0] = await untilLockWaits(t.sql, 1, { name: 'carillon send' });
    await t.sql`SELECT pg_terminate_backend(${pid})`;
    await expect(canceling).rejects.toThrow();
    letGo();
    await held;
    expect(await t.sql`SELECT 1 FROM batches WHERE skip_reason IS NOT NULL`).toHaveLength(0);
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { sent: 60 } });
  });
});

describe('400', () => {
  it('for a message that was sent or has failed, not_cancelable at its id; it stays unchanged', async () => {
    const t = await setup();
    const sent = (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;
    t.push.scriptAll((_request, response) => {
      response.writeHead(400);
      response.end();
    });
    await t.registerDevice();
    const failed = (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;
    for (const [message, status] of [
      [sent, 'sent'],
      [failed, 'failed'],
    ]) {
      const before = await read(t, message);
      expect(before.status).toBe(status);
      expect(await cancel(t, message)).toMatchObject({
        status: 400,
        body: { error: 'validation_failed', issues: [{ path: ['id'], code: 'not_cancelable' }] },
      });
      expect(await read(t, message)).toEqual(before);
    }
  });

  it.each<[string, string, string]>([
    ['a field', '{"reason":"x"}', 'unrecognized_keys'],
    ['a list', '[]', 'invalid_type'],
    ['null', 'null', 'invalid_type'],
    ['no JSON', '{', 'invalid_json'],
  ])('a body that is %s', async (_what, raw, code) => {
    const { t, later } = await setUp();
    const message = await later(0);
    const headers = { 'content-type': 'application/json' };
    const answer = await t.request('POST', `/v1/messages/${message}/cancel`, { key: t.app.serverKey, raw, headers });
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ code }] } });
    expect((await read(t, message)).status).toBe('scheduled');
    expect((await t.server.post(`/v1/messages/${message}/cancel`, {})).body.status).toBe('canceled');
  });

  it('a query parameter', async () => {
    const { t, later } = await setUp();
    const message = await later(0);
    const answer = await t.server.post(`/v1/messages/${message}/cancel?force=1`);
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ['force'], code: 'unrecognized_keys' }] } });
  });
});

describe('401, 403 and 404', () => {
  it('no key, a client key, an id that is unknown, malformed or of another app', async () => {
    const { t, later } = await setUp();
    const message = await later(0);
    const path = `/v1/messages/${message}/cancel`;
    expect((await t.request('POST', path)).status).toBe(401);
    expect(await t.client.post(path)).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
    const foreign = t.clientOf((await t.newApp()).serverKey);
    const nowhere = unknownId('msg');
    const answers = [
      { id: message, answer: await foreign.post(path) },
      { id: nowhere, answer: await t.server.post(`/v1/messages/${nowhere}/cancel`) },
      { id: 'msg_1', answer: await t.server.post('/v1/messages/msg_1/cancel') },
    ];
    for (const { id, answer } of answers) {
      const body = { error: 'not_found', message: `No message ${id} in this app.` };
      expect(answer).toMatchObject({ status: 404, body });
    }
    expect((await read(t, message)).status).toBe('scheduled');
    expect((await t.server.get(path)).status).toBe(404);
  });
});
