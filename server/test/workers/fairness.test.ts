import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createFairSlots } from '../../src/ground/pacing/fair-slots.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import type { Pace } from '../../src/sending/delivery/pace.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { type RunDeps, runBatch } from '../../src/sending/delivery/run-batch.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { accept } from '../push-service.ts';
import { type Bundle, type Response, setup } from '../setup.ts';

const firstApp = '00000000-0000-0000-0000-000000000000';
const content = { title: 'Sale' };

/**
 * Queues a message that no process works yet: more devices than its accepting process takes,
 * without workers.
 */
async function queueMessage(t: Bundle, devices: number, app = t.app) {
  await t.registerMany(devices, app);
  const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
  return body.id as string;
}

async function untilSent(t: Bundle, app: Bundle['app'], message: string): Promise<void> {
  const client = t.clientOf(app.serverKey);
  for (;;) if ((await client.get(`/v1/messages/${message}`)).body.status === 'sent') return;
}

describe('R-62 an app whose pushes get no answer', () => {
  it("leaves slots and turns for another app's message, in the same process", async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void open.push(() => accept(request, response, count)));
    const stuck = await queueMessage(t, 3100);
    t.service.startWorkers();
    await t.push.waitForCount(200);
    t.push.scriptAll(accept);
    const other = await t.newApp();
    const small = await queueMessage(t, 60, other);
    await untilSent(t, other, small);
    // No push of the first app has ended, and it has no more in flight than its share.
    expect(open).toHaveLength(200);
    expect(t.push.requests).toHaveLength(260);
    for (const answer of open) answer();
    await untilSent(t, t.app, stuck);
  });

  it('is skipped by claims when it has all the turns it may have', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const other = await t.newApp();
    await queueMessage(t, 60, other);
    const claim = (except: readonly string[]) => claimNextBatch(t.sql, t.clock, firstApp, mintUuid(), except);
    expect(await claim([t.app.id, other.id])).toBeUndefined();
    expect(await claim([t.app.id])).toMatchObject({ appId: other.id });
    expect(await claim([other.id])).toMatchObject({ appId: t.app.id });
  });
});

describe('R-62 an app whose audiences take long to resolve', () => {
  it("leaves a connection for another app's send to everybody", async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: 'pro' } });
    const message = { audience: { all: true }, content };
    await queueMessage(t, 60);
    const other = await t.newApp();
    await t.registerMany(60, other);
    let held: Promise<Response>[] = [];
    await transaction(t.sql, async (tx) => {
      // The app's sends stand at the end of their transactions and hold their connections.
      await tx`SELECT 1 FROM usage WHERE app_id = ${t.app.id} FOR UPDATE`;
      held = Array.from({ length: 6 }, () => t.server.post('/v1/messages', message));
      await untilLockWaits(t.sql, 2, { name: 'carillon long' });
      const { status } = await t.clientOf(other.serverKey).post('/v1/messages', message);
      expect(status).toBe(200);
    });
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
  });
});

describe('a provider that asks for a slow start', () => {
  const hourMs = 3_600_000;
  /** The service's own dependencies, with one slot in all and a pace for one app's pushes. */
  function paced(t: Bundle, pace: Pace): RunDeps {
    const { run } = t.service;
    const { webpush } = run.senders;
    if (!webpush) throw new Error('no web push');
    return {
      ...run,
      slots: createFairSlots({ slotsMax: 1, perFree: 1 }),
      senders: {
        webpush: {
          ...webpush,
          read(stored) {
            const read = webpush.read(stored);
            return read && stored.public['publicKey'] === t.app.vapidPublicKey ? { ...read, pace } : read;
          },
        },
      },
    };
  }

  it('holds no slot during its wait, and a stop does not wait for it: open deliveries are handed back', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await queueMessage(t, 60);
    const other = await t.newApp();
    await queueMessage(t, 60, other);
    const slow = await claimNextBatch(t.sql, t.clock, firstApp, mintUuid(), [other.id]);
    const quick = await claimNextBatch(t.sql, t.clock, firstApp, mintUuid());
    if (!slow || !quick) throw new Error('nothing claimed');
    let isStopping = false;
    let isWaiting = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      isWaiting = resolve;
    });
    let taken = 0;
    const deps = paced(t, {
      take: () => (taken++ < 5 ? t.clock.steadyMs() : undefined),
      isLate: () => false,
      ask: async () => {
        isWaiting();
        return t.clock.steadyMs() + hourMs;
      },
    });
    const running = runBatch(deps, slow, t.clock.steadyMs(), () => isStopping);
    await waits;
    expect(await runBatch(deps, quick, t.clock.steadyMs(), () => false)).toMatchObject({ kind: 'done' });
    isStopping = true;
    expect(await running).toMatchObject({ kind: 'waiting' });
    const [row] = await t.sql`SELECT state, sent, claims FROM batches WHERE id = ${slow.id}`;
    expect(row).toEqual({ state: 'waiting', sent: 5, claims: 0 });
  });
});
