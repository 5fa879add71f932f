// a database that is unreachable for longer than a lease makes no process repeat a push.
// Outcomes wait in memory until they are written or the fence refuses them. Owners come before
// processes that would take over, and a lost batch is dropped at once. The database and the
// processes use the test's clock.

import type { Sql } from '@carillon/postgres';
import { afterEach, describe, expect, it } from 'vitest';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import type { FaultProxy } from '../../../rig/src/fault-proxy.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { createFairSlots } from '../../src/ground/pacing/fair-slots.ts';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { type ClaimedBatch, leaseMs, renewEveryMs } from '../../src/sending/delivery/batch.ts';
import { createLeases, type Lease } from '../../src/sending/delivery/leases.ts';
import { createOutcomeBacklog, type Unwritten } from '../../src/sending/delivery/outcome-backlog.ts';
import { pushQueue, type Queue, type QueueDeps } from '../../src/sending/delivery/push-queue.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { createRecorder } from '../../src/sending/delivery/record-outcomes.ts';
import { runBatch, runBatches } from '../../src/sending/delivery/run-batch.ts';
import { listTargets } from '../../src/sending/delivery/targets.ts';
import { accept, type TestPushService } from '../push-service.ts';
import { type Bundle, setup } from '../setup.ts';
import { holdAt, setUpHeld, until } from './held.ts';

const content = { title: 'An outage repeats nothing' };
/** More than the accepting process works itself. */
const devices = 120;
const outageMs = 60_000;

afterEach(() => armFailpoints(() => undefined)());

