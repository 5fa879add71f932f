import { openPool, type Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { clearOrphanedOutboxes, dropHeldTooLong } from '../../src/sending/webhooks/clear-outbox.ts';
import { disableWebhook, enableWebhook, removeWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { claimEvents } from '../../src/sending/webhooks/queries.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import type { Bundle, TestApp } from '../setup.ts';
import { openShop, type Shop, setupWebhooks } from './webhook-shop.ts';

const database = await createTestDatabase();
const { sql } = database;
const heldMany = 100_000;
const depsOf = (t: Bundle) => ({ sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) });

/**
 * Runs work on a connection of its own, which reports what it has read when it ends, as a service's
 * connections do.
 */
async function apart(work: (own: Sql) => Promise<unknown>): Promise<void> {
  const own = openPool({ url: database.url, connectionsMax: 1, name: 'apart', statementTimeoutMs: 60_000 });
  await work(own);
  await own.end();
}

/** Rows and index entries of the outbox that `work` reads on connections that it ends. */
async function readBy(work: () => Promise<unknown>): Promise<number> {
  const readSoFar = async (): Promise<number> => {
    // The last connection disappears a moment after its end.
    const others = sql`datname = current_database() AND backend_type = 'client backend' AND application_name <> 'tests'`;
    while ((await sql`SELECT 1 FROM pg_stat_activity WHERE ${others}`).length > 0);
    const [row] = await sql<{ rows: number }[]>`
      SELECT (seq_tup_read + idx_tup_fetch + (
        SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'webhook_events'))::float8 AS rows
      FROM pg_stat_user_tables WHERE relname = 'webhook_events'`;
    return row?.rows ?? Number.NaN;
  };
  const before = await readSoFar();
  await work();
  return (await readSoFar()) - before;
}

/** Stores many due events of the last minutes, every tenth of which is a replay. */
async function hold({ app, id }: Shop): Promise<void> {
  await sql`
    INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at, is_replay)
    SELECT ${app.id}, ${id}, e.id, 0, e.id, e.id, 0, now(), now(), n % 10 = 0
    FROM generate_series(1, ${heldMany}::int) AS n CROSS JOIN LATERAL (
      SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n), 12, '0') || '7' || substr(md5(n::text), 1, 3)
        || '8' || substr(md5(n::text), 4, 15))::uuid AS id) AS e`;
}

/**
 * A service sends, tells and cleans up: an app's webhook is told of outcomes and a click, with some
 * failures at first.
 */
async function tellSome(app: TestApp): Promise<void> {
  const t = await setupWebhooks({ database });
  const shop = await openShop(t, [], app);
  let requests = 0;
  shop.receiver.answer = (_request, response) => response.writeHead(++requests % 10 === 0 ? 500 : 200).end();
  const message = await shop.send(40);
  const { body } = await shop.server.get(`/v1/messages/${message}/deliveries`);
  const token = await receiptTokenOf(t, message, body.data[0].device_id);
  await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } });
  await shop.receiver.count(41);
  await t.workers.idle();
  await apart(async (own) => {
    await dropHeldTooLong({ sql: own, clock: t.clock });
    await removeWebhook({ ...t, sql: own }, await shop.hook());
    await clearOrphanedOutboxes(own);
  });
  await t.close();
}

describe('R-27 hundreds of thousands of held events', () => {
  it('are not read by sends, tellers or cleanups', async () => {
    const t = await setupWebhooks({ database });
    const first = await openShop(t);
    const disabled = [first, await openShop(t)];
    for (const one of disabled) await disableWebhook(depsOf(t), await one.hook());
    const suspended = await openShop(t);
    await sql`UPDATE apps SET suspended_at = now() WHERE id = ${suspended.app.id}`;
    await t.close();
    const held = [...disabled, suspended];
    const withoutThem = await readBy(() => tellSome(first.app));
    for (const one of held) await hold(one);
    // Once before the table has statistics, and once after.
    const uncounted = await readBy(() => tellSome(first.app));
    await sql`VACUUM (ANALYZE) webhook_events`;
    const counted = await readBy(() => tellSome(first.app));
    expect(withoutThem).toBeGreaterThan(41);
    expect(Math.max(uncounted, counted)).toBeLessThan(withoutThem + heldMany / 20);
    for (const one of held) expect(await one.waiting()).toBeGreaterThanOrEqual(heldMany);
  });

  it('are not read by a claim of a few of them, before the table has statistics and after', async () => {
    const t = await setupWebhooks({ database });
    const shop = await openShop(t);
    await sql`UPDATE apps SET suspended_at = now() WHERE id = ${shop.app.id}`;
    const webhook = await shop.hook();
    await t.close();
    await hold(shop);
    const claim = async (own: Sql): Promise<void> => {
      const clock = await createClock(own);
      const taken = await claimEvents(own, clock, webhook, { id: mintUuid(), leaseMs: 60_000, limit: 4 });
      expect(taken).toHaveLength(4);
    };
    expect(await readBy(() => apart(claim))).toBeLessThan(1000);
    await sql`VACUUM (ANALYZE) webhook_events`;
    expect(await readBy(() => apart(claim))).toBeLessThan(1000);
  });

  it('are not read when their webhook is enabled again, except those that wait for a later time', async () => {
    const t = await setupWebhooks({ database });
    const shop = await openShop(t);
    await sql`UPDATE apps SET suspended_at = now() WHERE id = ${shop.app.id}`;
    const known = await shop.hook();
    await disableWebhook(depsOf(t), known);
    await t.close();
    await hold(shop);
    await sql`
      UPDATE webhook_events SET due_at = now() + interval '1 hour'
      WHERE id IN (SELECT id FROM webhook_events WHERE webhook_id = ${shop.id} ORDER BY id LIMIT 30)`;
    await sql`VACUUM (ANALYZE) webhook_events`;
    const enable = async (own: Sql) => enableWebhook({ ...depsOf(t), sql: own, clock: await createClock(own) }, known);
    expect(await readBy(() => apart(enable))).toBeLessThan(heldMany / 20);
    expect(await sql`SELECT 1 FROM webhook_events WHERE webhook_id = ${shop.id} AND due_at > now()`).toEqual([]);
    expect(await shop.hook()).toMatchObject({ state: 'enabled' });
  });
});
