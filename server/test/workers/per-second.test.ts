import { EventEmitter, once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { decodeId, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { leaseMs } from '../../src/sending/delivery/batch.ts';
import { askForMessage, claimNextPacedBatch, deletePastPaces } from '../../src/sending/delivery/pace-queries.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { runBatch } from '../../src/sending/delivery/run-batch.ts';
import { accept } from '../push-service.ts';
import { type Bundle, setup } from '../setup.ts';

const firstApp = '00000000-0000-0000-0000-000000000000';
const content = { title: 'Sale' };
const minuteMs = 60_000;

const setUp = () => setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });

/**
 * Queues a message that no process works yet: more devices than its accepting process takes,
 * without workers.
 */
async function queue(t: Bundle, devices: number, perSecond: number | null, fields: object = {}): Promise<string> {
  await t.registerMany(devices);
  const message = { audience: { all: true }, content, ...(perSecond !== null && { per_second: perSecond }), ...fields };
  const { status, body } = await t.server.post('/v1/messages', message);
  expect(status).toBe(200);
  return body.id;
}

const claim = (t: Bundle, except: readonly Uuid[] = []) => claimNextPacedBatch(t.sql, t.clock, mintUuid(), except);
const messageOf = async (t: Bundle, id: string) => (await t.server.get(`/v1/messages/${id}`)).body;

/** Until when the tokens of the one message with a rate are taken. */
async function takenUntilMs(t: Bundle): Promise<number> {
  const rows = await t.sql<{ ms: number }[]>`
    SELECT (extract(epoch FROM asked_at) * 1000 - tokens / per_second * 1000)::float8 AS ms FROM message_paces`;
  expect(rows).toHaveLength(1);
  return rows[0]?.ms ?? Number.NaN;
}

async function untilFinal(t: Bundle, id: string): Promise<ReturnType<typeof JSON.parse>> {
  for (;;) {
    const message = await messageOf(t, id);
    if (message.status !== 'sending') return message;
  }
}

/** Holds every push before its request. `all` resolves when so many are held. */
function holdPushes(count: number) {
  const gate = new EventEmitter();
  const [all, open] = [once(gate, 'held'), once(gate, 'open')];
  const letGo = () => gate.emit('open');
  let held = 0;
  const disarm = armFailpoints(async (name) => {
    if (name !== 'push.before_write') return;
    held += 1;
    if (held === count) gate.emit('held');
    await open;
  });
  onTestFinished(() => {
    disarm();
    letGo();
  });
  return { all, letGo };
}

describe('the tokens of a message', () => {
  const rateOf = (t: Bundle, perSecond: number) => ({ appId: t.app.id, messageId: mintUuid(), perSecond });

  it('come at its rate, whichever process asks for them', async () => {
    const t = await setUp();
    t.clock.hold(t.clock.date());
    const rate = rateOf(t, 1000);
    const ask = () => askForMessage(t.sql, t.clock, rate, null);
    const grants = await Promise.all(Array.from({ length: 40 }, ask));
    const given = grants.filter(({ count }) => count > 0).sort((one, other) => one.inMs - other.inMs);
    // Each follows the one before, and none is given more than 200 ms ahead.
    expect(given.map(({ count, inMs }) => [count, Math.round(inMs)])).toEqual([
      [100, 0],
      [100, 100],
      [100, 200],
    ]);
    for (const { inMs } of grants.filter(({ count }) => count === 0)) expect(inMs).toBeCloseTo(100, 3);
    t.clock.advance(100);
    expect(await ask()).toMatchObject({ count: 100, inMs: expect.closeTo(200, 3), apartMs: 1 });
  });

  it('are not saved up: after a pause they begin again, and none is taken far ahead', async () => {
    const t = await setUp();
    t.clock.hold(t.clock.date());
    const rate = rateOf(t, 10);
    const ask = () => askForMessage(t.sql, t.clock, rate, null);
    const askAll = async () =>
      [await ask(), await ask(), await ask(), await ask()].map(({ count, inMs }) => [count, Math.round(inMs)]);
    const untilFull = [
      [1, 0],
      [1, 100],
      [1, 200],
      [0, 100],
    ];
    expect(await askAll()).toEqual(untilFull);
    t.clock.advance(minuteMs);
    expect(await askAll()).toEqual(untilFull);
  });

  it('are forgotten an hour after the last question', async () => {
    const t = await setUp();
    await askForMessage(t.sql, t.clock, rateOf(t, 10), null);
    t.clock.advance(59 * minuteMs);
    await deletePastPaces(t.sql, t.clock);
    expect(await t.sql`SELECT 1 FROM message_paces`).toHaveLength(1);
    t.clock.advance(2 * minuteMs);
    await deletePastPaces(t.sql, t.clock);
    expect(await t.sql`SELECT 1 FROM message_paces`).toHaveLength(0);
  });
});

