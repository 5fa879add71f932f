// How long a process may work on a batch. A lease is renewed whatever else the process does. When
// it cannot be renewed, no push may be in flight any more when another process could make it. The
// database and the process use the test's clock.
import { afterEach, describe, expect, it } from 'vitest';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { type ClaimedBatch, leaseMs, pushWithinMs, renewEveryMs } from '../../src/sending/delivery/batch.ts';
import { claimNextBatch, renewClaims } from '../../src/sending/delivery/queries.ts';
import { runBatch } from '../../src/sending/delivery/run-batch.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { accept } from '../push-service.ts';
import type { Bundle } from '../setup.ts';
import { holdAt, setUpHeld, until } from './held.ts';

const content = { title: 'Are you still there?' };
/** More than the accepting process works itself. */
const devices = 60;

afterEach(() => armFailpoints(() => undefined)());

const send = async (t: Bundle): Promise<string> =>
  (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;

async function claim(t: Bundle): Promise<ClaimedBatch | undefined> {
  return claimNextBatch(t.sql, t.clock, nilUuid, mintUuid(t.clock.nowMs()));
}

async function claimOne(t: Bundle): Promise<ClaimedBatch> {
  const batch = await claim(t);
  if (!batch) throw new Error('nothing to claim');
  return batch;
}

/** For each batch whose claim still holds, by id: whether its lease was renewed. */
async function renewed(t: Bundle, ...batches: ClaimedBatch[]): Promise<Record<string, boolean>> {
  const claims = await renewClaims(t.sql, t.clock, batches);
  return Object.fromEntries(claims.map(({ id, isRenewed }) => [id, isRenewed]));
}

/** Locks a batch's row, as another transaction may for a moment. */
async function lockRow(t: Bundle, batch: ClaimedBatch): Promise<{ letGo(): Promise<void> }> {
  const [taken, way] = [createGate(), createGate()];
  const locking = t.sql.begin(async (tx) => {
    await tx`SELECT 1 FROM batches WHERE id = ${batch.id} FOR UPDATE`;
    taken.open();
    await way.opened;
  });
  await taken.opened;
  return {
    async letGo() {
      way.open();
      await locking;
    },
  };
}

describe('R-03 a lease', () => {
  it('is renewed by every flush that finds it two seconds old, without anything else', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    const batch = await claimOne(t);
    for (let flush = 0; flush < 3; flush++) {
      t.clock.advance(leaseMs - 1000);
      await t.recordSent(batch, batch.deviceIds.slice(flush * 10, (flush + 1) * 10));
    }
    t.clock.advance(leaseMs - 1000);
    expect(await claim(t)).toBeUndefined();
    t.clock.advance(2000);
    expect(await claim(t)).toMatchObject({ id: batch.id, claims: 2 });
  });

  it("is renewed while another batch's row is locked, without waiting for it", async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    await send(t);
    const [held, free] = [await claimOne(t), await claimOne(t)];
    const lock = await lockRow(t, held);
    t.clock.advance(leaseMs - 1000);
    expect(await renewed(t, held, free)).toEqual({ [held.id]: false, [free.id]: true });
    await lock.letGo();
    t.clock.advance(2000);
    // The lease of the locked batch has run out meanwhile.
    expect(await claim(t)).toMatchObject({ id: held.id, claims: 2 });
    expect(await claim(t)).toBeUndefined();
    expect(await renewed(t, held, free)).toEqual({ [free.id]: true });
  });

  it('is never shortened by a late renewal', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    const batch = await claimOne(t);
    t.clock.advance(-1000);
    expect(await renewed(t, batch)).toEqual({ [batch.id]: true });
    t.clock.advance(leaseMs);
    expect(await claim(t)).toBeUndefined();
  });

  it('that another claim has taken is not renewed by a second batch under the same claim', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    await send(t);
    const [lost, kept] = [await claimOne(t), await claimOne(t)];
    await t.sql`UPDATE batches SET claim_id = ${lost.claimId} WHERE id = ${kept.id}`;
    await t.sql`UPDATE batches SET claim_id = ${mintUuid()} WHERE id = ${lost.id}`;
    expect(await renewed(t, lost)).toEqual({});
  });

  it('of one batch is renewed however long the flush of another takes', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    await send(t);
    // One push of the first message is answered, so that its batch has an outcome to write. No push
    // of the other message is answered.
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => {
      const answer = (): void => accept(request, response, count);
      if (t.push.requests.length === 1) answer();
      else open.push(answer);
    });
    const flush = holdAt('outcomes.before_commit', 1);
    const workers = t.service.startWorkers();
    await flush.held;
    await t.push.waitForCount(2 * devices);
    t.clock.advance(renewEveryMs + 1000);
    const isRenewed = async (): Promise<boolean> => {
      const renewed = await t.sql`
        SELECT 1 FROM batches WHERE available_at > ${t.clock.now} + ${leaseMs - renewEveryMs}::float8 * interval '1 millisecond'`;
      return renewed.length === 1;
    };
    await until(isRenewed);

    t.push.scriptAll(undefined);
    flush.letGo();
    for (const answer of open) answer();
    await workers.idle();
    expect(await t.sql`SELECT 1 FROM messages WHERE status = 'sent'`).toHaveLength(2);
    expect(t.push.requests).toHaveLength(2 * devices);
  });
});

