// Fills two apps with finished messages, in the state that the service leaves: a large one to two
// channels, the same message as a version that noted no kinds wrote it, and a small one of a
// neighbour.

import type { Sql } from '@carillon/postgres';
import { progress } from '../../rig/src/workbench.ts';
import type { Clock } from '../../server/src/ground/database/clock.ts';
import { encodeId, mintUuid, type Uuid } from '../../server/src/ground/values/ids.ts';
import { channelNumber, errorNumber, statusNumber } from '../../server/src/sending/delivery/delivery.ts';
import { kindsOf } from '../../server/src/sending/delivery/delivery-kinds.ts';
import { createApp } from '../../server/src/teams/apps/create-app.ts';
import { serviceActor } from '../../server/src/teams/audit/actor.ts';

const batchSize = 1_000;

export interface TimelineWorld {
  readonly serverKey: string;
  readonly neighbourKey: string;
  /**
   * A message to Android and web, in turns batch by batch. Every Android batch has a device that is
   * gone; one web batch has one that timed out.
   */
  readonly great: string;
  /** The same message without noted kinds. */
  readonly unnoted: string;
  readonly small: string;
}

export async function makeTimelineWorld(sql: Sql, clock: Clock, devices: number): Promise<TimelineWorld> {
  const make = (name: string) => createApp({ sql, clock, by: serviceActor('bench') }, { name, plan: 'unlimited' });
  const app = await make('Benchmark');
  const neighbour = await make('Neighbour');
  const message = (appId: Uuid, size: number, isNoted: boolean) =>
    makeMessage(sql, { appId, devices: size, isNoted, clock });
  const world = {
    serverKey: app.serverKey,
    neighbourKey: neighbour.serverKey,
    great: await message(app.id, devices, true),
    unnoted: await message(app.id, devices, false),
    small: await message(neighbour.id, 2 * batchSize, true),
  };
  await sql`VACUUM (ANALYZE) deliveries, batches, messages`;
  progress(`two messages to ${devices} devices`);
  return world;
}

interface NewMessage {
  readonly appId: Uuid;
  readonly devices: number;
  readonly isNoted: boolean;
  readonly clock: Clock;
}

async function makeMessage(sql: Sql, { appId, devices, isNoted, clock }: NewMessage): Promise<string> {
  const id = mintUuid(clock.nowMs());
  const batches = Math.ceil(devices / batchSize);
  const of = { fcm: { sent: 0, failed: 0 }, webpush: { sent: 0, failed: 0 } };
  const batchIds: Uuid[] = [];
  for (let i = 0; i < batches; i++) {
    const batchId = mintUuid(clock.nowMs());
    batchIds.push(batchId);
    const channel = i % 2 === 0 ? 'fcm' : 'webpush';
    const code = channel === 'fcm' ? 'unregistered' : 'timeout';
    const failed = channel === 'fcm' || i === 1 ? 1 : 0;
    of[channel].sent += batchSize - failed;
    of[channel].failed += failed;
    const kinds = kindsOf([
      { channel, final: 'sent', code: null },
      ...(failed > 0 ? [{ channel, final: 'failed', code } as const] : []),
    ]);
    await sql`
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, finished_at,
        sent, failed, kinds, kinds_noted)
      VALUES (${batchId}, ${appId}, ${id}, '{}', ${batchSize}, 'done', now(), now(), now(), now(), now(), ${batchSize - failed},
        ${failed}, ${isNoted ? kinds : '0'}::bigint, ${isNoted ? batchSize : 0})`;
    await sql`
      INSERT INTO deliveries (batch_id, device_id, channel, status, error_code, attempts, done_at, latency_ms)
      SELECT ${batchId}, md5(${batchId} || n)::uuid, ${channelNumber(channel)},
        CASE WHEN n <= ${failed} THEN ${statusNumber('failed')} ELSE ${statusNumber('sent')} END::smallint,
        CASE WHEN n <= ${failed} THEN ${errorNumber(code)} END::smallint, 1, now(), 20
      FROM generate_series(1, ${batchSize}::int) AS n ORDER BY 2`;
  }
  const errorCounts = { unregistered: of.fcm.failed, timeout: of.webpush.failed };
  await sql`
    INSERT INTO messages (app_id, id, fingerprint, status, created_by, audience, content, created_at, started_at, finished_at, expires_at,
      first_batch_id, last_batch_id, fcm_accepted, fcm_sent, fcm_failed, webpush_accepted, webpush_sent, webpush_failed, error_counts)
    VALUES (${appId}, ${id}, ${Buffer.alloc(1)}, 'sent', '{}', '{"all":true}', '{}', now(), now(), now(), now(), ${batchIds[0] ?? null},
      ${batchIds.at(-1) ?? null}, ${of.fcm.sent + of.fcm.failed}, ${of.fcm.sent}, ${of.fcm.failed},
      ${of.webpush.sent + of.webpush.failed}, ${of.webpush.sent}, ${of.webpush.failed}, ${sql.json(errorCounts)})`;
  return encodeId('msg', id);
}
