// The connections of one process to its one database: five pools, named for what may wait for what, so that nothing long stands in
// front of anything short (design 1), and a budget that no process exceeds.
import { openPool, type PoolOptions, type Sql } from './platform/db.ts';

export interface DatabaseLimits extends Pick<PoolOptions, 'answers'> {
  /** A caller waits this long for a connection. */
  readonly waitMs: number;
  /**
   * A short statement ends by then: with the way there and back, and a new connection, within the ten seconds after which the
   * service is back after a silent loss.
   */
  readonly shortMs: number;
  /**
   * A process that is stopped in the middle of a transaction holds rows that others wait for, and with those rows their leases: it
   * must end long before a lease does.
   */
  readonly silenceMs: number;
  /** A connection that nothing has used for so long is closed: sooner than a minute, and later than the next look for work. */
  readonly idleMs: number;
}

const usualLimits: DatabaseLimits = { waitMs: 1000, shortMs: 7000, silenceMs: 4000, idleMs: 20_000 };

/** A process holds no more at once, under any load. */
export const connectionsMaxOfProcess = 16;

/** Statements over an audience that an API process has under way at once, of all apps. */
export const audienceConnections = 3;

/** Counts that somebody only asks for, likewise. */
export const countConnections = 2;

const readConnections = 4;

/**
 * Requests that read pages, in each process. A read holds one connection at a time, so one connection is always left for
 * what every request asks, and no app ever has more than half of the turns and one.
 */
export const readTurnsMax = readConnections - 1;

/** What a process does: callers are served by one kind, work is done by the other. A process of tests does both. */
export type ProcessRole = 'api' | 'worker';

interface PoolSizes {
  readonly prompt: number;
  readonly reads: number;
  readonly transactions: number;
  readonly send: number;
  readonly long: number;
}

/**
 * With the connection that listens, and a worker's for building an index, these come to 16. A worker starts two scheduled messages at
 * once over whole audiences, and has one periodic task under way, with its lock.
 */
export const poolSizes: Readonly<Record<ProcessRole, PoolSizes>> = {
  api: { prompt: 1, reads: readConnections, transactions: 3, send: 2, long: audienceConnections + countConnections },
  worker: { prompt: 1, reads: 0, transactions: 4, send: 5, long: 4 },
};

/** Beside its pools: the one that listens, and in a worker the one that builds an index. */
export const singleConnections: Readonly<Record<ProcessRole, number>> = { api: 1, worker: 2 };

export interface Databases {
  /**
   * Statements that wait for nobody and take a moment, one after the other: rate limits, renewals of leases, looks at the clock and
   * the pause. Its connection is open as long as the process: where no other can be had, a lease is kept all the same.
   */
  readonly promptSql: Sql;
  /**
   * Reads, which wait for no lock; a long one keeps no other waiting while a connection is free. In a worker, whose reads are few and
   * short, the prompt ones.
   */
  readonly sql: Sql;
  /** Short transactions, which may wait for each other's rows: of callers, of webhooks, and what outcomes say of devices. */
  readonly txSql: Sql;
  /** The send's own claims, loads and flushes, which nothing may delay. */
  readonly sendSql: Sql;
  /** Statements over an audience, counts, and a worker's upkeep. In an API process each kind has turns of its own (`service.ts`). */
  readonly workSql: Sql;
  /** One connection, open while an index is built: how long that takes is the table's business, and nothing else waits for it. */
  readonly indexSql: Sql;
  /** One connection for notifications. */
  openListener(): Sql;
  /** How long a caller waits for a connection. */
  readonly waitMs: number;
  close(): Promise<void>;
}

/** By then a look for work is over; and a send that has begun soon has all connections that it needs. */
const workerGrowAfterMs = 100;

/** Opens nothing yet: connections are made when they are first needed. Without a role the pools are large enough for both. */
export function openDatabases(url: string, role?: ProcessRole, limits?: Partial<DatabaseLimits>): Databases {
  const { waitMs, shortMs, silenceMs, idleMs, answers } = { ...usualLimits, ...limits };
  const sizeOf = (pool: keyof PoolSizes): number =>
    role ? poolSizes[role][pool] : Math.max(poolSizes.api[pool], poolSizes.worker[pool]);
  const open = (name: string, connectionsMax: number, options: Partial<PoolOptions> = {}): Sql =>
    openPool({
      ...{
        url,
        connectionsMax,
        name: `carillon ${name}`,
        statementTimeoutMs: shortMs,
        silenceMsMax: silenceMs,
        idleMs,
      },
      ...(role === 'worker' && { growAfterMs: workerGrowAfterMs }),
      ...(answers && { answers }),
      ...options,
    });
  const openOwn = (pool: keyof PoolSizes, options?: Partial<PoolOptions>): Sql => open(pool, sizeOf(pool), options);
  // What a caller waits for is refused when it finds no connection within a second; what is sent waits.
  const ofCallers = role === 'worker' ? {} : { waitMs };
  const promptSql = openOwn('prompt', { hasSteadyPlans: true, idleMs: undefined });
  const pools = {
    promptSql,
    sql: sizeOf('reads') === 0 ? promptSql : openOwn('reads', { ...ofCallers, isInTurn: true }),
    txSql: openOwn('transactions', ofCallers),
    sendSql: openOwn('send', { hasSteadyPlans: true }),
    workSql: openOwn('long', { statementTimeoutMs: 60_000, isOverAudience: true, ...ofCallers }),
    indexSql: open('index', 1, { statementTimeoutMs: 0 }),
  };
  return {
    ...pools,
    openListener: () => open('listen', 1),
    waitMs,
    async close() {
      await Promise.all([...new Set(Object.values(pools))].map((each) => each.end({ timeout: 5 })));
    },
  };
}
