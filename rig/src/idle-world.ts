// Fills a service with apps that have webhooks and nothing to do, and measures what its database
// still does.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { toldChannel } from '../../server/src/ground/database/teller.ts';
import { cpuSecondsOfTree } from './measure.ts';

/** The most webhooks that one app may have. */
export const webhooksEach = 10;

/**
 * Stores apps that have webhooks and never send. It writes rows directly, because a thousand apps
 * would take too many commands.
 */
export async function fillApps(sql: Sql, apps: number): Promise<void> {
  await sql`
    INSERT INTO apps (id, name, plan)
    SELECT md5('idle ' || a)::uuid, 'Idle ' || a, 'free' FROM generate_series(1, ${apps}::int) AS a`;
  await sql`
    INSERT INTO webhooks (app_id, id, endpoint, secret, created_at)
    SELECT md5('idle ' || a)::uuid, md5('idle ' || a || ' ' || h)::uuid, 'https://idle.example/', 'sealed', now()
    FROM generate_series(1, ${apps}::int) AS a, generate_series(1, ${webhooksEach}::int) AS h`;
  await sql`VACUUM (ANALYZE) apps, webhooks`;
}

export interface AtRest {
  readonly commitsPerSecond: number;
  /** CPU time in percent of one core, with all of the server's connections and helper processes. */
  readonly postgresPercent: number;
  /** NOTIFYs of all processes together. */
  readonly notifiesPerSecond: number;
  readonly connections: number;
}

/** Watches a database for `seconds`. `postgres` is the pid of the server's first process. */
export async function watchAtRest(
  sql: Sql,
  { postgres, seconds }: { readonly postgres: number; readonly seconds: number },
): Promise<AtRest> {
  let notifies = 0;
  const ear = await sql.reserve();
  await ear.listen(toldChannel, () => {
    notifies++;
  });
  const read = async () => {
    // The statement uses the listening connection, because the pool may have no other.
    const [row] = await ear<{ commits: number; connections: number }[]>`
      SELECT xact_commit::float8 AS commits, (SELECT count(*)::int FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'carillon %'
          AND application_name NOT IN ('carillon bench', 'carillon proof')) AS connections
      FROM pg_stat_database WHERE datname = current_database()`;
    return { at: performance.now(), cpu: await cpuSecondsOfTree(postgres), notifies, ...row };
  };
  const before = await read();
  await sleep(seconds * 1000);
  const after = await read();
  await ear`UNLISTEN *`;
  ear.release();
  const spanSeconds = (after.at - before.at) / 1000;
  return {
    // The reading before the span is itself a commit, so one is subtracted.
    commitsPerSecond: ((after.commits ?? 0) - (before.commits ?? 0) - 1) / spanSeconds,
    postgresPercent: ((after.cpu - before.cpu) / spanSeconds) * 100,
    notifiesPerSecond: (after.notifies - before.notifies) / spanSeconds,
    connections: after.connections ?? 0,
  };
}
