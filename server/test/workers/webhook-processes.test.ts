import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { transaction } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { armFailpoints, type Failpoint } from '../../src/ground/host/failpoint.ts';
import { parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { encodeId, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { createWebhook, disableWebhook, enableWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import {
  claimEvents,
  findWebhook,
  insertEvents,
  listAttempts,
  lockWebhook,
  type StoredWebhook,
} from '../../src/sending/webhooks/queries.ts';
import { bringForgottenForward } from '../../src/sending/webhooks/work-queries.ts';
import { setup } from '../setup.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../webhook-receiver.ts';

const t = await setup({ environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', WEBHOOK_FAILURE_PAUSE_MAX_MS: '0' } });
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const exceptions = parseOutboundExceptions({ allowCidrs: ['127.0.0.0/8'], allowPorts: '1024-65535' });
const leaseMs = 20_000;

interface Hook {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly receiver: WebhookReceiver;
  stored(): Promise<StoredWebhook>;
  /** Puts `many` events into the webhook's outbox, as flushes do. */
  happen(many: number): Promise<void>;
  left(): Promise<number>;
}

async function newHook(at = t): Promise<Hook> {
  const { sql, clock, by } = at;
  const deps = { sql, clock, by, seal: createSeal(at.masterKey) };
  const { id: appId } = await at.newApp({ channels: false });
  const receiver = await startWebhookReceiver();
  const made = { appId, endpoint: receiver.endpoint, events: [] };
  const { id } = await createWebhook(deps, { exceptions, ownHosts: [] }, made);
  return {
    appId,
    id,
    receiver,
    async stored() {
      const found = await findWebhook(sql, id);
      if (!found) throw new Error('the webhook is gone');
      return found;
    },
    async happen(many) {
      const common = { webhookId: id, kind: 0, channel: 0, atMs: clock.nowMs(), errorCode: null, details: null };
      const events = Array.from({ length: many }, () => ({
        ...common,
        id: mintUuid(clock.nowMs()),
        messageId: mintUuid(),
        deviceId: mintUuid(),
      }));
      await insertEvents(sql, clock, appId, events);
      await bringForgottenForward(sql);
    },
    left: async () =>
      (await sql<{ count: number }[]>`SELECT count(*) FROM webhook_events WHERE webhook_id = ${id}`)[0]?.count ?? 0,
  };
}

describe('R-24 several sets of loops, as in several processes,', () => {
  it('give a dead endpoint exactly 15 requests in total', async () => {
    const hook = await newHook();
    hook.receiver.answer = (_request, response) => response.writeHead(500).end();
    const all = [t.workers, ...Array.from({ length: 3 }, () => t.startWorkers())];
    await hook.happen(100);
    for (const workers of all) workers.wakeWebhooks();
    await hook.receiver.count(15);
    for (const workers of all) await workers.idle();
    expect(await hook.stored()).toMatchObject({ state: 'disabled', failures: 15 });
    expect(hook.receiver.received).toHaveLength(15);
    expect(await hook.left()).toBe(100);
    for (const workers of all.slice(1)) await workers.stop();
  });

  it('tell a healthy endpoint everything, and keep R-28 exactly the last 50 attempts', async () => {
    const hook = await newHook();
    const more = t.startWorkers();
    await hook.happen(1000);
    for (const workers of [t.workers, more]) workers.wakeWebhooks();
    await hook.receiver.count(1000);
    for (const workers of [t.workers, more]) await workers.idle();
    expect(new Set(hook.receiver.received.map(({ headers }) => headers['service-id'])).size).toBe(1000);
    expect(hook.receiver.received).toHaveLength(1000);
    expect(hook.receiver.inFlightMost).toBeLessThanOrEqual(64);
    expect(await listAttempts(t.sql, hook.appId, hook.id)).toHaveLength(50);
    expect(await hook.left()).toBe(0);
    await more.stop();
  });

  it('give an endpoint that dies at its full window at most 15 requests in addition to those in flight', async () => {
    const hook = await newHook();
    const all = [t.workers, ...Array.from({ length: 3 }, () => t.startWorkers())];
    // No request is answered until the window is full; then each of them fails.
    const underWay: ServerResponse[] = [];
    hook.receiver.answer = (_request, response) => underWay.push(response);
    await disableWebhook(deps, hook);
    await hook.happen(500);
    await t.sql`
      UPDATE webhooks SET state = 'enabled', disabled_at = NULL, failures = 0, in_flight_max = 64, is_probing = false
      WHERE id = ${hook.id}`;
    await bringForgottenForward(t.sql);
    for (const workers of all) workers.wakeWebhooks();
    await hook.receiver.count(64);
    hook.receiver.answer = (_request, response) => response.writeHead(500).end();
    for (const response of underWay) response.writeHead(500).end();
    for (const workers of all) await workers.idle();
    expect(hook.receiver.inFlightMost).toBe(64);
    expect(hook.receiver.received.length).toBeLessThanOrEqual(64 + 15);
    expect(await hook.stored()).toMatchObject({ state: 'disabled', failures: 15 });
    expect(await hook.left()).toBe(500);
    for (const workers of all.slice(1)) await workers.stop();
  });

  it('claim no more than the window, whatever they read before they locked the row', async () => {
    const hook = await newHook();
    await disableWebhook(deps, hook);
    await hook.happen(30);
    const claim = () =>
      transaction(t.sql, async (tx) => {
        await lockWebhook(tx, hook.appId, hook.id);
        // The state that another process read before: a window of ten, and nothing in flight.
        const claimId = { id: randomUUID() as Uuid, leaseMs, limit: 64 };
        return (await claimEvents(tx, t.clock, { ...hook, inFlightMax: 10 }, claimId)).length;
      });
    expect(await Promise.all([claim(), claim(), claim()])).toEqual(expect.arrayContaining([10, 0, 0]));
    t.clock.advance(leaseMs + 1);
    expect(await claim()).toBe(10);
  });
});

describe('R-28 the attempt log', () => {
  it('is in the order of completion, and keeps the last 50', async () => {
    const hook = await newHook();
    const open: { readonly event: string; readonly response: ServerResponse }[] = [];
    hook.receiver.answer = ({ headers }, response) => open.push({ event: String(headers['service-id']), response });
    const completed: string[] = [];
    for (let round = 1; round <= 6; round++) {
      await hook.happen(10);
      await hook.receiver.count(10 * round);
      // The last request to arrive is the first to be answered.
      for (const { event, response } of open.splice(0).reverse()) {
        response.writeHead(200 + (completed.length % 3)).end();
        completed.push(event);
        const isWritten = async () =>
          (await listAttempts(t.sql, hook.appId, hook.id)).some(({ eventId }) => encodeId('whe', eventId) === event);
        while (!(await isWritten())) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await t.workers.idle();
    const log = await listAttempts(t.sql, hook.appId, hook.id);
    expect(log.map(({ eventId }) => encodeId('whe', eventId))).toEqual(completed.slice(-50).reverse());
    const statuses = completed.map((_event, i) => 200 + (i % 3));
    expect(log.map(({ statusCode }) => statusCode)).toEqual(statuses.slice(-50).reverse());
  });
});

describe('R-24 a webhook that has failed', () => {
  it('pauses, longer with each failure in a row, while another webhook is told; a 2xx ends it', async () => {
    const resting = await setup({ environment: { OUTBOUND_ALLOW_PORTS: '1024-65535' } });
    const failing = await newHook(resting);
    const healthy = await newHook(resting);
    failing.receiver.answer = (_request, response) => response.writeHead(500).end();
    // From here on time passes only when the test says so.
    resting.clock.hold(resting.clock.date());
    const look = async () => {
      resting.workers.wakeWebhooks();
      await resting.workers.idle();
    };
    await failing.happen(1);
    await failing.receiver.count(1);
    await look();
    // First attempts of other events, which are due at once.
    await failing.happen(30);
    await healthy.happen(30);
    await healthy.receiver.count(30);
    await look();
    expect(failing.receiver.received).toHaveLength(1);
    for (const restMs of [100, 200, 400]) {
      const before = failing.receiver.received.length;
      await resting.sql`UPDATE webhooks SET in_flight_max = 1 WHERE id = ${failing.id}`;
      resting.clock.advance(restMs - 1);
      await look();
      expect(failing.receiver.received).toHaveLength(before);
      resting.clock.advance(2);
      await failing.receiver.count(before + 1);
      await look();
      expect(failing.receiver.received).toHaveLength(before + 1);
    }
    failing.receiver.answer = (_request, response) => response.writeHead(200).end();
    resting.clock.advance(802);
    await failing.receiver.count(31 - 3);
    await look();
    expect(await failing.stored()).toMatchObject({ state: 'enabled', failures: 0 });
  });
});

describe('R-26 a process that ends between an answer and its commit', () => {
  it.each<Failpoint>(['webhook.after_response', 'webhook.before_ack_commit'])(
    'at %s leaves the event to be told again, and counts nothing',
    async (place) => {
      const hook = await newHook();
      let passed = 0;
      onTestFinished(
        armFailpoints((name) => {
          if (name === place && ++passed === 1) throw new Error('the end');
        }),
      );
      await hook.happen(1);
      await hook.receiver.count(1);
      await t.workers.idle();
      expect(await hook.left()).toBe(1);
      expect(await listAttempts(t.sql, hook.appId, hook.id)).toEqual([]);
      t.clock.advance(leaseMs + 1);
      t.workers.wakeWebhooks();
      await hook.receiver.count(2);
      await t.workers.idle();
      expect(await hook.left()).toBe(0);
      const [first, second] = hook.receiver.received;
      expect(second?.raw).toEqual(first?.raw);
      expect(second?.headers['service-id']).toBe(first?.headers['service-id']);
      expect(hook.receiver.received).toHaveLength(2);
    },
  );

  it('with an unreachable database loses nothing: the attempt is written after the outage', async () => {
    const hook = await newHook();
    hook.receiver.answer = (_request, response) => response.writeHead(500).end();
    let passed = 0;
    onTestFinished(
      armFailpoints((name) => {
        if (name === 'webhook.before_ack_commit' && ++passed < 3) {
          throw Object.assign(new Error('gone for a moment'), { code: '40001' });
        }
      }),
    );
    await hook.happen(1);
    await hook.receiver.count(1);
    await t.workers.idle();
    expect(passed).toBe(3);
    expect(await hook.stored()).toMatchObject({ state: 'enabled', failures: 1 });
    expect(await listAttempts(t.sql, hook.appId, hook.id)).toHaveLength(1);
    expect(hook.receiver.received).toHaveLength(1);
  });
});

describe('R-24 a webhook that is enabled again', () => {
  it('by a failing first probe gets one more request at a time, until a 2xx or the 15th failure', async () => {
    const hook = await newHook();
    hook.receiver.answer = (_request, response) => response.writeHead(500).end();
    await hook.happen(40);
    await hook.receiver.count(15);
    await t.workers.idle();
    const before = hook.receiver.inFlightMost;
    expect(before).toBeGreaterThan(1);
    let inFlight = 0;
    let most = 0;
    hook.receiver.answer = (_request, response) => {
      most = Math.max(most, ++inFlight);
      setImmediate(() => {
        inFlight--;
        response.writeHead(500).end();
      });
    };
    await enableWebhook(deps, await hook.stored());
    t.workers.wakeWebhooks();
    await hook.receiver.count(30);
    await t.workers.idle();
    expect(hook.receiver.received).toHaveLength(30);
    expect(most).toBe(1);
    expect(await hook.stored()).toMatchObject({ state: 'disabled', failures: 15 });
  });
});
