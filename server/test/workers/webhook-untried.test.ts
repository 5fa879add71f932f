import { expect, it } from 'vitest';
import { transaction } from '../../src/platform/db.ts';
import { mintUuid } from '../../src/platform/ids.ts';
import { claimEvents, insertEvents, listAttempts } from '../../src/webhooks/queries.ts';
import { createAttemptRecorder } from '../../src/webhooks/record-attempts.ts';
import { setup } from '../setup.ts';
import { openShop } from './webhook-shop.ts';

const t = await setup({ workers: false, environment: { OUTBOUND_ALLOW_PORTS: '1024-65535' } });

it('R-27 an attempt whose lookup was never begun is no failure: the event waits, and the webhook stays as it was', async () => {
  const noted: unknown[] = [];
  const recorder = createAttemptRecorder({
    ...{
      sql: t.sql,
      clock: t.clock,
      log: t.service.run.log,
      random: () => 0.5,
      retrySeconds: [5],
      failurePauseMsMax: 0,
    },
    noteAttempt: (_id, result) => noted.push(result),
  });
  const shop = await openShop(t);
  const before = await shop.hook();
  const event = { webhookId: shop.id, id: mintUuid(t.clock.nowMs()), kind: 0, channel: 0, atMs: t.clock.nowMs() };
  await insertEvents(t.sql, t.clock, shop.app.id, [
    { ...event, messageId: mintUuid(), deviceId: mintUuid(), errorCode: null, details: null },
  ]);
  const attempt = async (isUntried: boolean) => {
    const claimId = mintUuid();
    const claim = { id: claimId, leaseMs: 20_000, limit: 64 };
    const [claimed] = await transaction(t.sql, (tx) => claimEvents(tx, t.clock, before, claim));
    if (!claimed) throw new Error('nothing is due');
    const failed = { statusCode: null, error: 'dns_error', durationMs: 2_000, retryAfterMs: null } as const;
    const result = isUntried ? { ...failed, isUntried } : failed;
    await recorder.record(before, { event: claimed, claimId, at: t.clock.date(), result });
    t.clock.advance(10_000);
  };
  // More often than a webhook may fail, and than an event is tried.
  for (let i = 0; i < 16; i++) await attempt(true);
  expect(await shop.hook()).toEqual(before);
  expect(await listAttempts(t.sql, shop.app.id, shop.id)).toEqual([]);
  expect([await shop.waiting(), noted]).toEqual([1, []]);
  await attempt(false);
  expect(await shop.hook()).toMatchObject({ failures: 1 });
  expect(await listAttempts(t.sql, shop.app.id, shop.id)).toMatchObject([{ attempt: 1, error: 'dns_error' }]);
});
