// The connections of one process to its database: five pools, named for what may wait for what, so
// that no long statement delays a short one (design 1). Together they keep a budget that no process
// exceeds.
import { connect, openPool, type PoolOptions, type Reserved, type Sql } from '@carillon/postgres';

export interface DatabaseLimits extends Pick<PoolOptions, 'answers'> {
  /** Milliseconds that a caller waits for a connection. */
  readonly waitMs: number;
  /**
   * Milliseconds that a short statement may take. Together with the round trip and a new connection
   * it stays within ten seconds, in which the service must be back after a silent loss.
   */
  readonly shortMs: number;
  /**
   * Milliseconds that a transaction may be silent. A process that is stopped in the middle of a
   * transaction holds rows for which others wait, while their leases run. The transaction must end
   * long before a lease does.
   */
  readonly silenceMs: number;
  /**
   * Milliseconds after which an unused connection is closed: sooner than a minute, and later
   * than the next look for work.
   */
  readonly idleMs: number;
}

const usualLimits: DatabaseLimits = { waitMs: 1000, shortMs: 7000, silenceMs: 4000, idleMs: 20_000 };

/** The most connections that a process holds at once, under any load. */
export const connectionsMaxOfProcess = 16;

/** Statements over an audience that an API process has under way at once, for all apps together. */
export const audienceConnections = 3;

/**
 * Previews, dry runs and reports that an API process has under way at once, for all apps together.
 */
export const countConnections = 2;

const readConnections = 4;

/**
 * Requests that read pages at once, in each process. A read holds one connection at a time, so one
 * connection is always left for the look-ups of every request. No app ever has more than half of
 * the turns and one.
 */
export const readTurnsMax = readConnections - 1;

/**
 * The kind of a process: `api` serves callers, `worker` does the work. A process of tests does
 * both.
 */
export type ProcessRole = 'api' | 'worker';

interface PoolSizes {
  readonly prompt: number;
  readonly reads: number;
  readonly transactions: number;
  readonly send: number;
  readonly long: number;
}

/**
 * With the connection that listens, and in a worker those that build an index and detach a
 * partition, the pools come to 16. The `long` pool of a worker serves a scheduled message that starts
 * over a whole audience, one periodic task, and that task's lock.
 */
export const poolSizes: Readonly<Record<ProcessRole, PoolSizes>> = {
  api: { prompt: 1, reads: readConnections, transactions: 3, send: 2, long: audienceConnections + countConnections },
  worker: { prompt: 1, reads: 0, transactions: 4, send: 5, long: 3 },
};

/**
 * Connections beside the pools: one that listens, and in a worker one that builds an index and one
 * that detaches a partition.
 */
export const singleConnections: Readonly<Record<ProcessRole, number>> = { api: 1, worker: 3 };

export interface Databases {
  /**
   * Statements that wait for no lock and take a moment, one after the other: rate limits, renewals
   * of leases, looks at the clock and at the pause. This connection stays open as long as the
   * process, so that leases are renewed even when no other connection can be had.
   */
  readonly promptSql: Sql;
  /**
   * Reads, which wait for no lock. A long read delays no other read while a connection is free. A
   * worker uses its prompt connection for them, because its reads are few and short.
   */
  readonly sql: Sql;
  /**
   * Short transactions, which may wait for each other's rows: those of callers and of webhooks, and
   * the verdicts on devices.
   */
  readonly txSql: Sql;
  /** Claims, loads and flushes of the send, which nothing may delay. */
  readonly sendSql: Sql;
  /**
   * Statements over an audience, counts, and a worker's upkeep. In an API process each kind has
   * turns of its own (`service.ts`).
   */
  readonly workSql: Sql;
  /**
   * One connection without a time limit, open while an index is built, which takes as long as the
   * table needs.
   */
  readonly indexSql: Sql;
  /**
   * One connection without a time limit, open while a partition is detached. It waits for every
   * transaction that may see the partition, such as a `pg_dump`, and delays nothing else.
   */
  readonly detachSql: Sql;
  /** Opens the connection that listens for notifications. */
  openListener(): Promise<Reserved>;
  /** Milliseconds that a caller waits for a connection. */
  readonly waitMs: number;
  close(): Promise<void>;
}

/**
 * Milliseconds that a worker's statement waits for an open connection before another one is opened.
 * A look for work ends sooner, and a send that has begun soon has all the connections that it
 * needs.
 */
const workerGrowAfterMs = 100;
/**
 * The same wait for writing outcomes. Many messages that end together need all connections at once,
 * and their outcomes must be committed within 500 ms of the provider's answer.
 */
const sendGrowAfterMs = 20;

/**
 * Prepares the pools, which make connections when they are first needed. Without a role the pools
 * are large enough for both roles.
 */
export function openDatabases(url: string, role?: ProcessRole, limits?: Partial<DatabaseLimits>): Databases {
  const { waitMs, shortMs, silenceMs, idleMs, answers } = { ...usualLimits, ...limits };
  const sizeOf = (pool: keyof PoolSizes): number =>
    role ? poolSizes[role][pool] : Math.max(poolSizes.api[pool], poolSizes.worker[pool]);
  const optionsOf = (name: string) => ({
    url,
    name: `carillon ${name}`,
    statementTimeoutMs: shortMs,
    silenceMsMax: silenceMs,
    idleMs,
    ...(role === 'worker' && { growAfterMs: workerGrowAfterMs }),
    ...(answers && { answers }),
  });
  const open = (name: string, connectionsMax: number, options: Partial<PoolOptions> = {}): Sql =>
    openPool({ ...optionsOf(name), connectionsMax, ...options });
  const openOwn = (pool: keyof PoolSizes, options?: Partial<PoolOptions>): Sql => open(pool, sizeOf(pool), options);
  // A caller's statement is refused when it finds no connection within `waitMs`. A worker's
  // statement waits.
  const ofCallers = role === 'worker' ? {} : { waitMs };
  const promptSql = openOwn('prompt', { idleMs: undefined, lifeMs: Number.POSITIVE_INFINITY });
  const pools = {
    promptSql,
    sql: sizeOf('reads') === 0 ? promptSql : openOwn('reads', { ...ofCallers, plansForValues: true }),
    txSql: openOwn('transactions', ofCallers),
    sendSql: openOwn('send', role === 'worker' ? { growAfterMs: sendGrowAfterMs } : {}),
    workSql: openOwn('long', { statementTimeoutMs: 60_000, statementsVary: true, ...ofCallers }),
    indexSql: open('index', 1, { statementTimeoutMs: 0 }),
    detachSql: open('detach', 1, { statementTimeoutMs: 0 }),
  };
  return {
    ...pools,
    openListener: () => connect(optionsOf('listen')),
    waitMs,
    async close() {
      await Promise.all([...new Set(Object.values(pools))].map((each) => each.end({ timeout: 5 })));
    },
  };
}
