import { transaction } from '@carillon/postgres';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import {
  createWebhook,
  disableWebhook,
  enableWebhook,
  finishDueRotations,
  finishRotation,
  removeWebhook,
  rotateSecret,
  testWebhook,
} from '../../src/sending/webhooks/manage-webhooks.ts';
import { findWebhook, listAttempts, listWebhooks, lockWebhook } from '../../src/sending/webhooks/queries.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type Client, setup, type TestApp } from '../setup.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../webhook-receiver.ts';

const t = await setup({ environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', WEBHOOK_FAILURE_PAUSE_MAX_MS: '0' } });
// Between the test's own steps no time passes, so no unexpected retry comes.
t.clock.hold(t.clock.date());
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const rules = {
  exceptions: parseOutboundExceptions({
    allowCidrs: ['127.0.0.0/8'],
    allowPorts: '1024-65535',
    resolve: '',
    ca: undefined,
  }),
  ownHosts: [],
};

interface Shop {
  readonly app: TestApp;
  readonly server: Client;
  readonly receiver: WebhookReceiver;
  readonly id: string;
  readonly secret: string;
  hook(): Promise<NonNullable<Awaited<ReturnType<typeof findWebhook>>>>;
  /** Sends one message to this many new browsers. */
  send(devices: number, more?: Record<string, unknown>): Promise<string>;
}

async function newShop(events: readonly string[] = []): Promise<Shop> {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const receiver = await startWebhookReceiver();
  const { id, secret } = await createWebhook(deps, rules, { appId: app.id, endpoint: receiver.endpoint, events });
  return {
    app,
    server,
    receiver,
    id,
    secret,
    async hook() {
      const found = await findWebhook(t.sql, id);
      if (!found) throw new Error('the webhook is gone');
      return found;
    },
    async send(devices, more = {}) {
      const ids: string[] = [];
      for (let i = 0; i < devices; i++) ids.push(await t.registerDevice({}, app));
      const request = {
        audience: { device_ids: ids },
        content: { title: 'Sale', url: 'https://shop.example/' },
        ...more,
      };
      return (await server.post('/v1/messages', request)).body.id;
    },
  };
}

const outboxOf = async ({ id }: Shop): Promise<number> =>
  (await t.sql`SELECT count(*) AS count FROM webhook_events WHERE webhook_id = ${id}`)[0]?.['count'];

describe('the events of a webhook', () => {
  let shop: Shop;
  beforeEach(async () => {
    shop = await newShop();
  });

  it('R-26 are every outcome once, with the fields of its kind, byte for byte as documented', async () => {
    t.push.script('gone', (_request, response) => {
      response.writeHead(410, { 'content-type': 'text/plain' });
      response.end('Gone');
    });
    const { server, receiver, app } = shop;
    const gone = await t.registerDevice({ token: t.pushSubscription('gone') }, app);
    const fine = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'u-42', device_id: gone });
    const request = {
      audience: { device_ids: [gone, fine] },
      content: { title: 'Sale' },
      metadata: { campaign: 'a', n: 1 },
    };
    const { body } = await server.post('/v1/messages', request);
    await receiver.count(2);
    await t.workers.idle();
    const [failed, sent] = ['message.failed', 'message.sent'].map((kind) =>
      receiver.received.find(({ event }) => event === kind),
    );
    const at = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
    expect(sent?.raw.toString()).toBe(
      JSON.stringify({
        event: 'message.sent',
        created_at: sent?.body.created_at,
        data: {
          message_id: body.id,
          device_id: fine,
          channel: 'webpush',
          error_code: null,
          metadata: { campaign: 'a', n: 1 },
        },
      }),
    );
    expect(sent?.body.created_at).toMatch(at);
    expect(failed?.raw.toString()).toBe(
      JSON.stringify({
        event: 'message.failed',
        created_at: failed?.body.created_at,
        data: {
          message_id: body.id,
          device_id: gone,
          channel: 'webpush',
          error_code: 'unregistered',
          external_id: 'u-42',
          provider_status: 410,
          provider_reason: failed?.body.data.provider_reason,
          attempts: 1,
          metadata: { campaign: 'a', n: 1 },
        },
      }),
    );
    expect(receiver.received).toHaveLength(2);
    expect(await outboxOf(shop)).toBe(0);
  });

  it('R-20 have a signature that an independent verifier accepts, and that fails for a body serialized again', async () => {
    const { receiver, secret } = shop;
    await shop.send(1, { metadata: { name: 'Größe 日本 🔔' } });
    await receiver.count(1);
    const [request] = receiver.received;
    if (!request) throw new Error('nothing came');
    expect(receiver.verifies(request, [secret], t.clock.nowMs())).toBe(true);
    const changed = { ...request, raw: Buffer.from(JSON.stringify(request.body, null, 1)) };
    expect(receiver.verifies(changed, [secret], t.clock.nowMs())).toBe(false);
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'service-attempt': '1',
      'user-agent': 'Carillon/1',
      'accept-encoding': 'identity',
      'content-length': String(request.raw.length),
      'service-id': expect.stringMatching(/^whe_[0-9A-Za-z]{22}$/),
    });
  });

  it('include a click once, with its target and its user, even when it is reported again', async () => {
    const { receiver, server, app } = shop;
    const device = await t.registerDevice({}, app);
    await server.post('/v1/users', { external_id: 'u-7', device_id: device });
    const content = { title: 'Sale', url: 'https://shop.example/{{ external_id }}' };
    const { body } = await server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    const token = await receiptTokenOf(t, body.id, device);
    for (let i = 0; i < 3; i++) await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
    await receiver.count(2);
    await t.workers.idle();
    const clicks = receiver.received.filter(({ event }) => event === 'message.clicked');
    expect(clicks.map(({ body: { data } }) => data)).toEqual([
      {
        message_id: body.id,
        device_id: device,
        channel: 'webpush',
        error_code: null,
        external_id: 'u-7',
        url: 'https://shop.example/u-7',
        action: null,
      },
    ]);
  });
});

