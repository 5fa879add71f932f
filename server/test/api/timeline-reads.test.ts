import { type Sql, transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { channelNumber, errorNumber, statusNumber } from '../../src/sending/delivery/delivery.ts';
import { kindsOf } from '../../src/sending/delivery/delivery-kinds.ts';
import { listMessageDeliveries, rowsReadMax } from '../../src/sending/delivery/list-timeline.ts';
import { listLockWaits, untilLockWaits } from '../lock-waits.ts';
import { rowsReadBy } from '../rows-read.ts';
import { setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ environment: { SEND_WAIT_MS: '1000' } });
const content = { title: 'Sale' };
const batchSize = 1_000;
const batchesMany = 25;

/** A failure in the large message. The last `count` deliveries of each batch have this code. */
interface Failed {
  readonly code: 'expired' | 'unregistered';
  readonly count: number;
}

interface GreatMessage {
  readonly id: string;
  readonly uuid: Uuid;
  readonly batchIds: readonly Uuid[];
}

/**
 * Stores a finished message with 25,000 deliveries, all sent except the given failures. `isNoted`:
 * the batches have noted their kinds.
 */
async function finishGreatMessage(
  app: TestApp,
  { isNoted, failedOf }: { isNoted: boolean; failedOf: (batch: number) => Failed | undefined },
): Promise<GreatMessage> {
  const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
  const uuid = decodeId('msg', body.id) ?? '';
  const batchIds: Uuid[] = [];
  const byCode: Record<string, number> = {};
  let failures = 0;
  for (let i = 0; i < batchesMany; i++) {
    const id = mintUuid(t.clock.nowMs());
    batchIds.push(id);
    const failed = failedOf(i);
    const failedCount = failed?.count ?? 0;
    failures += failedCount;
    if (failed) byCode[failed.code] = (byCode[failed.code] ?? 0) + failed.count;
    const kinds = kindsOf([
      { channel: 'fcm', final: 'sent', code: null },
      ...(failed ? [{ channel: 'fcm' as const, final: 'failed' as const, code: failed.code }] : []),
    ]);
    await t.sql`
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, finished_at,
        sent, failed, kinds, kinds_noted)
      VALUES (${id}, ${app.id}, ${uuid}, '{}', ${batchSize}, 'done', now(), now(), now(), now(), now(), ${batchSize - failedCount},
        ${failedCount}, ${isNoted ? kinds : '0'}::bigint, ${isNoted ? batchSize : 0})`;
    await t.sql`
      INSERT INTO deliveries (batch_id, device_id, channel, status, error_code, attempts, done_at, latency_ms)
      SELECT ${id}, md5(${id} || n)::uuid, ${channelNumber('fcm')},
        CASE WHEN n > ${batchSize - failedCount} THEN ${statusNumber('failed')} ELSE ${statusNumber('sent')} END::smallint,
        CASE WHEN n > ${batchSize - failedCount} THEN ${errorNumber(failed?.code ?? 'timeout')} END::smallint, 1, now(), 10
      FROM generate_series(1, ${batchSize}::int) AS n`;
  }
  await t.sql`
    UPDATE messages SET fcm_accepted = ${batchesMany * batchSize}, fcm_sent = ${batchesMany * batchSize - failures},
      fcm_failed = ${failures}, error_counts = ${t.sql.json(byCode)}, first_batch_id = ${batchIds[0] ?? null},
      last_batch_id = ${batchIds.at(-1) ?? null}
    WHERE id = ${uuid}`;
  await t.sql`ANALYZE deliveries, batches`;
  return { id: body.id, uuid, batchIds };
}

/** How many rows of `deliveries` some work reads. */
async function deliveriesReadBy(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  const read = await rowsReadBy(t.sql, (tx) => work(tx as Sql));
  return [...read].reduce((sum, [table, rows]) => sum + (table.startsWith('deliveries') ? rows : 0), 0);
}

