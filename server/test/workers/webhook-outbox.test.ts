import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { clearOrphanedOutboxes, dropHeldTooLong } from '../../src/sending/webhooks/clear-outbox.ts';
import { disableWebhook, removeWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { openShop, type Shop, setupWebhooks } from './webhook-shop.ts';

const t = await setupWebhooks();
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) };
const hourMs = 3_600_000;

/** Stores events that were put into the outbox `agoMs` ago. */
async function fill(shop: Shop, many: number, agoMs: number): Promise<void> {
  const ids = Array.from({ length: many }, () => mintUuid(t.clock.nowMs() - agoMs));
  await t.sql`
    INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at)
    SELECT ${shop.app.id}, ${shop.id}, e.id, 0, e.id, e.id, 0, now(), now() + interval '1 year'
    FROM unnest(${ids}::uuid[]) AS e (id)`;
}

describe('a webhook that is deleted', () => {
  it('loses its many events, some thousand per statement, and no other webhook does', async () => {
    const [shop, other] = [await openShop(t), await openShop(t)];
    await fill(shop, 12_000, 0);
    await fill(other, 10, 0);
    await removeWebhook(deps, await shop.hook());
    expect([await shop.waiting(), await other.waiting()]).toEqual([0, 10]);
  });

  it('does not wait for a send that adds events to it, and these are deleted afterwards', async () => {
    const [shop, other] = [await openShop(t), await openShop(t)];
    await fill(other, 10, 0);
    await transaction(t.sql, async (tx) => {
      const id = mintUuid(t.clock.nowMs());
      await tx`
        INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at)
        VALUES (${shop.app.id}, ${shop.id}, ${id}, 0, ${id}, ${id}, 0, now(), now())`;
      // The send has not committed, and the deletion still ends.
      await removeWebhook(deps, await shop.hook());
    });
    expect(await shop.waiting()).toBe(1);
    await clearOrphanedOutboxes(t.sql);
    expect([await shop.waiting(), await other.waiting()]).toEqual([0, 10]);
  });

  it('with events left by a crash is cleaned up by any process, even by two at once', async () => {
    const shop = await openShop(t);
    await fill(shop, 6_000, 0);
    await t.sql`DELETE FROM webhooks WHERE id = ${shop.id}`;
    await Promise.all([clearOrphanedOutboxes(t.sql), clearOrphanedOutboxes(t.sql)]);
    await clearOrphanedOutboxes(t.sql);
    expect(await shop.waiting()).toBe(0);
  });
});

describe('events that are held', () => {
  it('for longer than 72 hours are dropped, and no younger ones, of disabled webhooks', async () => {
    const [held, healthy] = [await openShop(t), await openShop(t)];
    for (const shop of [held, healthy]) {
      await fill(shop, 5_100, 72 * hourMs + 60_000);
      await fill(shop, 20, 72 * hourMs - 60_000);
    }
    await disableWebhook(deps, await held.hook());
    await dropHeldTooLong(deps);
    expect([await held.waiting(), await healthy.waiting()]).toEqual([20, 5_120]);
  });

  it('of a suspended app are dropped after the same time', async () => {
    const shop = await openShop(t);
    await fill(shop, 3, 73 * hourMs);
    await t.sql`UPDATE apps SET suspended_at = now() WHERE id = ${shop.app.id}`;
    await dropHeldTooLong(deps);
    expect(await shop.waiting()).toBe(0);
  });
});
