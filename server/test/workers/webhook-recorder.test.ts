import { transaction } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { claimEvents, insertEvents, listAttempts } from '../../src/sending/webhooks/queries.ts';
import { createAttemptRecorder } from '../../src/sending/webhooks/record-attempts.ts';
import { setup } from '../setup.ts';
import { openShop } from './webhook-shop.ts';

const t = await setup({ workers: false, environment: { OUTBOUND_ALLOW_PORTS: '1024-65535' } });

type Result = Parameters<ReturnType<typeof createAttemptRecorder>['record']>[1]['result'];

const acknowledged: Result = { statusCode: 200, error: null, durationMs: 1, retryAfterMs: null };

function openRecorder(noteAttempt: (result: Result) => void = () => undefined, sql = t.sql) {
  return createAttemptRecorder({
    sql,
    clock: t.clock,
    log: t.service.run.log,
    random: () => 0.5,
    retrySeconds: [5],
    failurePauseMsMax: 0,
    noteAttempt: (_id: string, result: Result) => noteAttempt(result),
  });
}

/** A pool that loses the answer of its first transaction's commit. */
function loseAnswerOfFirstCommit() {
  const lost = { commits: 0, sql: t.sql };
  lost.sql = new Proxy(t.sql, {
    get(target, key) {
      if (key !== 'begin') return Reflect.get(target, key);
      return async (work: Parameters<typeof t.sql.begin>[0]) => {
        const result = await target.begin(work as never);
        if (++lost.commits === 1) throw Object.assign(new Error('no answer'), { code: '08006' });
        return result;
      };
    },
  });
  return lost;
}

async function openHook(events: number) {
  const shop = await openShop(t);
  const event = { webhookId: shop.id, kind: 0, channel: 0, atMs: t.clock.nowMs(), errorCode: null, details: null };
  const made = () => ({ ...event, id: mintUuid(t.clock.nowMs()), messageId: mintUuid(), deviceId: mintUuid() });
  await insertEvents(t.sql, t.clock, shop.app.id, Array.from({ length: events }, made));
  const before = await shop.hook();
  return {
    shop,
    before,
    async claimDue() {
      const claim = { id: mintUuid(), leaseMs: 20_000, limit: 64 };
      const due = await transaction(t.sql, (tx) => claimEvents(tx, t.clock, before, claim));
      if (due.length === 0) throw new Error('nothing is due');
      return due.map((claimed) => ({ event: claimed, claimId: claim.id }));
    },
    log: () => listAttempts(t.sql, shop.app.id, shop.id),
  };
}

it('R-27 an attempt whose lookup never began is no failure: the event waits, and the webhook is unchanged', async () => {
  const noted: unknown[] = [];
  const recorder = openRecorder((result) => noted.push(result));
  const { shop, before, claimDue, log } = await openHook(1);
  const attempt = async (isUntried: boolean) => {
    const failed = { statusCode: null, error: 'dns_error', durationMs: 2_000, retryAfterMs: null } as const;
    const result = isUntried ? { ...failed, isUntried } : failed;
    for (const due of await claimDue()) await recorder.record(before, { ...due, at: t.clock.date(), result });
    t.clock.advance(10_000);
  };
  // More often than a webhook may fail, and than an event is tried.
  for (let i = 0; i < 16; i++) await attempt(true);
  expect(await shop.hook()).toEqual(before);
  expect(await log()).toEqual([]);
  expect([await shop.waiting(), noted]).toEqual([1, []]);
  await attempt(false);
  expect(await shop.hook()).toMatchObject({ failures: 1 });
  expect(await log()).toMatchObject([{ attempt: 1, error: 'dns_error' }]);
});

it('R-28 attempts of two processes that complete in one millisecond are in the order of their writing', async () => {
  const recorders = [openRecorder(), openRecorder(), openRecorder()];
  const { before, claimDue, log } = await openHook(30);
  const at = t.clock.date();
  const told: string[] = [];
  for (let round = 0; round < 3; round++) {
    for (const [i, one] of (await claimDue()).entries()) {
      await recorders[(i * 7) % 3]?.record(before, { ...one, at, result: acknowledged });
      told.push(one.event.id);
    }
  }
  expect(told).toHaveLength(30);
  expect((await log()).map(({ eventId }) => eventId)).toEqual(told.reverse());
});

describe('R-22 an attempt that the endpoint answered', () => {
  const failing = { statusCode: 500, error: 'http_status', durationMs: 1, retryAfterMs: null } as const;
  const refuseCommits = (codes: readonly string[]) => {
    let refused = 0;
    onTestFinished(
      armFailpoints((name) => {
        const code = name === 'webhook.before_ack_commit' ? codes[refused] : undefined;
        if (code === undefined) return;
        refused++;
        throw Object.assign(new Error('not now'), { code });
      }),
    );
  };

  it('is recorded once the database allows it, whatever state it was in: 57014, 55P03, 53300, 40P01, 08006', async () => {
    refuseCommits(['57014', '55P03', '53300', '40P01', '08006']);
    const { shop, before, claimDue, log } = await openHook(1);
    for (const one of await claimDue())
      await openRecorder().record(before, { ...one, at: t.clock.date(), result: failing });
    expect(await shop.hook()).toMatchObject({ failures: 1 });
    expect(await log()).toMatchObject([{ attempt: 1, error: 'http_status' }]);
  });

  it('is counted once when the commit succeeded and its answer was lost', async () => {
    const lost = loseAnswerOfFirstCommit();
    const { shop, before, claimDue, log } = await openHook(2);
    const noted: unknown[] = [];
    const recorder = openRecorder((result) => noted.push(result), lost.sql);
    const due = await claimDue();
    await Promise.all(due.map((one) => recorder.record(before, { ...one, at: t.clock.date(), result: failing })));
    expect(lost.commits).toBeGreaterThan(1);
    expect(await shop.hook()).toMatchObject({ failures: 2 });
    expect(await log()).toHaveLength(2);
    expect(noted).toHaveLength(2);
  });

  it('is recorded even when another process has claimed its event meanwhile, and does not change that claim', async () => {
    const { shop, before, claimDue, log } = await openHook(1);
    const [first] = await claimDue();
    if (!first) throw new Error('nothing is due');
    // As after an outage that is longer than the lease.
    t.clock.advance(30_000);
    const [second] = await claimDue();
    refuseCommits(['57014']);
    await openRecorder().record(before, { ...first, at: t.clock.date(), result: failing });
    expect(await shop.hook()).toMatchObject({ failures: 1 });
    expect(await log()).toHaveLength(1);
    const [stored] = await t.sql`SELECT claim_id, attempts FROM webhook_events WHERE webhook_id = ${shop.id}`;
    expect(stored).toMatchObject({ claimId: second?.claimId, attempts: 0 });
  });
});

it('R-28 attempts that complete in one millisecond and are written one after another are in the order of completion', async () => {
  const recorder = openRecorder();
  const { before, claimDue, log } = await openHook(10);
  const at = t.clock.date();
  const due = await claimDue();
  for (const one of due) {
    await recorder.record(before, { ...one, at, result: acknowledged });
  }
  expect(due).toHaveLength(10);
  expect((await log()).map(({ eventId }) => eventId)).toEqual(due.map(({ event }) => event.id).reverse());
});
