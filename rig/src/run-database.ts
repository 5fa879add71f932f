// A database for one run: a PostgreSQL server that starts and ends with the run. Nodes share it by
// its address.
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openPool, type Sql, startEmbeddedPostgres } from '@carillon/postgres';
import { prepareDatabase } from '../../server/src/operation/process/prepare-database.ts';
import { listChildren } from './measure.ts';
import type { Workbench } from './workbench.ts';

export interface RunDatabase {
  readonly url: string;
  /** For observers; nodes have pools of their own. */
  readonly sql: Sql;
  /** The same database for the superuser, who may alter the server and make further databases. */
  readonly admin: Sql;
  readonly clusterDir: string;
  /** The environment of a service on this database. */
  readonly environment: Readonly<Record<string, string>>;
  /** Stops the server until `start` is called. */
  stop(): Promise<void>;
  /** Resolves when the server answers at the same address. */
  start(): Promise<void>;
}

/** Starts the server and brings its schema up to date. */
export async function startRunDatabase(workbench: Workbench): Promise<RunDatabase> {
  const dataDir = await workbench.makeDirectory('database');
  const start = () => startEmbeddedPostgres({ dataDir, log: () => undefined });
  let embedded = await start();
  workbench.onClose(async () => {
    await embedded.stop();
    await rm(embedded.clusterDir, { recursive: true, force: true });
  });
  const open = (url: string): Sql => {
    const pool = openPool({ url, connectionsMax: 3, name: 'carillon proof', statementTimeoutMs: 300_000 });
    workbench.onClose(() => pool.end({ timeout: 1 }));
    return pool;
  };
  const sql = open(embedded.url);
  await prepareDatabase(sql);
  return {
    url: embedded.url,
    sql,
    admin: open(embedded.adminUrl),
    clusterDir: embedded.clusterDir,
    environment: { DATABASE_URL: embedded.url, MASTER_KEY: randomBytes(32).toString('base64') },
    stop: () => embedded.stop(),
    async start() {
      const { url } = embedded;
      embedded = await start();
      if (embedded.url !== url) throw new Error(`the database was at ${url} and is at ${embedded.url}`);
      // The observers' connections ended with the server.
      while (!(await sql`SELECT 1`.catch(() => undefined)));
    },
  };
}

/**
 * Sends the signal of `pg_ctl stop -m immediate`: there is no shutdown, and the next start
 * recovers. The server starts again by itself.
 */
export async function stopAtOnce(database: RunDatabase): Promise<void> {
  process.kill(await findPostmaster(database), 'SIGQUIT');
}

/**
 * Sends SIGSTOP to every process of the server. Connections stay open, the system accepts new ones,
 * and nobody answers. The returned function continues the processes. Linux only.
 */
export async function freeze(database: RunDatabase): Promise<() => void> {
  const postmaster = await findPostmaster(database);
  // The postmaster first, because it makes the other processes.
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
    // The process has just ended by itself.
  }
}
