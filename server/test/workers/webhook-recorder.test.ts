import { expect, it } from 'vitest';
import { transaction } from '../../src/platform/db.ts';
import { mintUuid } from '../../src/platform/ids.ts';
import { claimEvents, insertEvents, listAttempts } from '../../src/webhooks/queries.ts';
import { createAttemptRecorder } from '../../src/webhooks/record-attempts.ts';
import { setup } from '../setup.ts';
import { openShop } from './webhook-shop.ts';

const t = await setup({ workers: false, environment: { OUTBOUND_ALLOW_PORTS: '1024-65535' } });

type Result = Parameters<ReturnType<typeof createAttemptRecorder>['record']>[1]['result'];

function openRecorder(noteAttempt: (result: Result) => void = () => undefined) {
  return createAttemptRecorder({
    ...{ sql: t.sql, clock: t.clock, log: t.service.run.log, random: () => 0.5 },
    ...{ retrySeconds: [5], failurePauseMsMax: 0, noteAttempt: (_id: string, result: Result) => noteAttempt(result) },
  });
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

it('R-27 an attempt whose lookup was never begun is no failure: the event waits, and the webhook stays as it was', async () => {
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

it('R-28 attempts that complete in one millisecond and are written one after the other are in the order of completion', async () => {
  const recorder = openRecorder();
  const { before, claimDue, log } = await openHook(10);
  const at = t.clock.date();
  const due = await claimDue();
  for (const one of due) {
    await recorder.record(before, {
      ...{ ...one, at },
      result: { statusCode: 200, error: null, durationMs: 1, retryAfterMs: null },
    });
  }
  expect(due).toHaveLength(10);
  expect((await log()).map(({ eventId }) => eventId)).toEqual(due.map(({ event }) => event.id).reverse());
});
