// A database for one run: a PostgreSQL of its own that starts and ends with it. Nodes share it by its address.
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listChildren } from '../../../bench/src/measure.ts';
import type { Workbench } from '../../../bench/src/workbench.ts';
import { openPool, type Sql } from '../../../server/src/platform/db.ts';
import { startEmbeddedPostgres } from '../../../server/src/platform/embedded-postgres.ts';
import { prepareDatabase } from '../../../server/src/prepare-database.ts';

export interface RunDatabase {
  readonly url: string;
  /** For whoever looks on; nodes have pools of their own. */
  readonly sql: Sql;
  readonly clusterDir: string;
  /** What a service on it is told. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends it until `start`. */
  stop(): Promise<void>;
  /** Resolves when it answers, at the same address. */
  start(): Promise<void>;
}

/** Starts it, with its schema up to date. */
export async function startRunDatabase(workbench: Workbench): Promise<RunDatabase> {
  const dataDir = await workbench.makeDirectory('database');
  const start = () => startEmbeddedPostgres({ dataDir, log: () => undefined });
  let embedded = await start();
  workbench.onClose(async () => {
    await embedded.stop();
    await rm(embedded.clusterDir, { recursive: true, force: true });
  });
  const sql = openPool({ url: embedded.url, connectionsMax: 3, name: 'carillon proof', statementTimeoutMs: 300_000 });
  workbench.onClose(() => sql.end({ timeout: 1 }));
  await prepareDatabase(sql);
  return {
    url: embedded.url,
    sql,
    clusterDir: embedded.clusterDir,
    environment: { DATABASE_URL: embedded.url, MASTER_KEY: randomBytes(32).toString('base64') },
    stop: () => embedded.stop(),
    async start() {
      const { url } = embedded;
      embedded = await start();
      if (embedded.url !== url) throw new Error(`the database was at ${url} and is at ${embedded.url}`);
      // The connections of whoever looks on ended with it.
      while (!(await sql`SELECT 1`.catch(() => undefined)));
    },
  };
}

/** `pg_ctl stop -m immediate`, which is this signal: no shutdown, and the next start recovers. It is started again by itself. */
export async function stopAtOnce(database: RunDatabase): Promise<void> {
  process.kill(await findPostmaster(database), 'SIGQUIT');
}

/**
 * SIGSTOP to every process of the server: connections stand, new ones are accepted by the system, and nobody answers. What it returns
 * lets them go on. Linux only.
 */
export async function freeze(database: RunDatabase): Promise<() => void> {
  const postmaster = await findPostmaster(database);
  // First the one that makes others.
  process.kill(postmaster, 'SIGSTOP');
  const children = await listChildren(postmaster);
  for (const pid of children) signal(pid, 'SIGSTOP');
  return () => {
    for (const pid of [...children, postmaster]) signal(pid, 'SIGCONT');
  };
}

async function findPostmaster({ clusterDir }: RunDatabase): Promise<number> {
  const [pid] = (await readFile(join(clusterDir, 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

function signal(pid: number, word: NodeJS.Signals): void {
  try {
    process.kill(pid, word);
  } catch {
    // It has just ended by itself.
  }
}
