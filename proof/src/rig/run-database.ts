// A database for one run: a PostgreSQL of its own that starts and ends with it. Nodes share it by its address.
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
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
}

/** Starts it, with its schema up to date. */
export async function startRunDatabase(workbench: Workbench): Promise<RunDatabase> {
  const dataDir = await workbench.makeDirectory('database');
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => undefined });
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
  };
}

/** `pg_ctl stop -m immediate`, which is this signal: no shutdown, and the next start recovers. It is started again by itself. */
export async function stopAtOnce({ clusterDir }: RunDatabase): Promise<void> {
  const [pid] = (await readFile(join(clusterDir, 'postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGQUIT');
}
