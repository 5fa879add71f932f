// Tests the server and its SDK with each other: a running service, and a receiver that verifies as
// a customer's would.
import Stripe from 'stripe';
import { describe, expect, it } from 'vitest';
import { verifyWebhook } from '../../../node/src/verify-webhook.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { finishRotation, rotateSecret, testWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import type { Received } from '../webhook-receiver.ts';
import { openShop, type Shop, setupWebhooks } from '../workers/webhook-shop.ts';

const t = await setupWebhooks();
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };

const verify = ({ raw, headers }: Received, secret: string | readonly string[]) =>
  verifyWebhook(raw, headers['service-signature'], secret, { nowMs: t.clock.nowMs() });

async function tellOne(shop: Shop): Promise<Received> {
  const before = shop.receiver.received.length;
  await shop.send(1, { metadata: { name: 'Größe 日本 🔔' } });
  await shop.receiver.count(before + 1);
  const request = shop.receiver.received.at(-1);
  if (!request) throw new Error('nothing came');
  return request;
}

describe('R-20 verifyWebhook of the SDK', () => {
  it('accepts a request of the service as it was sent, and refuses the body parsed and serialized again', async () => {
    const shop = await openShop(t);
    t.push.script('gone', (_request, response) => response.writeHead(410).end());
    const gone = await t.registerDevice({ token: t.pushSubscription('gone') }, shop.app);
    const fine = await t.registerDevice({}, shop.app);
    const content = { title: 'Größe', url: 'https://shop.example/größe' };
    const request = { audience: { device_ids: [gone, fine] }, content, metadata: { n: 1.5, name: '日本 🔔' } };
    const { body } = await shop.server.post('/v1/messages', request);
    const token = await receiptTokenOf(t, body.id, fine);
    await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
    await shop.receiver.count(3);
    await t.workers.idle();
    const events = shop.receiver.received.map((each) => verify(each, shop.secret));
    expect(events.map(({ event }) => event).sort()).toEqual(['message.clicked', 'message.failed', 'message.sent']);
    for (const event of events) {
      expect(event.data.metadata).toEqual({ n: 1.5, name: '日本 🔔' });
      if (event.event === 'message.failed') {
        expect(event.data).toMatchObject({ error_code: 'unregistered', provider_status: 410, attempts: 1 });
      }
      if (event.event === 'message.clicked') expect(event.data.url).toBe('https://shop.example/größe');
    }
    for (const each of shop.receiver.received) {
      const again = { ...each, raw: Buffer.from(JSON.stringify(each.body, null, 1)) };
      expect(() => verify(again, shop.secret)).toThrow(expect.objectContaining({ reason: 'wrong_signature' }));
      expect(() => verify(each, `${shop.secret}x`)).toThrow(expect.objectContaining({ reason: 'wrong_signature' }));
    }
  });

  it("agrees with Stripe's own verifier: both accept the request as it was sent, and refuse it serialized again", async () => {
    const shop = await openShop(t);
    const { raw, headers, body } = await tellOne(shop);
    const { webhooks } = new Stripe('sk_test_0');
    const byStripe = (text: Buffer) =>
      webhooks.constructEvent(text, headers['service-signature'] ?? '', shop.secret, 300, undefined, t.clock.nowMs());
    expect(byStripe(raw)).toEqual(body);
    expect(() => byStripe(Buffer.from(JSON.stringify(body, null, 1)))).toThrow(/No signatures found/);
  });

  it('accepts a test event', async () => {
    const shop = await openShop(t);
    const { http, rules } = t.service.webhooks;
    await testWebhook({ ...deps, http, rules }, await shop.hook());
    const [request] = shop.receiver.received;
    expect(request && verify(request, shop.secret).event).toBe('webhook.test');
  });

  it('with both secrets accepts every request of a rotation, and with either one when both sign', async () => {
    const shop = await openShop(t);
    const second = await rotateSecret(deps, await shop.hook(), { finishAt: null, isDual: false });
    const before = await tellOne(shop);
    expect(verify(before, [second, shop.secret]).event).toBe('message.sent');
    expect(() => verify(before, second)).toThrow(expect.objectContaining({ reason: 'wrong_signature' }));
    await finishRotation(deps, await shop.hook());
    const after = await tellOne(shop);
    expect(verify(after, [second, shop.secret]).event).toBe('message.sent');
    expect(() => verify(after, shop.secret)).toThrow(expect.objectContaining({ reason: 'wrong_signature' }));
    const third = await rotateSecret(deps, await shop.hook(), { finishAt: null, isDual: true });
    const dual = await tellOne(shop);
    for (const secret of [second, third]) expect(verify(dual, secret).event).toBe('message.sent');
    await t.workers.idle();
  });
});
