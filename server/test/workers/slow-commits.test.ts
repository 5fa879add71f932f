// a database that commits slowly slows a send and does not widen the window in which a kill
// repeats pushes. No push of a process begins while an outcome of any of its batches has waited for
// longer than it may.
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGate } from '../../../packages/postgres/test/gate.ts';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import type { FaultProxy } from '../../../rig/src/fault-proxy.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { createFairSlots } from '../../src/ground/pacing/fair-slots.ts';
import { mintUuid, nilUuid } from '../../src/ground/values/ids.ts';
import { flushEveryMs } from '../../src/sending/delivery/batch.ts';
import { createFlushPace } from '../../src/sending/delivery/flush-pace.ts';
import { createOutcomeBacklog, type OutcomeBacklog } from '../../src/sending/delivery/outcome-backlog.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { type RunDeps, runBatch } from '../../src/sending/delivery/run-batch.ts';
import { type Bundle, setup } from '../setup.ts';
import { until } from './held.ts';

const content = { title: 'Slow commits' };
const devices = 60;

async function sendTo(t: Bundle, count: number): Promise<void> {
  if (count > 0) await t.registerMany(count);
  await t.server.post('/v1/messages', { audience: { all: true }, content });
}

async function runNext(t: Bundle, run: RunDeps) {
  const batch = await claimNextBatch(t.sql, t.clock, nilUuid, mintUuid(t.clock.nowMs()));
  if (!batch) throw new Error('nothing to claim');
  return runBatch(run, batch, t.clock.steadyMs(), () => false);
}

/** A backlog that also says how long its oldest outcome has waited. */
function agedBacklog(): OutcomeBacklog & { oldestMs(): number } {
  const backlog = createOutcomeBacklog();
  const waiting = new Set<number>();
  return {
    ...backlog,
    begin(sinceMs) {
      const unwritten = backlog.begin(sinceMs);
      waiting.add(sinceMs);
      const end = () => {
        waiting.delete(sinceMs);
        unwritten.end();
      };
      return { ...unwritten, end };
    },
    oldestMs: () => (waiting.size === 0 ? 0 : performance.now() - Math.min(...waiting)),
  };
}

describe('R-02 while outcomes are not committed', () => {
  it('no push of any batch of the process begins, and all go on afterwards', async () => {
    const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await sendTo(t, devices);
    await sendTo(t, 0);
    const slotsMax = 20;
    const run: RunDeps = {
      ...t.service.run,
      slots: createFairSlots({ slotsMax, perFree: slotsMax }),
      // No outcome may be older than no time at all.
      flushPace: { waitMs: 0, unwrittenMsMax: -1, note: () => undefined },
    };
    const [reached, way] = [createGate(), createGate()];
    let begun = 0;
    onTestFinished(
      armFailpoints((name) => {
        if (name === 'push.before_write') begun++;
        if (name !== 'outcomes.before_commit') return undefined;
        reached.open();
        return way.opened;
      }),
    );
    const first = runNext(t, run);
    await reached.opened;
    await until(async () => t.push.requests.length === begun);
    const second = runNext(t, run);
    await until(async () => (await t.sql`SELECT 1 FROM batches WHERE state = 'claimed'`).length === 2);
    // The second batch is loaded meanwhile. Another statement of this pool comes after its last.
    for (let turn = 0; turn < 20; turn++) await t.service.run.sql`SELECT 1`;
    const during = begun;
    expect(during).toBeLessThanOrEqual(slotsMax);
    way.open();
    expect(await Promise.all([first, second])).toEqual([{ kind: 'done' }, { kind: 'done' }]);
    expect(t.push.requests).toHaveLength(2 * devices);
  });

  it('through a slow way to the database, a send goes on, and no push begins beside outcomes of half the window', async () => {
    const proxied: { proxy?: FaultProxy } = {};
    const t = await setup({
      workers: false,
      environment: { SEND_WAIT_MS: '0' },
      async reachDatabase(url) {
        const { proxy, url: byProxy } = await startDatabaseProxy(url);
        whenDone(() => proxy.close());
        proxied.proxy = proxy;
        return byProxy;
      },
    });
    await sendTo(t, devices);
    await sendTo(t, 0);
    const backlog = agedBacklog();
    const slots = createFairSlots({ slotsMax: 20, perFree: 20 });
    const run: RunDeps = { ...t.service.run, backlog, slots, flushPace: createFlushPace() };
    const oldest: number[] = [];
    onTestFinished(
      armFailpoints((name) => {
        if (name === 'push.before_write') oldest.push(backlog.oldestMs());
        return undefined;
      }),
    );
    proxied.proxy?.set({ latencyMs: 40 });
    expect(await Promise.all([runNext(t, run), runNext(t, run)])).toEqual([{ kind: 'done' }, { kind: 'done' }]);
    proxied.proxy?.set({});
    expect(oldest).toHaveLength(2 * devices);
    expect(t.push.requests).toHaveLength(2 * devices);
    // A push begins in the turn in which it was allowed; the machine may stop in between.
    expect(oldest.filter((ms) => ms > flushEveryMs / 2 + 50)).toEqual([]);
  });
});
