// All access to PostgreSQL: pools, transactions and the `sql` tag. Columns are snake_case in the
// database and camelCase in code; this file converts them. SQL is never built from text: every
// value is a parameter.
import postgres from 'postgres';
import {
  askForTypesOnce,
  beginHeld,
  endWithoutWaiting,
  type Holder,
  savepointHeld,
  startAtOnce,
  tellOfLosses,
} from './driver-repairs.ts';
import { handTogether } from './hand-together.ts';
import { standInLine } from './pool-line.ts';
import { ConnectionLostError, createDatabaseSockets } from './socket.ts';
import { splitSocket } from './split-socket.ts';
import { findTlsFault, type TlsMode } from './tls.ts';

export type Sql = postgres.Sql<{ bigint: number }>;
/** A pool or a transaction on it; query functions take either. */
export type Tx = postgres.TransactionSql<{ bigint: number }> | Sql;
/** A part of a statement, to nest in another. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;
export type Row = postgres.Row;
/** Takes the last statements of a transaction, in order. */
export type AtEnd = (statements: readonly Fragment[]) => void;

export interface PoolOptions {
  /** `postgres://…`; a unix socket is given as `?host=/directory`. */
  readonly url: string;
  readonly connectionsMax: number;
  /** The name in pg_stat_activity. */
  readonly name: string;
  /** Milliseconds after which every statement ends; 0: no limit. */
  readonly statementTimeoutMs: number;
  /**
   * Milliseconds of silence after which the server undoes a transaction. Default: the limit of a
   * statement.
   */
  readonly silenceMsMax?: number;
  /**
   * For statements over a whole audience, each of a different form. None is prepared: the server
   * would keep them all and plan them without their values. They may sort in memory. JIT
   * compilation is off, because it takes longer than most of them. A random page costs little more
   * than a sequential one, as it does in memory and on an SSD.
   */
  readonly isOverAudience?: boolean;
  /**
   * Statements are planned once and without their values. For statements that are repeated with
   * lists of a thousand ids. A plan made for such a list prefers a scan of the whole table to the
   * look-ups, and each connection would begin with some such plans.
   */
  readonly hasSteadyPlans?: boolean;
  /**
   * True: a statement waits for the first free connection. Otherwise it may be sent behind others
   * on a busy connection, which saves a round trip and then waits for the slowest of them.
   */
  readonly isInTurn?: boolean;
  /**
   * Milliseconds that a statement waits for a connection before it is refused. Default: no limit.
   */
  readonly waitMs?: number;
  /** Milliseconds to wait for a server that has no connection left (53300). */
  readonly fullMs?: number;
  /** Milliseconds that a statement waits for an open connection before another one is opened. */
  readonly growAfterMs?: number;
  /** Milliseconds without use after which a connection is closed. Undefined: it stays open. */
  readonly idleMs?: number | undefined;
  /** Shorter limits for dead connections, for tests. */
  readonly answers?: { readonly graceMs: number; readonly promptMs: number; readonly silentMs: number };
}

/**
 * Milliseconds. Another process has most likely released connections by then, and no lease has
 * expired.
 */
const fullMs = 5000;
/** Milliseconds; most statements take less. */
const growAfterMs = 10;

/** Milliseconds by which an answer may exceed the limit of its statement, for the round trip. */
const graceMs = 2000;
/**
 * Milliseconds. Nothing delays a server's answer to a BEGIN or a sign of life, so a dead connection
 * is found before it costs the time of a long statement.
 */
const promptMs = 5000;
/**
 * Milliseconds of silence after which a sign of life is requested. A busy connection gives enough
 * signs by itself.
 */
const silentMs = 2000;

/**
 * The server also finds out within a minute when this process is gone, and releases the session's
 * locks.
 */
const serverKeepAlive = '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3';

// The driver omits a parameter of 0, and the server's own limit would apply.
const noDeadline = '-c statement_timeout=0';

interface TlsOptions {
  readonly ssl: TlsMode;
  readonly sslnegotiation: string | null;
}

/**
 * Describes an unsafe connection to the database in a sentence for the operator; undefined when it
 * is safe. Reads the URL as the driver does, and repeats no part of it except the host.
 */
