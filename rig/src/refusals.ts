// Makes a real PostgreSQL refuse correct statements of a service: by limits, deadlocks, or a lack
// of connections. Each step lasts a moment, and a proof repeats it.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPool } from '@carillon/postgres';
import type { RunDatabase } from './run-database.ts';

/** Selects the connections of nodes, without the proof's own connection. */
const ofNodes = (sql: RunDatabase['sql']) => sql`
  datname = current_database() AND application_name LIKE 'carillon %' AND application_name <> 'carillon proof'`;

/**
 * 57014: cancels the statements that run now, as a statement timeout does. Returns their number.
 */
export async function cancelRunning({ sql }: RunDatabase): Promise<number> {
  const rows = await sql`
    SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${ofNodes(sql)} AND state = 'active'`;
  return rows.length;
}

/** 57014: cancels the statements that wait for a lock. Returns their number. */
export async function cancelWaiting({ sql }: RunDatabase): Promise<number> {
  const rows = await sql`
    SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${ofNodes(sql)} AND wait_event_type = 'Lock'`;
  return rows.length;
}

/** Ends every connection of the nodes. */
export async function endConnections({ sql }: RunDatabase): Promise<void> {
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofNodes(sql)}`;
}

/**
 * Locks the audience, so that nobody reads or writes it. The returned function releases the lock.
 */
export function lockAudience(database: RunDatabase): Promise<() => Promise<void>> {
  return lock(database, 'LOCK TABLE audience IN ACCESS EXCLUSIVE MODE');
}

/**
 * Locks the deliveries as a new index does: they can be read and not written. The returned function
 * releases the lock.
 */
export function lockDeliveries(database: RunDatabase): Promise<() => Promise<void>> {
  return lock(database, 'LOCK TABLE deliveries IN SHARE MODE');
}

async function lock({ sql }: RunDatabase, statement: string): Promise<() => Promise<void>> {
  let letGo: () => void = () => undefined;
  const way = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isTaken: () => void = () => undefined;
  const taken = new Promise<void>((resolve) => {
    isTaken = resolve;
  });
  const locking = sql.begin(async (tx) => {
    await tx.unsafe(statement);
    isTaken();
    await way;
  });
  await Promise.race([taken, locking]);
  return async () => {
    letGo();
    await locking;
  };
}

/**
 * 55P03: statements give up waiting for a lock after `limitMs`. Holds for connections that are made
 * from now on.
 */
export async function limitLocks({ sql }: RunDatabase, limitMs: number): Promise<void> {
  const [row] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  await sql.unsafe(`ALTER DATABASE "${row?.name}" SET lock_timeout = ${limitMs}`);
}

const deadlockWaitMs = 3000;

/**
 * 40P01: locks the audience until a reader of devices waits for it, and then requests the devices.
 * The server ends the other transaction, because that one is the first to look for a deadlock.
 */
export async function makeDeadlock({ sql }: RunDatabase): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`SET LOCAL deadlock_timeout = '60s'`;
    await tx`LOCK TABLE audience IN ACCESS EXCLUSIVE MODE`;
    const until = performance.now() + deadlockWaitMs;
    const isAwaited = async () =>
      (await sql`SELECT 1 FROM pg_locks WHERE relation = 'audience'::regclass AND NOT granted LIMIT 1`).length > 0;
    while (performance.now() < until && !(await isAwaited())) await sleep(20);
    await tx`LOCK TABLE devices IN ACCESS EXCLUSIVE MODE`;
  });
}

/**
 * 53300: takes every connection of the server for `forMs`. The nodes' connections are ended until
 * none is left for them. Pools wait through five seconds of this.
 */
export async function takeConnections(database: RunDatabase, forMs: number): Promise<void> {
  const [row] = await database.sql<{ most: number }[]>`SELECT current_setting('max_connections')::int AS most`;
  const most = row?.most ?? 100;
  const hog = openPool({
    url: database.url,
    connectionsMax: most,
    name: 'carillon proof',
    statementTimeoutMs: 60_000,
    fullMs: forMs,
    growAfterMs: 0,
  });
  const until = performance.now() + forMs;
  let letGo: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const held = Array.from({ length: most }, () =>
    hog
      .begin(async (tx) => {
        await tx`SELECT 1`;
        await over;
      })
      .catch(() => undefined),
  );
  while (performance.now() < until) {
    await endConnections(database);
    await sleep(250);
  }
  letGo();
  await hog.end({ timeout: 1 });
  await Promise.all(held);
}

/** How often the nodes' logs contain this code of a refusal. */
export async function countRefusals(directory: string, code: string): Promise<number> {
  let count = 0;
  for (const name of await readdir(directory)) {
    if (!name.endsWith('.log')) continue;
    count += (await readFile(join(directory, name), 'utf8')).split(`"code":"${code}"`).length - 1;
  }
  return count;
}
