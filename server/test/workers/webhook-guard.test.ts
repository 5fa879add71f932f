import { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiError } from '../../src/ground/http/api-error.ts';
import { parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { createWebhook, type NewWebhook, testWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { findWebhook, insertEvents, listAttempts } from '../../src/sending/webhooks/queries.ts';
import { webhooksMax } from '../../src/sending/webhooks/webhook.ts';
import { refusedUrls } from '../fixtures/refused-urls.ts';
import { setup, type TestApp } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { until } from './held.ts';

// A service with default settings: no address range is exempt.
const t = await setup({ environment: { OUTBOUND_ALLOW_CIDRS: '', OUTBOUND_RESOLVE: '' } });
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const { rules } = t.service.webhooks;
const fine = 'https://hooks.shop.example/push';
const own = `${t.config.publicUrl}/hooks`;

let app: TestApp = t.app;
let made = 0;
/** Makes a webhook in an app that has room for it. */
async function newWebhook(endpoint: string): Promise<NewWebhook & { appId: Uuid }> {
  if (made++ % webhooksMax === 0) app = await t.newApp({ channels: false });
  return { ...(await createWebhook(deps, rules, { appId: app.id, endpoint, events: [] })), appId: app.id };
}

/** Puts an event into the outbox, as a flush does. */
async function happen(appId: Uuid, webhookId: Uuid): Promise<void> {
  const event = { webhookId, id: mintUuid(t.clock.nowMs()), kind: 0, channel: 0, atMs: t.clock.nowMs() };
  const ids = { messageId: mintUuid(), deviceId: mintUuid() };
  await insertEvents(t.sql, t.clock, appId, [{ ...event, ...ids, errorCode: null, details: null }]);
}

/** Records which hosts outgoing sockets begin to connect to. */
function watchConnects(): { readonly hosts: () => readonly unknown[] } {
  const connect = vi.spyOn(Socket.prototype, 'connect');
  onTestFinished(() => connect.mockRestore());
  const outbound = () =>
    connect.mock.calls.flatMap(([first]) => {
      const options: unknown = Array.isArray(first) ? first[0] : first;
      return typeof options === 'object' && options !== null && 'ALPNProtocols' in options && 'host' in options
        ? [options.host]
        : [];
    });
  return { hosts: outbound };
}

describe('R-30 an endpoint at an address that is not public', () => {
  it.each([...refusedUrls, own])('%j is refused when it is saved', async (endpoint) => {
    const saved = createWebhook(deps, rules, { appId: t.app.id, endpoint, events: [] });
    const error = await saved.then(
      () => undefined,
      (refusal: unknown) => refusal,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'validation_failed', details: { issues: [{ path: ['endpoint'] }] } });
  });

  it('accepts port 8443, which a webhook may have', async () => {
    expect((await newWebhook('https://hooks.shop.example:8443/push')).id).toEqual(expect.any(String));
  });

  it('gets no connection and no attempt when it was written directly into the table', async () => {
    const { hosts } = watchConnects();
    const hooks: { id: Uuid; appId: Uuid; endpoint: string }[] = [];
    for (const endpoint of [...refusedUrls, own]) {
      const { id, appId } = await newWebhook(fine);
      await t.sql`UPDATE webhooks SET endpoint = ${endpoint} WHERE app_id = ${appId} AND id = ${id}`;
      hooks.push({ id, appId, endpoint });
    }
    for (const { appId, id } of hooks) await happen(appId, id);
    await until(async () => {
      t.workers.wakeWebhooks();
      await t.workers.idle();
      const tried = await Promise.all(hooks.map(({ appId, id }) => listAttempts(t.sql, appId, id)));
      return tried.every((attempts) => attempts.length > 0);
    });
    for (const { appId, id, endpoint } of hooks) {
      const attempts = await listAttempts(t.sql, appId, id);
      expect({ endpoint, attempts }).toMatchObject({ attempts: [{ error: 'blocked_address', statusCode: null }] });
    }
    expect(hosts()).toEqual([]);
  });

  it('is not connected to by a test of it either', async () => {
    const { hosts } = watchConnects();
    const { id, appId } = await newWebhook(fine);
    await t.sql`UPDATE webhooks SET endpoint = 'https://127.0.0.1/' WHERE app_id = ${appId} AND id = ${id}`;
    const stored = await findWebhook(t.sql, id);
    if (!stored) throw new Error('the webhook is gone');
    const result = await testWebhook({ ...deps, http: t.service.webhooks.http, rules }, stored);
    expect(result).toMatchObject({ status_code: null, error: 'blocked_address' });
    expect(hosts()).toEqual([]);
  });

  it('would be detected: an address that the operator exempts is connected to', async () => {
    const { hosts } = watchConnects();
    const receiver = await startWebhookReceiver();
    const exempt = await setup({ environment: { OUTBOUND_ALLOW_PORTS: String(receiver.port) } });
    const widened = {
      exceptions: parseOutboundExceptions({ allowCidrs: ['127.0.0.0/8'], allowPorts: String(receiver.port) }),
      ownHosts: [],
    };
    const exemptDeps = { sql: exempt.sql, clock: exempt.clock, by: exempt.by, seal: createSeal(exempt.masterKey) };
    const target = { appId: exempt.app.id, endpoint: receiver.endpoint, events: [] };
    const { id } = await createWebhook(exemptDeps, widened, target);
    const stored = await findWebhook(exempt.sql, id);
    if (!stored) throw new Error('the webhook is gone');
    const { http } = exempt.service.webhooks;
    expect(await testWebhook({ ...exemptDeps, http, rules: widened }, stored)).toMatchObject({ status_code: 200 });
    expect(hosts()).toEqual(['localhost']);
  });
});