/** All pages of a walk. */
async function walk(app: TestApp, path: string): Promise<{ pages: number; devices: string[] }> {
  const devices: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { status, body } = await t
      .clientOf(app.serverKey)
      .get(`${path}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`);
    expect(status).toBe(200);
    expect(body.has_more).toBe(body.next_cursor !== null);
    devices.push(...body.data.map((one: { device_id: string }) => one.device_id));
    cursor = body.next_cursor;
    pages++;
  } while (cursor !== null);
  return { pages, devices };
}

const kindOf = (code: string | null) => ({ status: null, channel: null, code });

describe('a filter of the timeline', () => {
  it('for a rare code reads only the batches that contain it', async () => {
    const app = await t.newApp();
    const message = await finishGreatMessage(app, {
      isNoted: true,
      failedOf: (batch) => (batch === 17 ? { code: 'expired', count: 3 } : { code: 'unregistered', count: 1 }),
    });
    let found = 0;
    const rows = await deliveriesReadBy(async (sql) => {
      const filters = { kind: kindOf('expired'), deviceId: null };
      const { placed, stoppedBefore } = await listMessageDeliveries(
        { sql },
        message.uuid,
        filters,
        null,
        51,
        rowsReadMax,
      );
      expect(new Set(placed.map(({ batch }) => batch.id))).toEqual(new Set([message.batchIds[17]]));
      expect(stoppedBefore).toBeNull();
      found = placed.length;
    });
    expect(found).toBe(3);
    expect(rows).toBeLessThanOrEqual(batchSize);
    expect(await walk(app, `/v1/messages/${message.id}/deliveries?error_code=expired`)).toMatchObject({ pages: 1 });
  });

  it("is answered from the message's own numbers when they are zero", async () => {
    const app = await t.newApp();
    const message = await finishGreatMessage(app, { isNoted: false, failedOf: () => undefined });
    const server = t.clientOf(app.serverKey);
    await transaction(t.sql, async (tx) => {
      // Any read of a delivery now waits for the end of this transaction.
      await tx`LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE`;
      for (const filter of [
        'error_code=timeout',
        'status=failed',
        'status=retrying',
        'channel=apns',
        'channel=fcm&status=skipped',
      ]) {
        const { status, body } = await server.get(`/v1/messages/${message.id}/deliveries?${filter}`);
        expect({ status, data: body.data, has_more: body.has_more, next_cursor: body.next_cursor }).toEqual({
          status: 200,
          data: [],
          has_more: false,
          next_cursor: null,
        });
      }
    });
  });

  it('stops after its budget of rows when batches have noted no kinds, and its cursor continues to the end', async () => {
    const app = await t.newApp();
    const message = await finishGreatMessage(app, {
      isNoted: false,
      failedOf: (batch) => (batch === 24 ? { code: 'expired', count: 2 } : { code: 'unregistered', count: 1 }),
    });
    const filters = { kind: kindOf('expired'), deviceId: null };
    const rows = await deliveriesReadBy(async (sql) => {
      const { placed, stoppedBefore } = await listMessageDeliveries(
        { sql },
        message.uuid,
        filters,
        null,
        51,
        rowsReadMax,
      );
      expect(placed).toEqual([]);
      expect(stoppedBefore).toBe(message.batchIds[rowsReadMax / batchSize]);
    });
    expect(rows).toBeLessThanOrEqual(rowsReadMax);
    const { pages, devices } = await walk(app, `/v1/messages/${message.id}/deliveries?error_code=expired`);
    expect([pages, new Set(devices).size, devices.length]).toEqual([3, 2, 2]);
  });

  it('shows each delivery once, wherever its budget and its pages end', async () => {
    const app = await t.newApp();
    const message = await finishGreatMessage(app, {
      isNoted: false,
      failedOf: (batch) => ({ code: batch % 5 === 0 ? 'expired' : 'unregistered', count: 7 }),
    });
    const path = `/v1/messages/${message.id}/deliveries`;
    const few = await walk(app, `${path}?error_code=expired&limit=3`);
    const many = await walk(app, `${path}?error_code=expired&limit=500`);
    expect(few.devices).toEqual(many.devices);
    expect(new Set(few.devices).size).toBe(5 * 7);
  });

  it('for a device is one look-up in each batch', async () => {
    const app = await t.newApp();
    const message = await finishGreatMessage(app, { isNoted: true, failedOf: () => undefined });
    const deviceId = decodeId('dev', unknownId('dev')) ?? '';
    const rows = await deliveriesReadBy(async (sql) => {
      const filters = { kind: kindOf(null), deviceId };
      const part = await listMessageDeliveries({ sql }, message.uuid, filters, null, 51, rowsReadMax);
      expect(part).toEqual({ placed: [], stoppedBefore: null });
    });
    expect(rows).toBe(0);
  });

  it('finds deliveries that wait for a retry, which no noted kind shows', async () => {
    const app = await t.newApp();
    t.push.script('busy', (_request, response) => response.writeHead(503, { 'retry-after': '600' }).end());
    const server = t.clientOf(app.serverKey);
    const busy = await t.registerDevice({ token: t.pushSubscription('busy') }, app);
    await t.registerDevice({}, app);
    // The request waits for an end that does not come: the batch is handed back with one open
    // delivery.
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content });
    const path = `/v1/messages/${body.id}/deliveries`;
    for (const filter of ['status=retrying', 'error_code=provider_unavailable'])
      expect((await walk(app, `${path}?${filter}`)).devices).toEqual([busy]);
    expect((await walk(app, `${path}?status=failed`)).devices).toEqual([]);
  });
});

