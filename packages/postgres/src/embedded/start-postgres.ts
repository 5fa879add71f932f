// The program's own PostgreSQL, for installations without a DATABASE_URL. Takes over the server that a
// killed process left running or starts one; the last user stops it. Never refuses a healthy data
// directory, and never serves one directory to two services.
import { setTimeout as sleep } from 'node:timers/promises';
import { findValue, getRow, getValue } from '../answer.ts';
import type { Tx } from '../db.ts';
import { findCluster, makeCluster } from './cluster.ts';
import { owner } from './owner.ts';
import type { Connection } from './postmaster.ts';
import { EmbeddedServer } from './server.ts';
import { addressOf, provideDatabase } from './service-role.ts';

/**
 * Advisory locks in the database `postgres`, where no other part of the program connects. They end
 * with the process that holds them, however it ends, so that no process id has to be trusted. All
 * users of the server share `inUse`; the one that stops the server holds it alone.
 */
const locks = { inUse: 1, service: 2 };

/** Milliseconds. The database notices a killed service within milliseconds. */
const lockWaitMs = 2_000;

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  /**
   * Connections that the server allows at least; its configuration may allow more. Default: the
   * configuration's number.
   */
  readonly connections?: number;
  /**
   * At most one service uses a data directory. Commands may use it beside the service or without
   * one.
   */
  readonly purpose?: 'service' | 'command';
  /**
   * True: the server does without fsync and full-page writes, because the cluster ends with this
   * run. For tests alone.
   */
  readonly isDisposable?: boolean;
}

export interface EmbeddedDatabase {
  /**
   * `postgres://role@localhost:5432/database?host=/directory`, in libpq's form. Its role
   * owns the database and is no superuser.
   */
  readonly url: string;
  /** The same for the superuser of the cluster: for backups, and for tests that make databases. */
  readonly adminUrl: string;
  readonly clusterDir: string;
  /**
   * True when there was no cluster before. No set-up may depend on this alone, because the start
   * that created the cluster may have been killed.
   */
  readonly isNew: boolean;
  /** Leaves the server. The last user stops it and waits until it is down. */
  stop(): Promise<void>;
}

/**
 * Resolves when the database answers. A service then keeps it running: a server that dies is
 * started again at the same address. Rejects with a sentence for the operator when another service
 * uses the directory or the server cannot run.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { log, connections, isDisposable, purpose = 'service' } = options;
  const found = await findCluster(options.dataDir);
  const cluster = found ?? (await makeCluster(options.dataDir));
  const server = new EmbeddedServer(cluster, log, { connections, isDisposable });
  let stopped: Promise<void> | undefined;

  /**
   * Connects and takes the locks. Restarts a running server that has too few connections.
   */
  async function join(): Promise<Connection> {
    for (;;) {
      const connection = await server.start();
      try {
        await connection.sql`SELECT pg_advisory_lock_shared(${locks.inUse})`;
        if (purpose === 'service') await becomeTheService(connection.sql, cluster.dataDir);
        await provideDatabase(connection, cluster);
        if (purpose === 'command' || !(await isTooSmall(connection.sql))) return connection;
        await server.stop();
        await connection.end();
      } catch (error) {
        await connection.end();
        // Otherwise the last user was stopping the server just now.
        if (!isConnectionLost(error)) throw error;
      }
    }
  }

  /**
   * Returns whether the server has too few connections and may be restarted. While a command uses
   * it, it is not restarted; the processes of the service then wait for connections.
   */
  async function isTooSmall(sql: Tx): Promise<boolean> {
    const { most, isShared } = await getRow(sql<{ most: number; isShared: boolean }[]>`
      SELECT current_setting('max_connections')::int AS most, EXISTS (SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 0 AND objid = ${locks.inUse} AND pid <> pg_backend_pid()) AS is_shared`);
    if (connections === undefined || most >= connections) return false;
    const what = `PostgreSQL runs with ${most} connections, and ${connections} are needed`;
    log(isShared ? `${what}; a command uses it, so it is left as it is until the next start` : what);
    return !isShared;
  }

  async function rejoin(): Promise<Connection | undefined> {
    while (!stopped) {
      const connection = await join().catch((error: Error) => log(error.message));
      if (connection) return keep(connection);
      await sleep(1_000);
    }
    return undefined;
  }

  function keep(connection: Connection): Connection {
    void connection.lost.then(() => {
      if (stopped || purpose === 'command') return;
      log('The connection to PostgreSQL was lost: going back to it, or starting it again');
      current = rejoin();
    });
    return connection;
  }

  async function leave(): Promise<void> {
    const connection = await current;
    if (!connection) return;
    const { sql } = connection;
    try {
      await sql`SELECT pg_advisory_unlock_shared(${locks.inUse})`;
      const isLast = await getValue(sql`SELECT pg_try_advisory_lock(${locks.inUse})`);
      if (isLast) await server.stop();
    } catch (error) {
      if (!isConnectionLost(error)) throw error;
    } finally {
      await connection.end();
    }
  }

  const first = await join();
  let current: Promise<Connection | undefined> = Promise.resolve(first);
  keep(first);
  return {
    url: addressOf(first, owner.serviceRole),
    adminUrl: addressOf(first, owner.name),
    clusterDir: cluster.directory,
    isNew: found === undefined,
    stop: () => {
      stopped ??= leave();
      return stopped;
    },
  };
}

/**
 * The addresses of the server that runs on a data directory, if one does. It may stop at any time:
 * see `purpose: 'command'`.
 */
export async function findEmbeddedPostgres(
  dataDir: string,
): Promise<Pick<EmbeddedDatabase, 'url' | 'adminUrl'> | undefined> {
  const cluster = await findCluster(dataDir);
  const connection = cluster && (await new EmbeddedServer(cluster, () => undefined).find());
  await connection?.end();
  return connection && { url: addressOf(connection, owner.serviceRole), adminUrl: addressOf(connection, owner.name) };
}

async function becomeTheService(sql: Tx, dataDir: string): Promise<void> {
  try {
    await sql`SELECT set_config('lock_timeout', ${String(lockWaitMs)}, false)`;
    await sql`SELECT pg_advisory_lock(${locks.service})`;
  } catch (error) {
    if (!hasCode(error, /^55P03$/)) throw error;
    const holder = await findValue<string>(sql`
      SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND objid = ${locks.service} AND granted`);
    throw new Error(
      `Another service (${holder ?? 'just gone'}) uses ${dataDir}: stop it, or give this one a DATA_DIR of its own.`,
    );
  }
}

function isConnectionLost(error: unknown): boolean {
  return hasCode(error, /^(57P|CONNECTION_|ECONN|EPIPE|ENOENT)/);
}

function hasCode(error: unknown, pattern: RegExp): boolean {
  return pattern.test(String((error as { code?: unknown } | null)?.code));
}
