// An app with a webhook and its receiver, on a running service.

import { parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import type { Uuid } from '../../src/ground/values/ids.ts';
import { createWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { findWebhook, type StoredWebhook } from '../../src/sending/webhooks/queries.ts';
import { type Bundle, type Client, type SetupOptions, setup, type TestApp } from '../setup.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../webhook-receiver.ts';

export interface Shop {
  readonly app: TestApp;
  readonly server: Client;
  readonly receiver: WebhookReceiver;
  readonly id: Uuid;
  readonly secret: string;
  hook(): Promise<StoredWebhook>;
  /** Sends one message to this many new browsers and returns its id. */
  send(devices: number, more?: Record<string, unknown>): Promise<string>;
  /** Rows that wait in the outbox. */
  waiting(): Promise<number>;
}

/** A service whose webhooks reach receivers on this machine and do not pause after a failure. */
export function setupWebhooks(options: Pick<SetupOptions, 'database'> = {}): Promise<Bundle> {
  const environment = { OUTBOUND_ALLOW_PORTS: '1024-65535', WEBHOOK_FAILURE_PAUSE_MAX_MS: '0' };
  return setup({ ...options, environment });
}

const local = { allowCidrs: ['127.0.0.0/8'], allowPorts: '1024-65535', resolve: '', ca: undefined };

/** `app`: an existing app, to give it a second webhook. */
export async function openShop(t: Bundle, events: readonly string[] = [], app?: TestApp): Promise<Shop> {
  const owner = app ?? (await t.newApp());
  const server = t.clientOf(owner.serverKey);
  const receiver = await startWebhookReceiver();
  const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
  const rules = { exceptions: parseOutboundExceptions(local), ownHosts: [] };
  const made = await createWebhook(deps, rules, { appId: owner.id, endpoint: receiver.endpoint, events });
  return {
    app: owner,
    server,
    receiver,
    ...made,
    async hook() {
      const found = await findWebhook(t.sql, made.id);
      if (!found) throw new Error('the webhook is gone');
      return found;
    },
    async send(devices, more = {}) {
      const ids = await Promise.all(Array.from({ length: devices }, () => t.registerDevice({}, owner)));
      const content = { title: 'Sale', url: 'https://shop.example/' };
      return (await server.post('/v1/messages', { audience: { device_ids: ids }, content, ...more })).body.id;
    },
    async waiting() {
      return (await t.sql`SELECT count(*) AS count FROM webhook_events WHERE webhook_id = ${made.id}`)[0]?.['count'];
    },
  };
}