it('a batch notes exactly the kinds of its recorded deliveries', async () => {
  const app = await t.newApp();
  t.push.script('gone', (_request, response) => response.writeHead(410).end());
  for (const token of ['gone', 'fine-1', 'fine-2']) await t.registerDevice({ token: t.pushSubscription(token) }, app);
  await t.registerDevice({ platform: 'ios', token: 'cd'.repeat(32) }, app);
  const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
  const [batch] = await t.sql<{ kinds: string; kindsNoted: number; state: string }[]>`
    SELECT kinds::text, kinds_noted, state FROM batches WHERE message_id = ${decodeId('msg', body.id) ?? ''}`;
  expect(batch).toEqual({
    state: 'done',
    kindsNoted: 4,
    kinds: kindsOf([
      { channel: 'webpush', final: 'sent', code: null },
      { channel: 'webpush', final: 'failed', code: 'unregistered' },
      { channel: 'apns', final: 'skipped', code: 'not_configured' },
    ]),
  });
});

describe('R-62 reads of one app', () => {
  it("that are slow, twenty at once, do not delay another app's reads", async () => {
    const greedy = await t.newApp();
    const message = await finishGreatMessage(greedy, {
      isNoted: false,
      failedOf: () => ({ code: 'expired', count: 1 }),
    });
    const other = await t.newApp();
    const server = t.clientOf(other.serverKey);
    await t.registerDevice({}, other);
    const { body: sent } = await server.post('/v1/messages', { audience: { all: true }, content });
    const reads = { name: 'carillon reads' };
    let costly: Promise<{ status: number }[]> = Promise.resolve([]);
    await transaction(t.sql, async (tx) => {
      // Every read of a delivery waits while this lock is held.
      await tx`LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE`;
      const reader = t.clientOf(greedy.serverKey);
      costly = Promise.all(
        Array.from({ length: 20 }, () => reader.get(`/v1/messages/${message.id}/deliveries?error_code=expired`)),
      );
      await untilLockWaits(t.sql, 2, reads);
      const answers = await Promise.all(
        [`/v1/messages/${sent.id}`, '/v1/messages', '/v1/devices', '/v1/properties', '/v1/segments'].map(server.get),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(await listLockWaits(t.sql, reads)).toHaveLength(2);
    });
    expect((await costly).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  });
});
