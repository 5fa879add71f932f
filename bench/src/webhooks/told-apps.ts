// Makes apps with a webhook each, as the command line does but without a process for each, and
// fills their outboxes.

import type { Sql } from '@carillon/postgres';
import type { Service } from '../../../rig/src/service.ts';
import { createClock } from '../../../server/src/ground/database/clock.ts';
import { parseOutboundExceptions } from '../../../server/src/ground/outbound/address-guard.ts';
import { createSeal } from '../../../server/src/ground/secrets/seal.ts';
import { encodeId, type Uuid } from '../../../server/src/ground/values/ids.ts';
import { loadMasterKey } from '../../../server/src/operation/process/master-key.ts';
import { createWebhook } from '../../../server/src/sending/webhooks/manage-webhooks.ts';
import { createApp } from '../../../server/src/teams/apps/create-app.ts';
import { saveCredential } from '../../../server/src/teams/apps/credentials.ts';
import { serviceActor } from '../../../server/src/teams/audit/actor.ts';
import type { Credentials } from '../credentials.ts';
import type { OwnApp } from '../own-app.ts';

export interface ToldApp extends OwnApp {
  readonly appId: Uuid;
  readonly webhookId: Uuid;
}

export type MakeToldApp = (endpoint: string) => Promise<ToldApp>;

export async function toldAppMaker(
  sql: Sql,
  { dataDir }: Service,
  { vapid }: Credentials,
  allowPorts: string,
): Promise<MakeToldApp> {
  const { key } = await loadMasterKey({ masterKey: null, masterKeyPrevious: null, dataDir, databaseUrl: null }, true);
  const deps = { sql, clock: await createClock(sql), by: serviceActor('bench'), seal: createSeal(key) };
  const rules = { exceptions: parseOutboundExceptions({ allowCidrs: ['127.0.0.0/8'], allowPorts }), ownHosts: [] };
  return async (endpoint) => {
    const app = await createApp(deps, { name: 'Benchmark', plan: 'unlimited' });
    await saveCredential(deps, {
      appId: app.id,
      channel: 'webpush',
      secret: vapid.privateKey,
      public: { publicKey: vapid.publicKey, subject: 'mailto:ops@shop.example' },
    });
    const { id: webhookId } = await createWebhook(deps, rules, { appId: app.id, endpoint, events: [] });
    const { serverKey, clientKey } = app;
    return { id: encodeId('app', app.id), appId: app.id, webhookId, serverKey, clientKey };
  };
}

/**
 * Enables or disables a webhook. While it is disabled, its outbox fills and its endpoint gets no
 * request.
 */
export async function setEnabled(sql: Sql, { appId, webhookId }: ToldApp, isEnabled: boolean): Promise<void> {
  await sql`
    UPDATE webhooks SET state = ${isEnabled ? 'enabled' : 'disabled'}, failures = 0, in_flight_max = 10, is_probing = false,
      disabled_at = ${isEnabled ? null : new Date()}
    WHERE app_id = ${appId} AND id = ${webhookId}`;
}

/** Stores `events` events that are due, in the state that flushes leave. */
export async function fillOutbox(sql: Sql, { appId, webhookId }: ToldApp, events: number): Promise<void> {
  await sql`
    INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at)
    SELECT ${appId}, ${webhookId}, gen_random_uuid(), 0, gen_random_uuid(), gen_random_uuid(), 0, now(), now()
    FROM generate_series(1, ${events}::int)`;
}

/** Vacuums the outbox, so that no autovacuum starts during a measurement. */
export async function settleOutbox(sql: Sql): Promise<void> {
  await sql`VACUUM (ANALYZE) webhook_events, webhooks`;
  await sql`CHECKPOINT`;
}