describe('R-29 subscription', () => {
  it('an event without a subscriber causes no attempt and no row', async () => {
    const shop = await newShop(['message.failed']);
    await shop.send(2);
    await t.workers.idle();
    expect(await outboxOf(shop)).toBe(0);
    expect(shop.receiver.received).toEqual([]);
    expect(await listAttempts(t.sql, shop.app.id, shop.id)).toEqual([]);
  });

  it("a later webhook is not told of earlier events, and another app's webhook is told nothing", async () => {
    const shop = await newShop();
    const other = await newShop();
    await shop.send(1);
    await shop.receiver.count(1);
    await t.workers.idle();
    expect(other.receiver.received).toEqual([]);
  });
});

describe('R-24 an endpoint that fails', () => {
  it('from the start gets exactly 15 requests, is disabled, and its events are held', async () => {
    const shop = await newShop();
    shop.receiver.answer = (_request, response) => response.writeHead(500).end();
    await shop.send(40);
    await shop.receiver.count(15);
    await t.workers.idle();
    expect(shop.receiver.received).toHaveLength(15);
    expect(await shop.hook()).toMatchObject({ state: 'disabled', failures: 15 });
    expect(await outboxOf(shop)).toBe(40);
    await shop.send(1);
    await t.workers.idle();
    expect(shop.receiver.received).toHaveLength(15);
    expect(await outboxOf(shop)).toBe(41);
  });

  it('is probed once when it is enabled again, and after a 2xx gets the rest, each with its attempt number', async () => {
    const shop = await newShop();
    shop.receiver.answer = (_request, response) => response.writeHead(503).end();
    await shop.send(20);
    await shop.receiver.count(15);
    await t.workers.idle();
    const held: (() => void)[] = [];
    shop.receiver.answer = (_request, response) => held.push(() => response.writeHead(204).end());
    await enableWebhook(deps, await shop.hook());
    t.workers.wakeWebhooks();
    await shop.receiver.count(16);
    expect(held).toHaveLength(1);
    expect(await shop.hook()).toMatchObject({ state: 'enabled', failures: 0, isProbing: true });
    shop.receiver.answer = (_request, response) => response.writeHead(204).end();
    held[0]?.();
    await shop.receiver.count(15 + 20);
    await t.workers.idle();
    expect(await outboxOf(shop)).toBe(0);
    expect(shop.receiver.received).toHaveLength(35);
    const attempts = shop.receiver.received.slice(15).map(({ headers }) => headers['service-attempt']);
    expect(attempts.filter((attempt) => attempt === '2')).toHaveLength(15);
    expect(attempts.filter((attempt) => attempt === '1')).toHaveLength(5);
  });

  it('14 times, then succeeds, then fails 14 times again, stays enabled', async () => {
    const shop = await newShop();
    let seen = 0;
    shop.receiver.answer = (_request, response) => response.writeHead(seen++ === 14 ? 200 : 500).end();
    // One event at a time, so that requests complete in the order of their answers.
    for (let i = 1; i <= 29; i++) {
      await shop.send(1);
      await shop.receiver.count(i);
      await t.workers.idle();
    }
    expect(await shop.hook()).toMatchObject({ state: 'enabled', failures: 14 });
  });

  it('is retried by the schedule with the same bytes and a fresh signature, and given up after the last', async () => {
    const shop = await newShop();
    shop.receiver.answer = (_request, response) => response.writeHead(429, { 'retry-after': '6' }).end();
    await shop.send(1);
    const waits = [
      6000, 60_000, 240_000, 1_200_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 57_600_000, 86_400_000,
    ];
    for (const [made, waitMs] of waits.entries()) {
      await shop.receiver.count(made + 1);
      await t.workers.idle();
      t.clock.advance(waitMs);
      t.workers.wakeWebhooks();
    }
    await shop.receiver.count(11);
    await t.workers.idle();
    expect(await outboxOf(shop)).toBe(0);
    const { received } = shop.receiver;
    expect(received.map(({ headers }) => headers['service-attempt'])).toEqual(
      Array.from({ length: 11 }, (_, i) => String(i + 1)),
    );
    expect(new Set(received.map(({ raw }) => raw.toString('hex'))).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['service-id'])).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers['service-signature'])).size).toBe(11);
  });

  it('R-23 by a redirect is not followed', async () => {
    const shop = await newShop();
    const elsewhere = await startWebhookReceiver();
    shop.receiver.answer = (_request, response) => response.writeHead(308, { location: elsewhere.endpoint }).end();
    await shop.send(1);
    await shop.receiver.count(1);
    await t.workers.idle();
    expect(elsewhere.received).toEqual([]);
    expect(await listAttempts(t.sql, shop.app.id, shop.id)).toMatchObject([{ statusCode: 308, error: 'redirect' }]);
  });
});

