// The connections of one process to its one database: a pool for each kind of work, by how long that may take, so that nothing long
// stands in front of anything short (design 1).
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
}

const usualLimits: DatabaseLimits = { waitMs: 1000, shortMs: 7000, silenceMs: 4000 };

/** For statements over an audience, in each process. */
export const audienceConnections = 3;

/** Beside them, for what a worker does to itself: each such task holds one for its lock and works on another. */
const upkeepConnections = 6;

/** For counts that somebody only asks for. */
export const countConnections = 3;

const readConnections = 4;

/**
 * Requests that read pages, in each process. A read holds one connection at a time, so one connection is always left for
 * what every request asks, and no app ever has more than half of the turns and one.
 */
export const readTurnsMax = readConnections - 1;

/** A bucket's row is locked for well under a millisecond: who waits for a second waits for a database that is not well. */
const limiterPool = {
  connectionsMax: 2,
  name: 'carillon limits',
  statementTimeoutMs: 1000,
  mayLoseCommits: true,
};

export interface Databases {
  /** Reads, of which a long one keeps no other waiting while a connection is free. */
  readonly sql: Sql;
  /** Short transactions. */
  readonly txSql: Sql;
  /** Statements over an audience, and a worker's upkeep. */
  readonly workSql: Sql;
  /** How long an index takes to build is the table's business; nothing else waits for this connection. */
  readonly indexSql: Sql;
  /** Counts that somebody only asks for. */
  readonly countSql: Sql;
  /** The send's own claims, loads and flushes, which nothing may delay. */
  readonly sendSql: Sql;
  /** Renewals stand behind none of these: where a lease runs out while its process lives, what it pushes is pushed again. */
  readonly leaseSql: Sql;
  /** What outcomes say of credentials is written where processes wait for each other: no flush stands behind that. */
  readonly verdictSql: Sql;
  /** Used by workers only: no endpoint's answers wait for a send's commits, and none of those for them. */
  readonly webhookSql: Sql;
  /** The rate limiter stands before every other statement of a request, and waits for none of them. */
  readonly limitSql: Sql;
  /** One connection for notifications. */
  openListener(): Sql;
  /** How long a caller waits for a connection. */
  readonly waitMs: number;
  close(): Promise<void>;
}

/** Opens nothing yet: connections are made when they are first needed. */
export function openDatabases(url: string, limits?: Partial<DatabaseLimits>): Databases {
  const { waitMs, shortMs, silenceMs, answers } = { ...usualLimits, ...limits };
  const pool = { url, silenceMsMax: silenceMs, ...(answers && { answers }) };
  // What a caller waits for is refused when it finds no connection within a second; what is sent waits.
  const open = (
    name: string,
    connectionsMax: number,
    statementTimeoutMs: number,
    kind?: Pick<PoolOptions, 'isOverAudience' | 'isInTurn'>,
  ): Sql => openPool({ ...pool, connectionsMax, name: `carillon ${name}`, statementTimeoutMs, waitMs, ...kind });
  const openPatient = (name: string, connectionsMax: number, hasSteadyPlans = false): Sql =>
    openPool({ ...pool, connectionsMax, name: `carillon ${name}`, statementTimeoutMs: shortMs, hasSteadyPlans });
  const pools = {
    sql: open('reads', readConnections, shortMs, { isInTurn: true }),
    txSql: open('transactions', 6, shortMs),
    workSql: open('audience', audienceConnections + upkeepConnections, 60_000, { isOverAudience: true }),
    indexSql: openPool({ ...pool, connectionsMax: 1, name: 'carillon indexes', statementTimeoutMs: 0 }),
    countSql: open('counts', countConnections, 60_000, { isOverAudience: true }),
    sendSql: openPatient('send', 5, true),
    leaseSql: openPatient('leases', 1, true),
    verdictSql: openPatient('verdicts', 2, true),
    webhookSql: openPatient('webhooks', 3),
    limitSql: openPool({ ...pool, ...limiterPool, waitMs }),
  };
  return {
    ...pools,
    openListener: () => open('listen', 1, shortMs),
    waitMs,
    async close() {
      await Promise.all(Object.values(pools).map((each) => each.end({ timeout: 5 })));
    },
  };
}
