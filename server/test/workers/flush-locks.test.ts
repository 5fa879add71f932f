// A flush must hold no lock that other processes need while it waits for its own process. A process
// that is stopped in the middle of a flush must not keep other processes from committing their
// outcomes, because a kill would repeat those pushes. The limits on silence and on
// statements are far away here, so a wait for the held process would never end.
import { PassThrough } from 'node:stream';
import { isDatabaseDown, openPool } from '@carillon/postgres';
import { afterEach, describe, expect, it } from 'vitest';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { decodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { leaseMs } from '../../src/sending/delivery/batch.ts';
import { kindsOf } from '../../src/sending/delivery/delivery-kinds.ts';
import { advanceBatch, claimNextBatch } from '../../src/sending/delivery/queries.ts';
import type { Bundle, TestApp } from '../setup.ts';
import { holdAt, never, setUpHeld, until } from './held.ts';

const content = { title: 'Is anybody there?' };
/** More than the accepting process works itself. */
const devices = 60;

afterEach(() => armFailpoints(() => undefined)());

/** Holds the first flush before its commit, and no other, until it is released. */
const holdFirstFlush = () => holdAt('outcomes.before_commit', 1);

const send = async (t: Bundle, app: TestApp = t.app): Promise<string> =>
  (await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content })).body.id;

/** A message in two batches, as a message to more than a thousand devices has. */
async function sendInTwo(t: Bundle): Promise<string> {
  await t.registerMany(devices);
  const id = await send(t);
  const second = mintUuid(t.clock.nowMs());
  await t.sql`
    INSERT INTO batches SELECT (jsonb_populate_record(b, jsonb_build_object(
      'id', ${second}::uuid, 'size', ${devices / 2}::int, 'device_ids', b.device_ids[${devices / 2 + 1}:]))).* FROM batches b`;
  await t.sql`
    UPDATE batches SET size = ${devices / 2}, device_ids = device_ids[:${devices / 2}] WHERE id <> ${second}`;
  await t.sql`UPDATE messages SET last_batch_id = ${second}`;
  return id;
}

const countDone = async (t: Bundle): Promise<number> =>
  (await t.sql`SELECT 1 FROM batches WHERE state = 'done'`).length;

describe('R-02 while a flush is held before its commit', () => {
  it('the other batches of its message are committed, to their end', async () => {
    const t = await setUpHeld();
    const id = await sendInTwo(t);
    const { held, letGo } = holdFirstFlush();
    const workers = t.service.startWorkers();
    await held;
    await until(async () => (await countDone(t)) === 1);

    letGo();
    await workers.idle();
    const { body } = await t.server.get(`/v1/messages/${id}`);
    expect(body).toMatchObject({ status: 'sent', report: { accepted: devices, sent: devices, failed: 0, skipped: 0 } });
    expect(t.push.requests).toHaveLength(devices);
  });

  it('skipped deliveries are refunded and new messages accepted, although one row counts both', async () => {
    const t = await setUpHeld();
    const id = await sendInTwo(t);
    const { held, letGo } = holdFirstFlush();
    expect(await t.server.post(`/v1/messages/${id}/cancel`)).toMatchObject({ status: 200 });
    const workers = t.service.startWorkers();
    await held;
    await until(async () => (await countDone(t)) === 1);
    expect(await t.server.post('/v1/messages', { audience: { all: true }, content })).toMatchObject({ status: 200 });

    letGo();
    await workers.idle();
    const { body } = await t.server.get(`/v1/messages/${id}`);
    expect(body).toMatchObject({ status: 'canceled', report: { accepted: devices, skipped: devices } });
    expect(await t.sql`SELECT used FROM usage`).toEqual([{ used: devices }]);
  });
});

describe('R-04 a process that is stopped while it copies the rows of its outcomes', () => {
  it('holds its batch no longer than its lease: another process sends the rest', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    const id = await send(t);
    const batch = await claimNextBatch(
      t.sql,
      t.clock,
      '00000000-0000-0000-0000-000000000000',
      mintUuid(t.clock.nowMs()),
    );
    if (!batch) throw new Error('nothing to claim');
    // The state of the stopped connection: the fence is passed, and the announced rows do not come.
    const stopped = openPool({
      url: t.databaseUrl,
      connectionsMax: 1,
      name: 'carillon send',
      statementTimeoutMs: never,
    });
    whenDone(() => stopped.end({ timeout: 1 }));
    const ended = stopped
      .begin(async (tx) => {
        await advanceBatch(tx, t.clock, batch, { sent: 1, failed: 0, skipped: 0 }, kindsOf([]));
        // No row ever comes.
        await tx`COPY deliveries (batch_id, device_id) FROM STDIN`.copy(new PassThrough());
      })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    await until(
      async () => (await t.sql`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY deliveries%'`).length > 0,
    );

    t.clock.advance(leaseMs + 1);
    const workers = t.service.startWorkers();
    expect(isDatabaseDown(await ended)).toBe(true);
    await until(async () => {
      await workers.idle();
      return (await t.server.get(`/v1/messages/${id}`)).body.status === 'sent';
    });
    expect(t.push.requests).toHaveLength(devices);
  });
});

describe('R-02 while verdicts about credentials cannot be written', () => {
  it('all outcomes are committed, of however many batches at once', async () => {
    const t = await setUpHeld();
    const apps = [t.app, await t.newApp()];
    for (const app of apps) await t.registerMany(devices, app);
    const ids: string[] = [];
    // More concurrent batches than connections for their flushes.
    for (const app of apps) for (let count = 0; count < 4; count++) ids.push(await send(t, app));
    const way = createGate();
    const holding = t.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM credentials FOR UPDATE`;
      await way.opened;
    });
    const workers = t.service.startWorkers();
    const messageIds = ids.map((id) => decodeId('msg', id) ?? '');
    await until(
      async () => (await t.sql`SELECT 1 FROM messages WHERE id = ANY(${messageIds}) AND status = 'sent'`).length === 8,
    );

    way.open();
    await holding;
    await workers.idle();
    expect(await t.sql`SELECT 1 FROM credentials WHERE last_success_at IS NOT NULL`).toHaveLength(2);
  });
});