describe('a healthy endpoint', () => {
  it('has at most its window in flight, which grows, and R-28 the last 50 attempts in its log', async () => {
    const shop = await newShop();
    await t.registerMany(120, shop.app);
    const { body } = await shop.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    await shop.receiver.count(120);
    await t.workers.idle();
    expect(body.report.sent).toBe(120);
    expect(shop.receiver.inFlightMost).toBeLessThanOrEqual(64);
    expect(await shop.hook()).toMatchObject({ state: 'enabled', failures: 0, inFlightMax: 64 });
    const attempts = await listAttempts(t.sql, shop.app.id, shop.id);
    expect(attempts).toHaveLength(50);
    expect(new Set(attempts.map(({ deviceId }) => deviceId)).size).toBe(50);
    expect(await outboxOf(shop)).toBe(0);
    const told = shop.receiver.received.map(({ body: { data } }) => data.device_id);
    expect(new Set(told).size).toBe(120);
  });

  it('R-27 is told while another hangs', async () => {
    const hanging = await newShop();
    const healthy = await newShop();
    hanging.receiver.answer = () => undefined;
    await hanging.send(15);
    await hanging.receiver.count(10);
    await healthy.send(3);
    await healthy.receiver.count(3);
    expect(hanging.receiver.received).toHaveLength(10);
    await disableWebhook(deps, await hanging.hook());
  });
});