describe('a message with per_second', () => {
  it('makes no request without a token, retries included, and reaches everybody', async () => {
    const t = await setUp();
    const refusedOnce = new Set<string>();
    t.push.scriptAll((request, response, count) => {
      if (count > 1 || refusedOnce.size >= 30) return accept(request, response, count);
      refusedOnce.add(request.token);
      response.writeHead(503);
      response.end();
    });
    const id = await queue(t, 120, 400);
    const workers = t.service.startWorkers();
    while (refusedOnce.size < 30 || (await t.sql`SELECT 1 FROM batches WHERE state = 'claimed'`).length > 0)
      await workers.idle();
    t.clock.advance(minuteMs);
    const message = await untilFinal(t, id);
    expect(message.report).toEqual({ accepted: 120, sent: 120, failed: 0, skipped: 0 });
    expect(t.push.requests).toHaveLength(150);
    // 150 tokens of 2.5 ms each, and the minute.
    expect((await takenUntilMs(t)) - Date.parse(message.started_at)).toBeGreaterThanOrEqual(150 * 2.5 + minuteMs);
  });

  it('holds no lease while it waits: at 1 a second a batch is handed back after each push', async () => {
    const t = await setUp();
    await queue(t, 60, 1);
    const batch = await claim(t);
    if (!batch) throw new Error('nothing claimed');
    const end = await runBatch(t.service.run, batch, t.clock.steadyMs(), () => false);
    expect(end).toMatchObject({ kind: 'waiting' });
    const [row] =
      await t.sql`SELECT state, sent, claims, available_at > ${t.clock.now} AS is_later FROM batches WHERE id = ${batch.id}`;
    expect(row).toEqual({ state: 'waiting', sent: 1, claims: 0, isLater: true });
    // No process claims the message's other batches meanwhile, because they would only wait.
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(1000);
    expect(await claim(t)).toMatchObject({ id: batch.id });
  });

  it('is made of batches that take seconds, not minutes', async () => {
    const t = await setUp();
    await queue(t, 60, 2);
    const sizes = await t.sql<{ size: number }[]>`SELECT size FROM batches ORDER BY id`;
    expect(sizes.map(({ size }) => size)).toEqual([20, 20, 20]);
  });

  it('is sent by the accepting process when it is small, as far as its rate allows', async () => {
    const t = await setUp();
    const devices = [await t.registerDevice(), await t.registerDevice(), await t.registerDevice()];
    const message = { audience: { device_ids: devices }, content, per_second: 1 };
    const { body } = await t.server.post('/v1/messages', message);
    expect(body.report).toMatchObject({ accepted: 3, failed: 0 });
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await untilFinal(t, body.id)).report).toEqual({ accepted: 3, sent: 3, failed: 0, skipped: 0 });
    expect((await takenUntilMs(t)) - Date.parse((await messageOf(t, body.id)).started_at)).toBeGreaterThanOrEqual(3000);
  });

  it('R-91 takes another token for each push that was held up until its token was too old', async () => {
    const t = await setUp();
    const pushes = 60;
    const id = await queue(t, pushes, 100);
    const pushesHeld = holdPushes(pushes);
    t.startWorkers();
    await pushesHeld.all;
    const before = await takenUntilMs(t);
    pushesHeld.letGo();
    expect((await untilFinal(t, id)).report).toMatchObject({ sent: pushes });
    expect(t.push.requests).toHaveLength(pushes);
    // At most the pushes of the last 20 ms were in time, and 20 tokens had been taken ahead. Tokens
    // are 10 ms apart.
    expect(await takenUntilMs(t)).toBeGreaterThanOrEqual(before + (pushes - 3 - 20) * 10);
  });

  it('reaches everybody once, also where every push is held up until its token is too old', async () => {
    const t = await setUp();
    const id = await queue(t, 60, 100);
    let begun = 0;
    onTestFinished(
      armFailpoints((name) => {
        if (name !== 'push.before_write') return;
        begun += 1;
        t.clock.advance(30);
      }),
    );
    t.startWorkers();
    expect((await untilFinal(t, id)).report).toEqual({ accepted: 60, sent: 60, failed: 0, skipped: 0 });
    expect(new Set(t.push.requests.map(({ token }) => token)).size).toBe(60);
    expect(t.push.requests).toHaveLength(60);
    expect(begun).toBeGreaterThan(60);
  });

  it('R-05 is handed back by a stop while its pushes are held up', async () => {
    const t = await setUp();
    const id = await queue(t, 60, 400);
    const pushesHeld = holdPushes(20);
    const workers = t.startWorkers();
    await pushesHeld.all;
    const stopped = workers.stop();
    pushesHeld.letGo();
    await stopped;
    expect(t.push.requests).toHaveLength(0);
    expect(await t.sql`SELECT state, claims, sent FROM batches`).toMatchObject([
      { state: 'waiting', claims: 0, sent: 0 },
    ]);
    t.startWorkers();
    expect((await untilFinal(t, id)).report).toMatchObject({ sent: 60 });
    expect(t.push.requests).toHaveLength(60);
  });

  it('R-91 fails open deliveries as expired when its window ends', async () => {
    const t = await setUp();
    const id = await queue(t, 60, 1, { content: { title: 'Sale', ttl: 60 } });
    const workers = t.service.startWorkers();
    await t.push.waitForCount(1);
    t.clock.advance(minuteMs);
    const message = await untilFinal(t, id);
    expect(message.report.sent + message.report.failed).toBe(60);
    expect(message.report.sent).toBeLessThan(10);
    expect(message.error_counts).toEqual({ expired: message.report.failed });
    await workers.stop();
  });

  it('R-05 is handed back by a stop like any other', async () => {
    const t = await setUp();
    const id = await queue(t, 300, 100);
    const workers = t.startWorkers();
    await t.push.waitForCount(20);
    await workers.stop();
    const sent = t.push.requests.length;
    expect(sent).toBeLessThan(300);
    expect(await t.sql`SELECT state, claims, sent FROM batches`).toMatchObject([{ state: 'waiting', claims: 0, sent }]);
    t.startWorkers();
    expect((await untilFinal(t, id)).report).toEqual({ accepted: 300, sent: 300, failed: 0, skipped: 0 });
    expect(new Set(t.push.requests.map(({ token }) => token)).size).toBe(300);
  });
});