async function send(t: Bundle, count = devices): Promise<string> {
  await t.registerMany(count);
  return (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;
}

async function claim(t: Bundle): Promise<ClaimedBatch> {
  const batch = await claimNextBatch(t.sql, t.clock, nilUuid, mintUuid(t.clock.nowMs()));
  if (!batch) throw new Error('nothing to claim');
  return batch;
}

const giveToAnother = (t: Bundle, batch: ClaimedBatch) =>
  t.sql`UPDATE batches SET claim_id = ${mintUuid()} WHERE id = ${batch.id}`;

/** Dead connections are found soon, so that tests are quick. */
const impatient = { shortMs: 800, answers: { graceMs: 400, promptMs: 800, silentMs: 500 } };

/** Two processes of one service, which reach the database through the same proxy. */
async function setUpTwo() {
  const proxied: { proxy?: FaultProxy; url?: string } = {};
  const options = {
    workers: false,
    environment: { SEND_WAIT_MS: '0' },
    databaseLimits: impatient,
    async reachDatabase(url: string) {
      if (proxied.url === undefined) {
        const { proxy, url: byProxy } = await startDatabaseProxy(url);
        Object.assign(proxied, { proxy, url: byProxy });
        whenDone(() => proxy.close());
      }
      return proxied.url ?? url;
    },
  };
  const one = await setup(options);
  const other = await setup({ ...options, database: { url: one.databaseUrl, sql: one.sql } });
  if (!proxied.proxy) throw new Error('the service went another way');
  return { one, other, proxy: proxied.proxy };
}

/** Holds every answer of a push service until they are released. */
function holdAnswers(push: TestPushService): { letGo(): void } {
  const held: (() => void)[] = [];
  let isOpen = false;
  push.scriptAll((request, response, count) => {
    if (isOpen) accept(request, response, count);
    else held.push(() => accept(request, response, count));
  });
  return {
    letGo() {
      isOpen = true;
      for (const answer of held) answer();
    },
  };
}

describe('R-97 while the database is out of reach for longer than a lease', () => {
  it.each<[string, (proxy: FaultProxy) => void]>([
    [
      'nobody listens there',
      (proxy) => {
        proxy.set({ isRefusing: true });
        proxy.reset();
      },
    ],
    ['everything that is said to it is lost', (proxy) => proxy.set({ isSilent: true })],
  ])('%s: the pushing process records its outcomes afterwards, and no device is pushed to twice', async (_how, cut) => {
    const { one, other, proxy } = await setUpTwo();
    const answers = [one, other].map(({ push }) => holdAnswers(push));
    const id = await send(one);
    // After the first seconds of a process, in which it takes over nothing.
    for (const { clock } of [one, other]) clock.advance(leaseMs);
    const workers = [one, other].map(({ service }) => service.startWorkers());
    const asked = () => [...one.push.requests, ...other.push.requests];
    await until(async () => asked().length === devices);

    cut(proxy);
    // Every process queries the database at least once a second.
    await until(async () => [one, other].every(({ service }) => !service.run.outages.mayTakeOver()));
    for (const { letGo } of answers) letGo();
    for (const { clock } of [one, other]) clock.advance(outageMs);
    proxy.set({});
    await until(async () => (await one.sql`SELECT 1 FROM messages WHERE status = 'sent'`).length === 1);

    expect(asked()).toHaveLength(devices);
    expect(new Set(asked().map(({ token }) => token)).size).toBe(devices);
    expect(await one.sql`SELECT state, sent FROM batches`).toEqual([{ state: 'done', sent: devices }]);
    for (const each of workers) await each.idle();
    const { body } = await one.server.get(`/v1/messages/${id}`);
    expect(body).toMatchObject({
      report: { accepted: devices, sent: devices, failed: 0, skipped: 0 },
      error_counts: {},
    });
  });
});

describe('R-97 an outcome', () => {
  const lost = () => Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' });

  /** A pool that refuses its first transactions. */
  function refusingFirst(sql: Sql, count: number, onRefusal: () => void): Sql {
    let begun = 0;
    return new Proxy(sql, {
      get(target, name) {
        if (name !== 'begin' || ++begun > count) return Reflect.get(target, name);
        return () => {
          onRefusal();
          return Promise.reject(lost());
        };
      },
    });
  }

  async function record(t: Bundle, batch: ClaimedBatch, sql: Sql): Promise<{ isWritten: boolean; lease: Lease }> {
    const { run } = t.service;
    const lease = run.leases.hold(batch, t.clock.steadyMs());
    const recorder = createRecorder({ ...run, sql }, batch, lease);
    for (const target of await listTargets(t.sql, batch.appId, batch.deviceIds, []))
      await recorder.add(target, 'webpush', [], { kind: 'failed', code: 'payload_too_large', credentialId: 1 });
    return { isWritten: await recorder.close(), lease };
  }

  it('is written however old its lease is, as long as no other process has the claim', async () => {
    const t = await setUpHeld();
    await send(t);
    const batch = await claim(t);
    const sql = refusingFirst(t.service.run.sql, 2, () => t.clock.advance(outageMs));
    const { isWritten, lease } = await record(t, batch, sql);
    expect(isWritten).toBe(true);
    expect(lease.isOver()).toBe(false);
    expect(await t.sql`SELECT state, failed FROM batches`).toEqual([{ state: 'done', failed: devices }]);
  });

  it('that the fence refuses ends the lease of its batch in the same turn', async () => {
    const t = await setUpHeld();
    await send(t);
    const batch = await claim(t);
    await giveToAnother(t, batch);
    const { isWritten, lease } = await record(t, batch, t.service.run.sql);
    expect(isWritten).toBe(false);
    expect(lease.isOver()).toBe(true);
    expect(await t.sql`SELECT 1 FROM deliveries`).toHaveLength(0);
  });

  it('has room to wait, and while there is no room nothing is pushed', async () => {
    const t = await setUpHeld();
    await send(t);
    const [max, slotsMax] = [20, 10];
    let [count, most] = [0, 0];
    const bounded = createOutcomeBacklog(max);
    const backlog = {
      ...bounded,
      begin(sinceMs: number): Unwritten {
        const unwritten = bounded.begin(sinceMs);
        let own = 0;
        return {
          sinceMs,
          add() {
            own++;
            most = Math.max(most, ++count);
            unwritten.add();
          },
          end() {
            count -= own;
            unwritten.end();
          },
        };
      },
    };
    const slots = createFairSlots({ slotsMax: 2 * slotsMax, perFree: 1 });
    const run = { ...t.service.run, backlog, slots };
    expect(await runBatch(run, await claim(t), t.clock.steadyMs(), () => false)).toEqual({ kind: 'done' });
    expect(most).toBeGreaterThanOrEqual(max);
    // The pushes that were in flight when it was full.
    expect(most).toBeLessThanOrEqual(max + slotsMax);
    expect(count).toBe(0);
    expect(t.push.requests).toHaveLength(devices);
  });
});

describe('R-97 a batch whose lease is lost', () => {
  const never = new Promise<void>(() => undefined);
  const waits: [string, Partial<Queue>, Partial<QueueDeps>][] = [
    ['a place among the pushes of this process', {}, { slots: { take: () => never, give: () => undefined } }],
    ['the commit of what was pushed before', { untilSafe: () => never }, {}],
    [
      'a token in the rate of its message',
      { pace: { take: () => undefined, isLate: () => true, ask: () => never } } as unknown as Partial<Queue>,
      {},
    ],
  ];

  it.each(waits)('is dropped by a queue that waits for %s', async (_what, ofQueue, ofDeps) => {
    const t = await setUpHeld();
    await send(t);
    const batch = await claim(t);
    const { run } = t.service;
    const lease = run.leases.hold(batch, t.clock.steadyMs());
    const [target] = await listTargets(t.sql, batch.appId, batch.deviceIds, []);
    if (!target) throw new Error('nobody to push to');
    const route = { credential: {}, lane: 'lane', windowEndsAtMs: Number.POSITIVE_INFINITY };
    const queue = {
      context: { batch, content: { ttlSeconds: { webpush: 3600 } }, routes: () => route },
      watch: { isCanceled: () => false },
      isStopping: () => lease.isOver(),
      onOver: (hear: () => void) => lease.onOver(hear),
      attemptsOf: () => [],
      pace: null,
      turnEndsAtMs: Number.POSITIVE_INFINITY,
      lookAgainAt: () => undefined,
      untilSafe: () => undefined,
      settle: () => undefined,
      ...ofQueue,
    } as unknown as Queue;
    const running = pushQueue({ ...run, ...ofDeps }, queue, [target]);
    lease.end();
    await running;
  });

  it('returns the place of its later turn', async () => {
    const t = await setUpHeld();
    await send(t);
    const slots = createFairSlots({ slotsMax: 2, perFree: 1 });
    const taken = slots.take(t.app.id);
    expect(taken).toBeUndefined();
    const batch = await claim(t);
    const running = runBatch({ ...t.service.run, slots }, batch, t.clock.steadyMs(), () => false);
    await until(
      async () => (await t.sql`SELECT 1 FROM pg_stat_activity WHERE query LIKE '%json_agg(d.id)%'`).length > 0,
    );
    await giveToAnother(t, batch);
    t.clock.advance(renewEveryMs);
    expect(await running).toEqual({ kind: 'lost' });
    expect(t.push.requests).toHaveLength(0);
    slots.give(t.app.id);
    await Promise.resolve();
    expect(slots.take(t.app.id)).toBeUndefined();
  });

  it("is detected by a renewal, which ends its pushes while the process's other batches go on", async () => {
    const t = await setUpHeld();
    await send(t);
    const [lost, other] = [await claim(t), { id: mintUuid(), claimId: mintUuid() }];
    const leases = createLeases({ ...t.service.run, sql: t.sql });
    whenDone(async () => leases.stop());
    const lease = leases.hold(lost, t.clock.steadyMs());
    await giveToAnother(t, lost);
    await t.sql`
      INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, claim_id, claims)
      SELECT ${other.id}, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, ${other.claimId}, 1
      FROM batches`;
    const kept = leases.hold(other, t.clock.steadyMs());
    t.clock.advance(renewEveryMs);
    await new Promise<void>((resolve) => lease.onOver(resolve));
    expect(kept.isOver()).toBe(false);
    expect(kept.mayPush()).toBe(true);
  });
});

describe('R-97 batches under one claim', () => {
  it('all keep their leases while the first of them is worked', async () => {
    const t = await setUpHeld();
    await send(t);
    const first = await claim(t);
    const second = { ...first, id: mintUuid(t.clock.nowMs()) };
    await t.sql`
      INSERT INTO batches SELECT (jsonb_populate_record(b, jsonb_build_object(
        'id', ${second.id}::uuid, 'size', 60, 'device_ids', b.device_ids[61:]))).* FROM batches b`;
    await t.sql`UPDATE batches SET size = 60, device_ids = device_ids[:60] WHERE id = ${first.id}`;
    const [ofFirst, ofSecond] = [first.deviceIds.slice(0, 60), first.deviceIds.slice(60)];
    const flush = holdAt('outcomes.before_commit', 1);
    const batches = [
      { ...first, deviceIds: ofFirst },
      { ...second, deviceIds: ofSecond },
    ];
    const running = runBatches(t.service.run, batches, t.clock.steadyMs(), () => false);
    await flush.held;
    t.clock.advance(renewEveryMs + 1000);
    const isKept = async (): Promise<boolean> => {
      const kept = await t.sql`
        SELECT 1 FROM batches WHERE id = ${second.id}
          AND available_at > ${t.clock.now} + ${leaseMs - renewEveryMs}::float8 * interval '1 millisecond'`;
      return kept.length === 1;
    };
    await until(isKept);
    flush.letGo();
    await running;
    expect(await t.sql`SELECT state, claims FROM batches`).toEqual([
      { state: 'done', claims: 1 },
      { state: 'done', claims: 1 },
    ]);
    expect(t.push.requests).toHaveLength(devices);
  });
});