describe('R-96 a lease while each try to write its outcomes takes as long as a statement may', () => {
  it('is renewed between the tries, although each holds the row, so that no other process repeats the pushes', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    await send(t);
    const batch = await claimOne(t);
    const leftMs: number[] = [];
    const triesMax = 3;
    armFailpoints(async (name) => {
      if (name !== 'outcomes.before_commit' || leftMs.length === triesMax) return;
      const [row] = await t.sql<{ left: number }[]>`
        SELECT (extract(epoch FROM available_at - ${t.clock.now}) * 1000)::float8 AS left FROM batches`;
      leftMs.push(row?.left ?? 0);
      t.clock.advance(leaseMs - 1000);
      throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    });
    expect(await runBatch(t.service.run, batch, t.clock.steadyMs(), () => false)).toEqual({ kind: 'done' });
    expect(leftMs).toHaveLength(triesMax);
    expect(Math.min(...leftMs)).toBeGreaterThan(leaseMs - renewEveryMs);
    expect(t.push.requests).toHaveLength(devices);
  });
});

describe('R-02 R-04 a process whose lease is not renewed', () => {
  it('begins no push in the second half of it, and continues after a renewal', async () => {
    const t = await setUpHeld();
    const many = 300;
    await t.registerMany(many);
    const id = await send(t);
    const batch = await claimOne(t);
    const open: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => void open.push(() => accept(request, response, count)));
    const running = runBatch(t.service.run, batch, t.clock.steadyMs(), () => false);
    // The most pushes that an app may have in flight before any answer; the others wait for their
    // turn.
    const first = 200;
    await t.push.waitForCount(first);
    const renewal = holdAt('lease.before_renew');
    const lock = await lockRow(t, batch);
    t.clock.advance(pushWithinMs);
    await renewal.held;
    t.push.scriptAll(undefined);
    for (const answer of open) answer();
    // The flush waits for the row. If the other pushes had gone out, they would have arrived by
    // now.
    await untilLockWaits(t.sql, 1, { name: 'carillon send', forMs: 300 });
    expect(t.push.requests).toHaveLength(first);

    // The flush renews the lease.
    await lock.letGo();
    expect(await running).toEqual({ kind: 'done' });
    expect(t.push.requests).toHaveLength(many);
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({ status: 'sent', report: { sent: many } });
  });

  it('makes none of its prepared pushes on a late connection once another process may make them', async () => {
    const t = await setUpHeld();
    await t.registerMany(devices);
    const id = await send(t);
    const batch = await claimOne(t);
    const prepared = 10;
    let passed = 0;
    const [allStand, way] = [createGate(), createGate()];
    // Some pushes are made; the others are held just before they go out, and renewals are blocked.
    armFailpoints((name) => {
      if (name === 'lease.before_renew') return way.opened;
      if (name !== 'push.before_write' || ++passed <= prepared) return undefined;
      if (passed === devices) allStand.open();
      return way.opened;
    });
    const running = runBatch(t.service.run, batch, t.clock.steadyMs(), () => false);
    await allStand.opened;
    await until(async () => (await t.sql`SELECT 1 FROM deliveries`).length === prepared);
    t.clock.advance(pushWithinMs);
    way.open();
    // Released in order: no process has lost it, and none of its pushes is repeated.
    expect(await running).toMatchObject({ kind: 'waiting' });
    expect(t.push.requests).toHaveLength(prepared);
    expect(await t.sql`SELECT state, claims, sent FROM batches`).toMatchObject([
      { state: 'waiting', claims: 0, sent: prepared },
    ]);
    armFailpoints(() => undefined);
    await t.service.startWorkers().idle();
    expect(t.push.requests).toHaveLength(devices);
    expect((await t.server.get(`/v1/messages/${id}`)).body).toMatchObject({
      status: 'sent',
      report: { sent: devices },
    });
  });
});