describe('claims of paced batches', () => {
  it('alternate between messages, and skip one whose tokens are taken far ahead', async () => {
    const t = await setUp();
    const [slow, other] = [await queue(t, 60, 1), await queue(t, 60, 1)].map((id) => decodeId('msg', id) ?? '');
    const first = await claim(t);
    const second = await claim(t, [first?.messageId ?? '']);
    expect(new Set([first?.messageId, second?.messageId])).toEqual(new Set([slow, other]));
    t.clock.advance(leaseMs + 1);
    const rate = { appId: t.app.id, messageId: slow ?? '', perSecond: 1 };
    for (let ask = 0; ask < 3; ask++) await askForMessage(t.sql, t.clock, rate, null);
    for (let batch = 0; batch < 3; batch++) expect((await claim(t))?.messageId).toBe(other);
    expect(await claim(t, [other ?? ''])).toBeUndefined();
    t.clock.advance(5000);
    expect((await claim(t, [other ?? '']))?.messageId).toBe(slow);
  });

  it('give each of forty messages a turn before any gets a second one', async () => {
    const t = await setUp();
    // Two batches each. While the clock stands still no further token comes due, so a message
    // that has a turn keeps it.
    t.clock.hold(t.clock.date());
    for (let i = 0; i < 40; i++) await queue(t, i === 0 ? 150 : 0, 10);
    const workers = t.startWorkers();
    const claimed = () => t.sql<{ messageId: Uuid }[]>`SELECT message_id FROM batches WHERE state = 'claimed'`;
    while ((await claimed()).length < 64) await new Promise((resolve) => setImmediate(resolve));
    const turns = (await claimed()).map(({ messageId }) => messageId);
    expect([turns.length, new Set(turns).size]).toEqual([64, 40]);
    t.clock.advance(minuteMs);
    await workers.stop();
    expect(await claimed()).toEqual([]);
  });

  it('of large messages end at sixteen thousand devices', async () => {
    const t = await setUp();
    t.clock.hold(t.clock.date());
    for (let i = 0; i < 18; i++) await queue(t, i === 0 ? 1000 : 0, 100);
    const workers = t.startWorkers();
    const claimed = () => t.sql`SELECT 1 FROM batches WHERE state = 'claimed'`;
    while ((await claimed()).length < 16) await new Promise((resolve) => setImmediate(resolve));
    const askedAt = performance.now();
    while (workers.lastLookedAt < askedAt) {
      workers.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await claimed()).toHaveLength(16);
    t.clock.advance(minuteMs);
    await workers.stop();
    expect(await claimed()).toEqual([]);
  });

  it("and claims of unpaced ones never take each other's", async () => {
    const t = await setUp();
    const paced = decodeId('msg', await queue(t, 60, 100));
    expect(await claimNextBatch(t.sql, t.clock, firstApp, mintUuid())).toBeUndefined();
    const unpaced = decodeId('msg', await queue(t, 0, null));
    expect(await claimNextBatch(t.sql, t.clock, firstApp, mintUuid())).toMatchObject({
      messageId: unpaced,
      perSecond: null,
    });
    expect(await claim(t)).toMatchObject({ messageId: paced, perSecond: 100 });
  });

  it('take over a batch whose lease ran out (R-03)', async () => {
    const t = await setUp();
    await queue(t, 60, 100);
    const held = await claim(t);
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(leaseMs + 1);
    expect(await claim(t)).toMatchObject({ id: held?.id, claims: 2 });
  });
});
