// The cost of a worker's periodic tasks for its database when no app has work for them.

import type { Sql } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../packages/postgres/test/database.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import { createLog } from '../../src/ground/host/log.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { openDatabases } from '../../src/operation/process/databases.ts';
import { createUpkeep } from '../../src/operation/process/upkeep.ts';
import { periodicTasks } from '../../src/operation/process/workers.ts';
import { until } from './held.ts';

const silent = createLog('silent', 'test');

/**
 * Makes apps that just sent a message and gave a device to another user, so that nothing of theirs
 * is old yet.
 */
async function fillApps(sql: Sql, apps: number): Promise<void> {
  const id = mintUuid();
  await sql`
    INSERT INTO apps (id, name, plan) SELECT md5('app ' || a)::uuid, 'At rest ' || a, 'free' FROM generate_series(1, ${apps}::int) AS a`;
  await sql`
    INSERT INTO messages (app_id, id, fingerprint, status, created_by, audience, content, created_at, started_at, finished_at, expires_at)
    SELECT id, ${id}::uuid, sha256(''), 'sent', '{"type":"key"}', '{"all":true}', '{"title":"Sent"}', now(), now(), now(), now() FROM apps`;
  await sql`
    INSERT INTO former_links (app_id, device_id, user_id, until) SELECT id, ${id}::uuid, ${id}::uuid, now() FROM apps`;
}

/** Opens the pools of a worker and runs each of its tasks once, one after another. */
async function runTasks({ url }: TestDatabase) {
  const databases = openDatabases(url, 'worker', { idleMs: 600_000 });
  onTestFinished(() => databases.close());
  const { workSql: sql, indexSql, detachSql, promptSql } = databases;
  const clock = await createClock(promptSql);
  const rules = { retentionDays: 90, eventRetentionDays: 365, isPaused: () => false };
  const upkeep = createUpkeep({ sql, detachSql, clock, log: silent, ...rules });
  for (const task of [...periodicTasks({ sql, indexSql, clock, log: silent }), upkeep.task, upkeep.dropping])
    await task.run();
  return databases;
}

const connectionsOf = async ({ sql }: TestDatabase, pools: string): Promise<number> =>
  (await sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE ${pools}`)
    .length;

const commitsOf = async ({ sql }: TestDatabase): Promise<number> => {
  const [row] = await sql<{ commits: number }[]>`
    SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = current_database()`;
  return row?.commits ?? Number.NaN;
};

/** Commits of all tasks. A connection's counts are complete once it has ended. */
async function countCommits(apps: number): Promise<number> {
  const database = await createTestDatabase();
  await fillApps(database.sql, apps);
  // The first run creates partitions and indexes.
  await (await runTasks(database)).close();
  await until(async () => (await connectionsOf(database, 'carillon %')) === 0);
  const before = await commitsOf(database);
  await (await runTasks(database)).close();
  await until(async () => (await connectionsOf(database, 'carillon %')) === 0);
  return (await commitsOf(database)) - before;
}

describe('tasks that find nothing to do', () => {
  it('R-98 hold a lock and one connection to work with, however slowly the database answers', async () => {
    const database = await createTestDatabase();
    await fillApps(database.sql, 3);
    await runTasks(database);
    // No connection has been closed since. A pool opens another one only when all open ones stay in
    // use.
    expect(await connectionsOf(database, 'carillon long')).toBe(2);
  });

  it('R-99 commit as often for three hundred apps as for three', async () => {
    const [few, many] = [await countCommits(3), await countCommits(300)];
    expect(few).toBeGreaterThan(20);
    // The tests' own connections report their counts late.
    expect(many - few).toBeLessThan(30);
  });
});