export function describeUnsafeWay(url: string): string | undefined {
  const { address, host: socket } = splitSocket(url);
  const { host, ssl } = postgres(address, { max: 0 }).options as unknown as TlsOptions & { host: string | string[] };
  const fault = findTlsFault(socket ?? host, ssl);
  if (fault === undefined) return undefined;
  const names = [host].flat().join(', ');
  const what =
    fault === 'plain'
      ? `The connection to ${names} may be without TLS: its password and all data can be read on the way`
      : `The connection to ${names} is encrypted, and the server is not verified: somebody on the way can read and change all data`;
  return `${what}. Add sslmode=verify-full to DATABASE_URL.`;
}

/**
 * Opens a pool. Connections open at their first use and again after a loss; nothing here ends the
 * process. Every statement is answered in time or rejects with a code that `isDatabaseDown` knows.
 */
export function openPool(options: PoolOptions): Sql {
  const { url, connectionsMax, name, statementTimeoutMs, isOverAudience, hasSteadyPlans, waitMs } = options;
  const { silenceMsMax = statementTimeoutMs } = options;
  const answers = options.answers ?? { graceMs, promptMs, silentMs };
  const { address, ...socket } = splitSocket(url);
  // `max: 0` opens no connection and shows how the driver reads the URL.
  const { ssl, sslnegotiation } = postgres(address, { max: 0 }).options as unknown as TlsOptions;
  const sockets = createDatabaseSockets({
    tls: { mode: ssl, negotiation: sslnegotiation },
    answerMsMax: statementTimeoutMs && statementTimeoutMs + answers.graceMs,
    promptMsMax: answers.promptMs,
    silentMsMax: answers.silentMs,
  });
  const sql = postgres(address, {
    ...socket,
    // The driver has these options, but its types lack them. The socket handles TLS.
    ...({ socket: sockets.open, sslnegotiation: null } as object),
    ssl: false,
    max: connectionsMax,
    connect_timeout: 5,
    ...(options.idleMs !== undefined && { idle_timeout: options.idleMs / 1000 }),
    // The first tries follow quickly, because a restarted database is back in well under a second.
    backoff: (attempt: number) => Math.min(2, 0.05 * 2 ** attempt),
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: silenceMsMax,
      TimeZone: 'UTC',
      ...(isOverAudience && { work_mem: '64MB', jit: 'off', random_page_cost: 1.1 }),
      ...(hasSteadyPlans && { plan_cache_mode: 'force_generic_plan' }),
    },
    ...(isOverAudience && { prepare: false }),
    onnotice: () => undefined,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    // Counts in int8 stay far below 2^53; as numbers they need no conversion at every use.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  }) as Sql;
  askForTypesOnce(sql);
  startAtOnce(sql, statementTimeoutMs === 0 ? `${serverKeepAlive} ${noDeadline}` : serverKeepAlive);
  tellOfLosses(sql);
  endWithoutWaiting(sql, sockets);
  standInLine(sql, {
    ...{ connectionsMax, sockets, waitMs, isInTurn: options.isInTurn ?? false },
    ...{ fullMs: options.fullMs ?? fullMs, growAfterMs: options.growAfterMs ?? growAfterMs },
  });
  return sql;
}

/**
 * Sends a statement without preparing it. For a statement whose text depends on what a caller asked
 * for: a connection keeps every prepared statement as long as it lives.
 */
export function unprepared<Statement extends object>(statement: Statement): Statement {
  // The driver reads this option of each statement; its types lack it.
  (statement as unknown as { options: { prepare?: boolean } }).options.prepare = false;
  return statement;
}

/**
 * Runs `work` in one transaction. A value passed to `rollback` undoes everything and becomes the
 * result, for refusals that are no error.
 *
 * Statements passed to `atEnd` are sent after `work`, together with the COMMIT. They are for rows
 * that many processes write, so that no round trip of ours prolongs their locks. No code can depend
 * on an answer to them. The first refused one undoes everything and rejects. When this promise
 * resolves, they have resolved too.
 *
 * When the connection is lost inside a transaction, its handle refuses every further statement. No
 * rollback is sent, because the server has rolled back anyway. `begin` itself rejects when the
 * connection closes.
 */
export async function transaction<Result>(
  sql: Sql,
  work: (tx: Tx, rollback: (result: Result) => never, atEnd: AtEnd) => Promise<Result>,
): Promise<Result> {
  class Rollback extends Error {
    readonly result: Result;
    constructor(result: Result) {
      super('rolled back');
      this.result = result;
    }
  }
  const connection: Holder = { isLost: false };
  const last: Fragment[] = [];
  const begun = beginHeld(sql, connection, async (tx) => {
    const rollback = (result: Result): never => {
      throw new Rollback(result);
    };
    try {
      const result = await work(tx, rollback, (statements) => void last.push(...statements));
      if (!connection.isLost && last.length > 0) await handTogether(tx, connection, last);
      return connection.isLost ? await forever : result;
    } catch (error) {
      if (connection.isLost || isConnectionLost(error)) return await forever;
      throw error;
    }
  });
  try {
    // The driver's type unwraps arrays of promises, which no caller here returns.
    const result = (await begun) as Result;
    // When one of them was refused, the server still answered the COMMIT behind it, with ROLLBACK.
    await Promise.all(last);
    return result;
  } catch (error) {
    if (error instanceof Rollback) return error.result;
    throw error;
  }
}

/**
 * Runs `work` in a savepoint. When `work` throws, its changes are undone, the caller gets the error
 * and the transaction continues.
 */
export async function savepoint<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  if (!('savepoint' in tx)) throw new Error('a savepoint needs a transaction');
  // The same rule as for a transaction: otherwise the driver would send the rollback to a dead
  // connection.
  return savepointHeld(tx, async (inner, connection) => {
    try {
      const result = await work(inner);
      return connection.isLost ? await forever : result;
    } catch (error) {
      if (connection.isLost || isConnectionLost(error)) return await forever;
      throw error;
    }
  });
}

