// Tests the SDK's client with a running service: every method, and calls whose answer is lost.
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Carillon } from '../../../node/src/client.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { setup } from '../setup.ts';

const t = await setup();
const carillon = new Carillon({ baseUrl: t.url, apiKey: t.app.serverKey });

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/**
 * Listens in front of the service and drops the answers of the first `many` requests, which the
 * service has carried out.
 */
async function loseAnswers(many: number): Promise<string> {
  let left = many;
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const onward = forward(t.url + url, { method, headers }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk);
      if (left-- > 0) {
        incoming.socket.destroy();
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      outgoing.end(Buffer.concat(chunks));
    });
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  whenDone(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the client', () => {
  it('has every method of the API, with the types of the real answers', async () => {
    const token = JSON.stringify(t.pushSubscription());
    const device = await carillon.devices.register({ platform: 'web', token, locale: 'de-DE' });
    expect(device).toMatchObject({ channel: 'webpush', status: 'active', created: true });
    const user = await carillon.users.upsert({ external_id: 'u/1 ü', properties: { plan: 'pro' } });
    expect(user.property_conflicts).toEqual([]);
    const linked = await carillon.devices.identify({ device_id: device.id, external_id: 'u/1 ü' });
    expect(linked.user_id).toBe(user.id);
    expect((await carillon.users.get('u/1 ü')).devices).toEqual([device.id]);
    expect((await collect(carillon.properties.all())).map(({ key }) => key)).toEqual(['plan']);

    const filter = { field: 'properties.plan', op: 'eq', value: 'pro' };
    const segment = await carillon.segments.create({ name: 'Pro', filter });
    expect((await carillon.segments.preview({ segment_id: segment.id })).count).toBe(1);
    expect((await carillon.segments.replace(segment.id, { name: 'Pros', filter })).name).toBe('Pros');
    expect((await carillon.segments.get(segment.id)).valid).toBe(true);
    expect((await collect(carillon.segments.all())).map(({ id }) => id)).toEqual([segment.id]);

    const audience = { segment_id: segment.id };
    const content = { title: 'Sale' };
    const dry = await carillon.messages.send({ audience, content, dry_run: true });
    expect(dry.count).toBe(1);
    const sent = await carillon.messages.send({ audience, content }, { idempotencyKey: 'sale-1' });
    expect(sent).toMatchObject({ replayed: false, report: { accepted: 1, sent: 1 } });
    const again = await carillon.messages.send({ audience, content }, { idempotencyKey: 'sale-1' });
    expect(again).toMatchObject({ id: sent.id, replayed: true });
    expect((await carillon.messages.get(sent.id)).idempotency_key).toBe('sale-1');
    const [delivery] = await collect(carillon.messages.allDeliveries(sent.id, { status: 'sent' }));
    expect(delivery).toMatchObject({ device_id: device.id, external_id: 'u/1 ü' });
    expect((await carillon.messages.deliveries(sent.id)).report.sent).toBe(1);
    const send_at = new Date(t.clock.nowMs() + 3_600_000).toISOString();
    const scheduled = await carillon.messages.send({ audience, content, send_at });
    expect(scheduled.run_at).toBe(send_at);
    expect((await carillon.messages.cancel(scheduled.id)).status).toBe('canceled');
    expect((await carillon.messages.list({ status: 'canceled' })).data.map(({ id }) => id)).toEqual([scheduled.id]);

    const event = { name: 'purchase', id: 'order-1', properties: { amount: 5, currency: 'EUR' } };
    expect(await carillon.events.track([{ ...event, device_id: device.id }, { name: 'install' }])).toEqual({
      accepted: 2,
      duplicates: 0,
    });
    expect((await carillon.events.track(event)).duplicates).toBe(1);

    const range = {
      from: new Date(t.clock.nowMs() - 86_400_000).toISOString(),
      to: new Date(t.clock.nowMs() + 60_000).toISOString(),
    };
    expect((await carillon.reports.events(range)).events).toMatchObject({
      purchase: { count: 1 },
      install: { count: 1 },
    });
    expect((await carillon.reports.revenue(range)).revenue).toMatchObject([{ currency: 'EUR', purchases: 1 }]);
    expect((await collect(carillon.reports.revenueByMessage(range))).length).toBeLessThanOrEqual(1);
    const engaged = await collect(carillon.reports.engagementByMessage(range));
    expect(engaged).toMatchObject([{ sent: 1 }]);
    expect((await carillon.reports.engagement({ ...range, group: 'day' })).groups?.length).toBeGreaterThan(0);
    expect(Object.keys((await carillon.reports.devices(range)).devices ?? {})).toContain('webpush');

    expect((await carillon.devices.optOut(device.id)).status).toBe('unsubscribed');
    expect((await carillon.users.delete('u/1 ü')).deleted).toBe(true);
    expect((await carillon.segments.delete(segment.id)).deleted).toBe(true);
    expect((await carillon.config()).channels).toEqual(['webpush']);
    expect((await carillon.channels()).channels).toHaveLength(3);
  });

  it("throws the service's refusals", async () => {
    await expect(carillon.messages.get('msg_0000000000000000000000')).rejects.toMatchObject({
      name: 'ApiError',
      status: 404,
      error: 'not_found',
      requestId: expect.stringMatching(/^req_/),
    });
    await expect(carillon.messages.send({ audience: { all: true }, content: {} })).rejects.toMatchObject({
      status: 400,
      issues: [{ path: ['content'], code: 'empty_content' }],
    });
    const stranger = new Carillon({ baseUrl: t.url, apiKey: t.app.clientKey });
    await expect(stranger.devices.list()).rejects.toMatchObject({ status: 403, error: 'wrong_key_scope' });
  });

  it('walks a list of any length, with each item once', async () => {
    const app = await t.newApp();
    await t.registerMany(450, app);
    const walker = new Carillon({ baseUrl: t.url, apiKey: app.serverKey });
    const ids = (await collect(walker.devices.all())).map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([450, 450]);
  });

  it('R-13 sends once, however many answers are lost on the way', async () => {
    const app = await t.newApp();
    await t.registerDevice({}, app);
    const unlucky = new Carillon({ baseUrl: await loseAnswers(2), apiKey: app.serverKey });
    const sent = await unlucky.messages.send({ audience: { all: true }, content: { title: 'Once' } });
    expect(sent).toMatchObject({ replayed: true, report: { accepted: 1, sent: 1 } });
    expect(await collect(unlucky.messages.all())).toHaveLength(1);
  });

  it('counts an event once, however many answers are lost on the way', async () => {
    const app = await t.newApp();
    const unlucky = new Carillon({ baseUrl: await loseAnswers(1), apiKey: app.serverKey });
    expect(await unlucky.events.track({ name: 'install' })).toEqual({ accepted: 0, duplicates: 1 });
  });

  it('R-66 waits under a rate limit as the service says, until everything is done', async () => {
    const app = await t.newApp({ plan: 'free' });
    await t.registerDevice({}, app);
    const hasty = new Carillon({ baseUrl: t.url, apiKey: app.serverKey, maxRetries: 20 });
    const audience = { all: true } as const;
    const sends = Array.from({ length: 25 }, () => hasty.messages.send({ audience, content: { title: 'Many' } }));
    const reports = (await Promise.all(sends)).map(({ report }) => report.accepted);
    expect(reports).toEqual(reports.map(() => 1));
    expect(await collect(hasty.messages.all())).toHaveLength(25);
  });
});