/** Resolves when `count` transactions wait for the row of a webhook. */
const untilWaiting = (count: number) => untilLockWaits(t.sql, count, { text: 'FROM webhooks w WHERE' });

describe('the webhooks of an app', () => {
  const endpoint = 'https://hooks.shop.example/';
  const race = async (appId: string, racers: number): Promise<number> => {
    const ends = await Promise.allSettled(
      Array.from({ length: racers }, () => createWebhook(deps, rules, { appId, endpoint, events: [] })),
    );
    for (const end of ends) {
      if (end.status === 'rejected') expect(end.reason).toMatchObject({ code: 'validation_failed' });
    }
    return ends.filter(({ status }) => status === 'fulfilled').length;
  };

  it("are at most ten, however many are made at once, and another app's do not count", async () => {
    const [app, other] = [await t.newApp(), await t.newApp()];
    expect(await Promise.all([race(app.id, 30), race(other.id, 4)])).toEqual([10, 4]);
    const made = await listWebhooks(t.sql, app.id);
    expect(made).toHaveLength(10);
    // The app can make exactly as many new webhooks as were deleted, in whatever order.
    const [deleted] = await Promise.all(made.slice(0, 3).map((webhook) => removeWebhook(deps, webhook)));
    expect(deleted).toBeUndefined();
    expect(await race(app.id, 30)).toBe(3);
    expect(await listWebhooks(t.sql, app.id)).toHaveLength(10);
  });

  it('stay deleted, whatever is done to them at the same time, and nothing of them returns', async () => {
    const shop = await newShop();
    const hook = await shop.hook();
    const rotation = { finishAt: null, isDual: true };
    let rotated: Promise<unknown> | undefined;
    // Both have read the webhook and wait for its row, in this order.
    await transaction(t.sql, async (tx) => {
      await lockWebhook(tx, shop.app.id, shop.id);
      const deleted = removeWebhook(deps, hook);
      await untilWaiting(1);
      rotated = Promise.all([rotateSecret(deps, hook, rotation).catch((error: unknown) => error), deleted]);
      await untilWaiting(2);
    });
    expect(await rotated).toEqual([expect.objectContaining({ code: 'not_found' }), undefined]);
    expect(await finishRotation(deps, hook)).toBe(false);
    await disableWebhook(deps, hook);
    await enableWebhook(deps, hook);
    expect(await findWebhook(t.sql, shop.id)).toBeUndefined();
  });

  it('end enabled or disabled, with at most one pending secret, whatever many requests do at once', async () => {
    const shop = await newShop();
    const hook = await shop.hook();
    const made = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        if (i % 2 === 0) await disableWebhook(deps, hook);
        else await enableWebhook(deps, hook);
        return rotateSecret(deps, hook, { finishAt: null, isDual: false });
      }),
    );
    await enableWebhook(deps, hook);
    expect(await finishRotation(deps, hook)).toBe(true);
    const secrets = [shop.secret, ...made];
    await shop.send(1);
    await shop.receiver.count(1);
    const [request] = shop.receiver.received;
    const verifying = secrets.filter((secret) => request && shop.receiver.verifies(request, [secret], t.clock.nowMs()));
    // Only the last secret verifies.
    expect(verifying).toHaveLength(1);
    expect(verifying).not.toEqual([shop.secret]);
    await t.workers.idle();
  });
});

