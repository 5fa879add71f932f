import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { armFailpoints, type Failpoint } from '../../src/ground/host/failpoint.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { type Replayed, replayEvents } from '../../src/sending/delivery/replay-events.ts';
import { findMessageToSend } from '../../src/sending/messages/queries.ts';
import { disableWebhook, enableWebhook, removeWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import type { EventKind } from '../../src/sending/webhooks/webhook.ts';
import { bringForgottenForward } from '../../src/sending/webhooks/work-queries.ts';
import { programArguments } from '../cli/run-carillon.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import type { Received } from '../webhook-receiver.ts';
import { openShop, type Shop, setupWebhooks } from './webhook-shop.ts';

const run = promisify(execFile);
const t = await setupWebhooks();
const deps = {
  sql: t.sql,
  clock: t.clock,
  by: t.by,
  seal: createSeal(t.masterKey),
  ledger: { find: findMessageToSend },
};

const anyTime = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2099-01-01T00:00:00Z') };

async function replay(shop: Shop, range = anyTime, kinds: readonly EventKind[] = []): Promise<number> {
  const replayed = await replayEvents(deps, await shop.hook(), { ...range, kinds });
  expect(replayed).toMatchObject({ queuedBefore: 0, stop: undefined });
  t.workers.wakeWebhooks();
  return replayed.queued;
}

const textOf = ({ raw }: Received): string => raw.toString();

describe('R-26 a replay', () => {
  it('tells every kind again, byte for byte, under a new service-id and with service-replay', async () => {
    const shop = await openShop(t);
    t.push.script('gone', (_request, response) => {
      response.writeHead(410, { 'content-type': 'application/json' });
      response.end('{"reason":"Unregistered"}');
    });
    const gone = await t.registerDevice({ token: t.pushSubscription('gone') }, shop.app);
    const fine = await t.registerDevice({}, shop.app);
    for (const [external_id, device_id] of [
      ['u-gone', gone],
      ['u-7', fine],
    ]) {
      await shop.server.post('/v1/users', { external_id, device_id });
    }
    const { body } = await shop.server.post('/v1/messages', {
      audience: { device_ids: [gone, fine] },
      content: { title: 'Größe', url: 'https://shop.example/{{ external_id }}' },
      metadata: { campaign: 'a' },
    });
    await t.request('POST', '/v1/receipts', {
      body: { token: await receiptTokenOf(t, body.id, fine), event: 'clicked' },
    });
    const literal = await shop.send(1);
    const device = (await shop.server.get(`/v1/messages/${literal}/deliveries`)).body.data[0].device_id;
    const token = await receiptTokenOf(t, literal, device);
    await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
    await shop.receiver.count(5);
    await t.workers.idle();
    const told = [...shop.receiver.received];
    expect(told.map(({ event }) => event).sort()).toEqual([
      ...['message.clicked', 'message.clicked', 'message.failed', 'message.sent', 'message.sent'],
    ]);
    expect(told.find(({ event }) => event === 'message.failed')?.body.data).toMatchObject({
      external_id: 'u-gone',
      provider_status: 410,
      provider_reason: 'Unregistered',
      attempts: 1,
    });

    expect(await replay(shop)).toBe(5);
    await shop.receiver.count(10);
    await t.workers.idle();
    const again = shop.receiver.received.slice(5);
    expect(again.map(textOf).sort()).toEqual(told.map(textOf).sort());
    expect(again.map(({ headers }) => [headers['service-replay'], headers['service-attempt']])).toEqual(
      again.map(() => ['1', '1']),
    );
    expect(told.map(({ headers }) => headers['service-replay'])).toEqual(told.map(() => undefined));
    const ids = shop.receiver.received.map(({ headers }) => headers['service-id']);
    expect(new Set(ids).size).toBe(10);
    for (const request of again) expect(shop.receiver.verifies(request, [shop.secret], t.clock.nowMs())).toBe(true);
    expect(await shop.waiting()).toBe(0);
  });

  it('can be requested by the command line, which prints the number, and a running service tells the events', async () => {
    const shop = await openShop(t);
    await shop.send(3);
    await shop.receiver.count(3);
    await t.workers.idle();
    const times = ['--from', '2026-01-01T00:00:00Z', '--to', '2099-01-01T00:00:00Z'];
    const parameters = programArguments('webhook', 'replay', encodeId('whk', shop.id), ...times, '--json');
    const env = { PATH: process.env['PATH'] ?? '', ...t.environment };
    const { stdout } = await run(process.execPath, parameters, { env });
    expect(JSON.parse(stdout)).toMatchObject({ queued: 3, complete: true });
    await shop.receiver.count(6);
    await t.workers.idle();
    expect(shop.receiver.received.slice(3).map(({ headers }) => headers['service-replay'])).toEqual(['1', '1', '1']);
  });

  it('includes the first instant of its period and excludes the last', async () => {
    const shop = await openShop(t);
    const messages: string[] = [];
    for (let i = 0; i < 3; i++) {
      messages.push(await shop.send(1));
      await shop.receiver.count(i + 1);
      // Requests in flight while the clock leaps count as lost and are told twice.
      await t.workers.idle();
      t.clock.advance(60_000);
    }
    const at = messages.map((id) => {
      const told = shop.receiver.received.find(({ body }) => body.data.message_id === id);
      return new Date(told?.body.created_at);
    });
    const [first, second, third] = at;
    if (!first || !second || !third) throw new Error('not all was told');
    expect(await replay(shop, { from: first, to: third })).toBe(2);
    expect(await replay(shop, { from: second, to: second })).toBe(0);
    expect(await replay(shop, { from: new Date(first.getTime() + 1), to: third })).toBe(1);
    expect(await replay(shop, { from: first, to: new Date(third.getTime() + 1) })).toBe(3);
    await shop.receiver.count(3 + 6);
    await t.workers.idle();
  });

  it('tells a click by the time of the click, however long after the message', async () => {
    const shop = await openShop(t, ['message.clicked']);
    const message = await shop.send(1);
    const device = (await shop.server.get(`/v1/messages/${message}/deliveries`)).body.data[0].device_id;
    await t.workers.idle();
    t.clock.advance(20 * 86_400_000);
    const before = t.clock.date();
    const token = await receiptTokenOf(t, message, device);
    await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
    await shop.receiver.count(1);
    expect(await replay(shop, { from: before, to: new Date(before.getTime() + 60_000) })).toBe(1);
    await shop.receiver.count(2);
    await t.workers.idle();
    expect(shop.receiver.received.map(textOf)[1]).toBe(shop.receiver.received.map(textOf)[0]);
  });

  it('has the requested and subscribed kinds, also for a webhook made later, and of no other app', async () => {
    const shop = await openShop(t);
    await shop.send(2);
    await openShop(t);
    await shop.receiver.count(2);
    const later = await openShop(t, ['message.sent'], shop.app);
    const clicks = await openShop(t, ['message.clicked'], shop.app);
    const stranger = await openShop(t);
    expect(await replay(later)).toBe(2);
    expect(await replay(later, anyTime, ['message.failed', 'message.sent'])).toBe(2);
    expect(await replay(shop, anyTime, ['message.failed'])).toBe(0);
    expect(await replay(clicks)).toBe(0);
    expect(await replay(stranger)).toBe(0);
    await later.receiver.count(4);
    await t.workers.idle();
    expect([shop.receiver.received.length, clicks.receiver.received.length]).toEqual([2, 0]);
  });

  it('writes nothing for a webhook that was disabled or deleted meanwhile, and says so', async () => {
    const shop = await openShop(t);
    await shop.send(2);
    await shop.receiver.count(2);
    await t.workers.idle();
    const known = await shop.hook();
    const nothing = { queued: 0, queuedBefore: 0, stop: 'refused' };
    await disableWebhook(deps, known);
    expect(await replayEvents(deps, known, { ...anyTime, kinds: [] })).toEqual(nothing);
    await removeWebhook(deps, known);
    expect(await replayEvents(deps, known, { ...anyTime, kinds: [] })).toEqual(nothing);
    expect(await shop.waiting()).toBe(0);
  });

  it('of many events stops when the webhook is deleted midway', async () => {
    const shop = await openShop(t);
    await t.registerMany(1200, shop.app);
    await shop.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    await shop.receiver.count(1200);
    await t.workers.idle();
    const known = await shop.hook();
    const waits: Promise<void>[] = [];
    const replayed = await replayEvents(deps, known, {
      ...anyTime,
      kinds: [],
      onProgress: () => void waits.push(removeWebhook(deps, known)),
    });
    await Promise.all(waits);
    expect(replayed.queued).toBeLessThanOrEqual(1200);
    await expect(shop.hook()).rejects.toThrow(/gone/);
  });
});

describe('R-26 a replay that is interrupted', () => {
  /** A shop with three batches of two, all told. */
  async function told(): Promise<Shop> {
    const shop = await openShop(t);
    for (let i = 0; i < 3; i++) await shop.send(2);
    await shop.receiver.count(6);
    await t.workers.idle();
    return shop;
  }
  const all = { ...anyTime, kinds: [] };

  /** Interrupts a replay when it reaches a place for the `hit`-th time. */
  function failAt(place: Failpoint, hit: number): () => void {
    let passed = 0;
    return armFailpoints((name) => {
      if (name === place && ++passed === hit) throw new Error('the end');
    });
  }

  /** A replay that stands still with one batch in the outbox until it may go on. */
  async function standing(shop: Shop): Promise<{ goOn(): Promise<Replayed> }> {
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const known = await shop.hook();
    const replayed = await new Promise<{ readonly end: Promise<Replayed> }>((resolve) => {
      let passed = 0;
      onTestFinished(
        armFailpoints((name) => {
          if (name !== 'replay.after_commit' || ++passed > 1) return undefined;
          setImmediate(() => resolve({ end }));
          return gate;
        }),
      );
      const end = replayEvents(deps, known, all);
    });
    return {
      goOn() {
        letGo();
        return replayed.end;
      },
    };
  }

  it.each<[Failpoint, number]>([
    ['replay.before_commit', 2],
    ['replay.after_commit', 4],
  ])(
    'at %s continues after the last queued batch, and one that begins after its end tells everything',
    async (place, before) => {
      const shop = await told();
      const disarm = failAt(place, 2);
      onTestFinished(disarm);
      await expect(replayEvents(deps, await shop.hook(), all)).rejects.toThrow('the end');
      disarm();
      const rest = await replayEvents(deps, await shop.hook(), all);
      expect(rest).toEqual({ queued: 6 - before, queuedBefore: before, stop: undefined });
      await shop.receiver.count(12);
      await t.workers.idle();
      const devices = shop.receiver.received.slice(6).map(({ body }) => body.data.device_id);
      expect([devices.length, new Set(devices).size]).toEqual([6, 6]);
      expect(await replay(shop)).toBe(6);
      await shop.receiver.count(18);
      await t.workers.idle();
    },
  );

  it('is a separate one when its kinds or its period differ', async () => {
    const shop = await told();
    const disarm = failAt('replay.after_commit', 1);
    onTestFinished(disarm);
    await expect(replayEvents(deps, await shop.hook(), all)).rejects.toThrow('the end');
    disarm();
    expect(await replay(shop, anyTime, ['message.sent'])).toBe(6);
    expect(await replay(shop, { ...anyTime, to: new Date('2098-01-01T00:00:00Z') })).toBe(6);
    const rest = await replayEvents(deps, await shop.hook(), all);
    expect(rest).toEqual({ queued: 4, queuedBefore: 2, stop: undefined });
    await shop.receiver.count(6 + 18);
    await t.workers.idle();
  });

  it('and taken over by another process while it stands still is finished by that one alone', async () => {
    const shop = await told();
    const { goOn } = await standing(shop);
    const second = await replayEvents(deps, await shop.hook(), all);
    expect(second).toEqual({ queued: 4, queuedBefore: 2, stop: undefined });
    expect(await goOn()).toEqual({ queued: 2, queuedBefore: 0, stop: 'elsewhere' });
    await shop.receiver.count(12);
    await t.workers.idle();
    expect(shop.receiver.received).toHaveLength(12);
  });

  it('because its webhook was disabled continues when that is enabled, and ends when it is deleted', async () => {
    const shop = await told();
    const first = await standing(shop);
    await disableWebhook(deps, await shop.hook());
    expect(await first.goOn()).toEqual({ queued: 2, queuedBefore: 0, stop: 'refused' });
    await enableWebhook(deps, await shop.hook());
    const rest = await replayEvents(deps, await shop.hook(), all);
    expect(rest).toEqual({ queued: 4, queuedBefore: 2, stop: undefined });
    await shop.receiver.count(12);
    await t.workers.idle();
    const second = await standing(shop);
    await removeWebhook(deps, await shop.hook());
    expect(await second.goOn()).toEqual({ queued: 2, queuedBefore: 0, stop: 'refused' });
    expect(await t.sql`SELECT 1 FROM webhook_replays WHERE webhook_id = ${shop.id}`).toEqual([]);
  });

  it('more than 72 hours ago starts from the beginning', async () => {
    const shop = await told();
    const disarm = failAt('replay.after_commit', 1);
    onTestFinished(disarm);
    await expect(replayEvents(deps, await shop.hook(), all)).rejects.toThrow('the end');
    disarm();
    t.workers.wakeWebhooks();
    await t.workers.idle();
    t.clock.advance(73 * 3_600_000);
    expect(await replay(shop)).toBe(6);
    await shop.receiver.count(6 + 2 + 6);
    await t.workers.idle();
  });
});

describe('R-27 replayed events', () => {
  it('have half of the window, so that new events are told at once', async () => {
    const shop = await openShop(t);
    await t.registerMany(60, shop.app);
    await shop.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    await shop.receiver.count(60);
    await t.workers.idle();
    await t.sql`UPDATE webhooks SET in_flight_max = 10 WHERE id = ${shop.id}`;
    // Replayed events get no answer and hold their places, and new events pass them.
    const held = new Set<ServerResponse>();
    let heldMost = 0;
    const passed = new Promise<void>((resolve) => {
      let fresh = 0;
      shop.receiver.answer = (request, response) => {
        if (request.headers['service-replay'] === undefined) {
          response.writeHead(200).end();
          if (++fresh === 3) resolve();
          return;
        }
        held.add(response);
        response.once('close', () => held.delete(response));
        heldMost = Math.max(heldMost, held.size);
      };
    });
    expect(await replay(shop)).toBe(60);
    await shop.receiver.count(60 + 5);
    await shop.send(3);
    await passed;
    // The window has grown by those three.
    expect(heldMost).toBeLessThanOrEqual(6);
    shop.receiver.answer = (_request, response) => response.writeHead(200).end();
    for (const response of held) response.writeHead(200).end();
    await t.workers.idle();
  });

  it('follow new events when both are due', async () => {
    const shop = await openShop(t);
    await t.registerMany(40, shop.app);
    await shop.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    await shop.receiver.count(40);
    await t.workers.idle();
    await disableWebhook(deps, await shop.hook());
    await shop.send(20);
    // Both kinds wait, the replays for longer; new events take the first turns.
    await t.sql`
      INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at, is_replay)
      SELECT app_id, webhook_id, md5(id::text)::uuid, kind, message_id, device_id, channel, at, due_at - interval '1 hour', true
      FROM webhook_events WHERE webhook_id = ${shop.id}`;
    await t.sql`
      UPDATE webhooks SET state = 'enabled', disabled_at = NULL, in_flight_max = 1, failures = 0 WHERE id = ${shop.id}`;
    await bringForgottenForward(t.sql);
    t.workers.wakeWebhooks();
    await shop.receiver.count(80);
    await t.workers.idle();
    const replays = shop.receiver.received.slice(40).map(({ headers }) => headers['service-replay'] !== undefined);
    // Ten answers open the window to more than the new events.
    expect(replays.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => false));
    expect(replays.filter(Boolean)).toHaveLength(20);
  });
});