/** Limits each further statement of a transaction to `limitMs`. */
export async function limitStatements(tx: Tx, limitMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(limitMs)}, true)`;
}

const forever = new Promise<never>(() => undefined);

/**
 * Returns whether the error says that the connection is lost, in our own words or in the driver's.
 */
function isConnectionLost(error: unknown): boolean {
  if (error instanceof ConnectionLostError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(57P0|25P03|CONNECTION_|ECONN|EPIPE|ETIMEDOUT)/.test(code);
}

/**
 * Returns whether SQLSTATE or the driver's code means "the database is not available", in contrast
 * to "the statement is wrong". A database that accepts no session (wrong password, renamed, closed
 * to connections) is as unavailable as one that is down. A name that does not resolve counts too,
 * because containers show an outage like that.
 */
export function isDatabaseDown(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof ConnectionLostError) return true;
  if (typeof code !== 'string') return false;
  return /^(08|28|53|57P|25006|25P03|3D000|40001|40P01|55000|ECONN|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|EPIPE|ETIMEDOUT|CONNECT)/.test(
    code,
  );
}

/**
 * Returns whether the database's state refused, and not the statement: it is unavailable, full, in
 * a deadlock, or slower than a limit on statements or locks. The same statement may succeed later.
 */
export function isDatabaseState(error: unknown): boolean {
  return isDatabaseDown(error) || /^(57014|55P03)$/.test(codeOf(error));
}

/**
 * Returns whether no answer came or no server was there. With a new connection the statement may
 * succeed at once.
 */
export function isDatabaseAway(error: unknown): boolean {
  return isDatabaseDown(error) && !/^(28|40|5[358])/.test(codeOf(error));
}

/** Returns whether our own side closed the pool, so that nothing will ever succeed on it. */
export function isPoolClosed(error: unknown): boolean {
  return /^CONNECTION_(ENDED|DESTROYED)$/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

const repeatsMax = 5;

/** Runs repeatable work again when the database ended it to resolve a deadlock. */
export async function repeatOnDeadlock<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let repeat = 1; ; repeat++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== '40P01' || repeat === repeatsMax) throw error;
    }
  }
}

/** Code 57014: a statement exceeded its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

const jsonOid = 114;

/**
 * A document for a column of type `json`, which keeps the order of keys. `tx.json` sends jsonb,
 * which loses it.
 */
export function asJson(tx: Tx, document: unknown) {
  return tx.typed(document as never, jsonOid);
}

/**
 * Gives all statements of a transaction the snapshot of the first one. Call it before the first
 * statement.
 */
export async function readOneSnapshot(tx: Tx): Promise<void> {
  await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;
}

/** Sets a shorter limit than the pool's for each statement of this transaction. */
export async function setStatementTimeout(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