describe('a rotation of the secret', () => {
  const signed = async (shop: Shop, secrets: readonly string[]): Promise<boolean[]> => {
    const before = shop.receiver.received.length;
    await shop.send(1);
    await shop.receiver.count(before + 1);
    const request = shop.receiver.received.at(-1);
    if (!request) throw new Error('nothing came');
    await t.workers.idle();
    return secrets.map((secret) => shop.receiver.verifies(request, [secret], t.clock.nowMs()));
  };

  it('R-20 signs with the old secret alone until it is finished, and then with the new one alone', async () => {
    const shop = await newShop();
    const fresh = await rotateSecret(deps, await shop.hook(), { finishAt: null, isDual: false });
    expect(await signed(shop, [shop.secret, fresh])).toEqual([true, false]);
    expect(await finishRotation(deps, await shop.hook())).toBe(true);
    expect(await signed(shop, [shop.secret, fresh])).toEqual([false, true]);
    expect(await finishRotation(deps, await shop.hook())).toBe(false);
  });

  it('signs with both in between when requested, and finishes by itself', async () => {
    const shop = await newShop();
    const finishAt = new Date(t.clock.nowMs() + 3_600_000);
    const fresh = await rotateSecret(deps, await shop.hook(), { finishAt, isDual: true });
    expect(await signed(shop, [shop.secret, fresh])).toEqual([true, true]);
    t.clock.advance(3_600_000);
    expect(await signed(shop, [shop.secret, fresh])).toEqual([false, true]);
    await finishDueRotations(deps);
    expect((await shop.hook()).pendingSecret).toBeNull();
    expect(await signed(shop, [shop.secret, fresh])).toEqual([false, true]);
  });

  it('R-20 after the end of the former rotation keeps the signing secret, and the old one does not return', async () => {
    const shop = await newShop();
    const finishAt = new Date(t.clock.nowMs() + 3_600_000);
    const second = await rotateSecret(deps, await shop.hook(), { finishAt, isDual: false });
    t.clock.advance(3_600_000);
    const third = await rotateSecret(deps, await shop.hook(), { finishAt: null, isDual: false });
    expect(await signed(shop, [shop.secret, second, third])).toEqual([false, true, false]);
    await finishRotation(deps, await shop.hook());
    expect(await signed(shop, [shop.secret, second, third])).toEqual([false, false, true]);
  });

  it('R-20 that starts while the former one is finishing is not finished with it', async () => {
    const shop = await newShop();
    const finishAt = new Date(t.clock.nowMs() + 3_600_000);
    const second = await rotateSecret(deps, await shop.hook(), { finishAt, isDual: false });
    t.clock.advance(3_600_000);
    // Both wait for the row, in this order. The one that finishes has listed the rotation and finds
    // another one.
    const work: Promise<unknown>[] = [];
    let third = '';
    await transaction(t.sql, async (tx) => {
      await lockWebhook(tx, shop.app.id, shop.id);
      const hook = await shop.hook();
      work.push(rotateSecret(deps, hook, { finishAt: null, isDual: false }).then((made) => (third = made)));
      await untilWaiting(1);
      work.push(finishDueRotations(deps));
      await untilWaiting(2);
    });
    await Promise.all(work);
    expect(await signed(shop, [shop.secret, second, third])).toEqual([false, true, false]);
  });
});

describe('a test event', () => {
  it('is one signed request, answered inline, outside the log and the counts', async () => {
    const shop = await newShop(['message.clicked']);
    const { http } = t.service.webhooks;
    const result = await testWebhook({ ...deps, http, rules }, await shop.hook());
    expect(result).toMatchObject({ status_code: 200, error: null });
    const [request] = shop.receiver.received;
    expect(request?.body).toMatchObject({
      event: 'webhook.test',
      data: { message_id: 'msg_0000000000000000000000', device_id: 'dev_0000000000000000000000', error_code: null },
    });
    expect(request && shop.receiver.verifies(request, [shop.secret], t.clock.nowMs())).toBe(true);
    expect(await listAttempts(t.sql, shop.app.id, shop.id)).toEqual([]);
    const [listed] = await listWebhooks(t.sql, shop.app.id);
    expect(listed?.lastTest).toMatchObject({ status_code: 200, error: null });
    await disableWebhook(deps, await shop.hook());
    await expect(testWebhook({ ...deps, http, rules }, await shop.hook())).rejects.toThrow(/enable it first/);
  });
});
