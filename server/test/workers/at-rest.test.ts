// The cost of an idle service for its database, and how few rows it reads to find the single thing
// that is due.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { bringForgottenForward } from '../../src/sending/webhooks/work-queries.ts';
import { type Bundle, setup } from '../setup.ts';
import { openShop, setupWebhooks } from './webhook-shop.ts';

const apps = 300;
const webhooksEach = 10;

/** Makes apps that have webhooks and nothing to tell. */
async function fillAtRest(sql: Sql): Promise<void> {
  await sql`
    INSERT INTO apps (id, name, plan) SELECT md5('app ' || a)::uuid, 'At rest ' || a, 'free' FROM generate_series(1, ${apps}::int) AS a`;
  await sql`
    INSERT INTO webhooks (app_id, id, endpoint, secret, created_at)
    SELECT md5('app ' || a)::uuid, md5(a || ' hook ' || h)::uuid, 'https://shop.example/', 'sealed', now()
    FROM generate_series(1, ${apps}::int) AS a, generate_series(1, ${webhooksEach}::int) AS h`;
  await sql`VACUUM (ANALYZE) webhooks, apps`;
}

/** Resolves when the elected process has looked `count` times. */
function looks(t: Bundle, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    t.service.lookout.onDue(() => {
      if (--left === 0) resolve();
    });
  });
}

async function commitsOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ commits: number }[]>`
    SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = current_database()`;
  return row?.commits ?? Number.NaN;
}

/**
 * Rows of a table that statements have read so far. A connection reports them at most a second
 * later.
 */
async function readOf(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ read: number }[]>`
    SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables WHERE relname = ${table}`;
  return row?.read ?? Number.NaN;
}

describe('R-99 while three thousand webhooks of three hundred apps have nothing to do', () => {
  it('two processes make few commits per look, and read no webhook', async () => {
    const t = await setup();
    await setup({ database: { url: t.databaseUrl, sql: t.sql } });
    await fillAtRest(t.sql);
    // Idle connections report the commits of the start late, and a busy machine starts late.
    const readBefore = await readOf(t.sql, 'webhooks');
    let perLook = Number.POSITIVE_INFINITY;
    for (let windows = 0; windows < 6 && perLook > 20; windows++) {
      const before = await commitsOf(t.sql);
      await looks(t, 8);
      perLook = ((await commitsOf(t.sql)) - before) / 8;
    }
    expect(perLook).toBeGreaterThan(0);
    // About four at rest.
    expect(perLook).toBeLessThanOrEqual(20);
    expect((await readOf(t.sql, 'webhooks')) - readBefore).toBe(0);
  });

  it('the webhook with an event is found without reading the others', async () => {
    const t = await setupWebhooks();
    await fillAtRest(t.sql);
    const shop = await openShop(t);
    await t.workers.idle();
    await looks(t, 2);
    const before = await readOf(t.sql, 'webhooks');
    await shop.send(3);
    await shop.receiver.count(3);
    await t.workers.idle();
    await looks(t, 3);
    expect(await readOf(t.sql, 'webhooks')).toBeGreaterThan(before);
    expect((await readOf(t.sql, 'webhooks')) - before).toBeLessThan(apps);
    expect(await t.sql`SELECT 1 FROM webhook_work`).toEqual([]);
  });
});

describe('R-26 events that a killed process did not announce', () => {
  it('are found by the elected process, and told once', async () => {
    const t = await setupWebhooks();
    const shop = await openShop(t);
    const id = mintUuid(t.clock.nowMs());
    await t.sql`
      INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at)
      VALUES (${shop.app.id}, ${shop.id}, ${id}, 0, ${id}, ${id}, 0, now(), now())`;
    await t.workers.idle();
    expect(shop.receiver.received).toHaveLength(0);
    expect(await bringForgottenForward(t.sql)).toBe(1);
    await shop.receiver.count(1);
    await t.workers.idle();
    expect(await bringForgottenForward(t.sql)).toBe(0);
    expect(await shop.waiting()).toBe(0);
  });

  it('are found also when the webhook waits for the retry of another event', async () => {
    const t = await setupWebhooks();
    const shop = await openShop(t);
    shop.receiver.answer = (_request, response) => response.writeHead(500).end();
    await shop.send(1);
    await shop.receiver.count(1);
    await t.workers.idle();
    shop.receiver.answer = (_request, response) => response.writeHead(200).end();
    const id = mintUuid(t.clock.nowMs());
    await t.sql`
      INSERT INTO webhook_events (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at)
      VALUES (${shop.app.id}, ${shop.id}, ${id}, 0, ${id}, ${id}, 0, now(), now())`;
    expect(await bringForgottenForward(t.sql)).toBe(1);
    await shop.receiver.count(2);
  });
});

it("R-99 NOTIFY is sent alone: by the teller, the heartbeat and an operator's pause, and in no transaction of a send", () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const notifying = ['server/src', 'packages/postgres/src'].flatMap((src) =>
    readdirSync(join(root, src), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.ts$/.test(file))
      .map((file) => join(src, file))
      .filter((file) => /SELECT pg_notify|\bNOTIFY \$\{/.test(readFileSync(join(root, file), 'utf8'))),
  );
  expect(notifying.sort()).toEqual([
    'packages/postgres/src/listener.ts',
    'server/src/ground/database/restore-guard.ts',
    'server/src/ground/database/teller.ts',
  ]);
});
