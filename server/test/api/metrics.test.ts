import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { createWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';

const token = 'metrics-of-the-test';
const t = await setup({ environment: { METRICS_TOKEN: token, OUTBOUND_ALLOW_PORTS: '1024-65535' } });

async function scrape(): Promise<Map<string, number>> {
  const response = await fetch(`${t.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      expect(line).toMatch(/^[a-z_]+(\{([a-z_]+="[^"\n]*",?)+\})? -?[0-9.e+-]+$/);
      return [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))];
    }),
  );
}

describe('GET /metrics', () => {
  it('needs the token', async () => {
    for (const authorization of [undefined, 'Bearer wrong', `Basic ${token}`, `Bearer ${t.app.serverKey}`]) {
      const response = await fetch(`${t.url}/metrics`, { ...(authorization && { headers: { authorization } }) });
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain('carillon_');
    }
  });

  it('does not exist when no token is set', async () => {
    const without = await setup({ workers: false });
    expect((await fetch(`${without.url}/metrics`, { headers: { authorization: 'Bearer ' } })).status).toBe(404);
  });

  it('counts requests by route, messages, deliveries by outcome, and the requests to each webhook', async () => {
    t.push.script('gone', (_request, response) => response.writeHead(410).end('Gone'));
    const receiver = await startWebhookReceiver();
    const { exceptions } = t.service.webhooks.rules;
    const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
    const target = { appId: t.app.id, endpoint: receiver.endpoint, events: [] };
    const { id } = await createWebhook(deps, { exceptions, ownHosts: [] }, target);
    let seen = 0;
    receiver.answer = (_request, response) => response.writeHead(++seen === 1 ? 200 : 500).end();
    const fine = await t.registerDevice();
    const gone = await t.registerDevice({ token: t.pushSubscription('gone') });
    const body = { audience: { device_ids: [fine, gone] }, content: { title: 'Sale' } };
    const before = await scrape();
    for (let i = 0; i < 2; i++) await t.server.post('/v1/messages', body, { 'idempotency-key': 'once' });
    await t.server.get('/v1/messages/msg_0000000000000000000000');
    await fetch(`${t.url}/no/such/${Math.random()}`);
    await receiver.count(2);
    await t.workers.idle();

    const after = await scrape();
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    const route = (method: string, path: string, status: number) =>
      `carillon_http_requests_total{method="${method}",route="${path}",status="${status}"}`;
    expect(grown(route('POST', '/v1/messages', 200))).toBe(2);
    expect(grown(route('GET', '/v1/messages/:id', 404))).toBe(1);
    expect(grown(route('GET', '', 404))).toBe(1);
    expect(grown('carillon_http_request_duration_seconds_count{method="POST",route="/v1/messages"}')).toBe(2);
    // The second request was a repetition.
    expect(grown('carillon_messages_accepted_total')).toBe(1);
    expect(grown('carillon_messages_finished_total')).toBe(1);
    expect(grown('carillon_deliveries_total{channel="webpush",outcome="sent"}')).toBe(1);
    expect(grown('carillon_deliveries_total{channel="webpush",outcome="failed"}')).toBe(1);
    expect(grown('carillon_delivery_errors_total{error_code="unregistered"}')).toBe(1);
    expect(grown('carillon_flush_delay_seconds_count')).toBeGreaterThan(0);
    const webhook = encodeId('whk', id);
    expect(grown(`carillon_webhook_attempts_total{webhook="${webhook}",result="acknowledged"}`)).toBe(1);
    expect(grown(`carillon_webhook_attempts_total{webhook="${webhook}",result="http_status"}`)).toBe(1);
    expect(grown(`carillon_webhook_attempt_duration_seconds_count{webhook="${webhook}"}`)).toBe(2);
    expect([...after.keys()].some((name) => name.includes('no/such'))).toBe(false);
  });

  it("shows database figures, each webhook's outbox, and the connections of every pool", async () => {
    // Values are read from the database every few seconds at most, so a new service reads them now.
    const fresh = await setup({ environment: { METRICS_TOKEN: token }, workers: false });
    const deps = { sql: fresh.sql, clock: fresh.clock, by: fresh.by, seal: createSeal(fresh.masterKey) };
    const target = { appId: fresh.app.id, endpoint: 'https://hooks.shop.example/', events: [] };
    const { id } = await createWebhook(deps, fresh.service.webhooks.rules, target);
    const devices = [await fresh.registerDevice(), await fresh.registerDevice()];
    const message = { audience: { device_ids: devices }, content: { title: 'Sale' } };
    await fresh.server.post('/v1/messages', message);
    const at = new Date(fresh.clock.nowMs() + 3_600_000).toISOString();
    await fresh.server.post('/v1/messages', { ...message, send_at: at });
    fresh.clock.advance(90_000);
    const families = await fresh.service.snapshotMetrics({ includesDatabase: true });
    const valueIn = (name: string, ...labels: string[]) =>
      families.find((family) => family.name === name)?.series.find((one) => one.labels.join() === labels.join())
        ?.values[0];
    const webhook = encodeId('whk', id);
    expect(valueIn('carillon_database_up')).toBe(1);
    expect(valueIn('carillon_paused')).toBe(0);
    expect(valueIn('carillon_messages_scheduled')).toBe(1);
    expect(valueIn('carillon_batches', 'due')).toBe(0);
    expect(valueIn('carillon_webhook_enabled', webhook)).toBe(1);
    expect(valueIn('carillon_webhook_outbox_events', webhook)).toBe(2);
    expect(valueIn('carillon_webhook_oldest_due_seconds', webhook)).toBeGreaterThanOrEqual(90);
    expect(valueIn('carillon_webhook_window', webhook)).toBe(10);
    expect(valueIn('carillon_webhook_consecutive_failures', webhook)).toBe(0);
    const pools = families.find(({ name }) => name === 'carillon_database_connections');
    expect(pools?.series.map(({ labels }) => labels[0])).toEqual(expect.arrayContaining(['reads', 'transactions']));
    expect(valueIn('carillon_process_resident_memory_bytes', 'api')).toBeGreaterThan(10_000_000);
  });

  it('contains no secret, no address, no name and no token', async () => {
    const { exceptions } = t.service.webhooks.rules;
    const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
    const target = { appId: t.app.id, endpoint: 'https://localhost:8443/secret-path-of-hook', events: [] };
    const { secret } = await createWebhook(deps, { exceptions, ownHosts: [] }, target);
    const response = await fetch(`${t.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    for (const hidden of [secret, token, t.app.serverKey, 'secret-path-of-hook', 'localhost', 'Shop', '127.0.0.1']) {
      expect(text).not.toContain(hidden);
    }
  });
});
