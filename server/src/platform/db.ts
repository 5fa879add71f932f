// The one door to PostgreSQL: pools, transactions and the `sql` tag. Columns are snake_case in the database and camelCase
// in code; the crossing is made here. Never builds SQL from text: every value is a parameter.
import postgres from 'postgres';
import { createDatabaseSockets } from './database-socket.ts';
import { splitSocket } from './embedded-postgres.ts';

export type Sql = postgres.Sql<{ bigint: number }>;
/** Either the pool or a transaction on it: what a query function takes. */
export type Tx = postgres.TransactionSql<{ bigint: number }> | Sql;
/** A piece of a statement, to be nested in another. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;
export type Row = postgres.Row;

export interface PoolOptions {
  /** `postgres://…`; a unix socket is given as `?host=/directory`. */
  readonly url: string;
  readonly connectionsMax: number;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Every statement ends by then, at the latest. */
  readonly statementTimeoutMs: number;
  /** A transaction whose process says nothing for so long is undone. Default: as long as a statement may take. */
  readonly silenceMsMax?: number;
  /** True: a commit does not wait for the disk. For what may be lost in a crash of the database. */
  readonly mayLoseCommits?: boolean;
}

/** Opens a pool. Connections are made when first needed and made again after a loss; nothing here ends the process. */
export function openPool(options: PoolOptions): Sql {
  const { url, connectionsMax, name, statementTimeoutMs, silenceMsMax = statementTimeoutMs, mayLoseCommits } = options;
  const { address, ...socket } = splitSocket(url);
  const sql = postgres(address, {
    ...socket,
    // The driver has this option, and its types do not.
    ...({ socket: createDatabaseSockets() } as object),
    max: connectionsMax,
    connect_timeout: 5,
    // Reconnect at once at first: a restarted database is back in well under a second.
    backoff: (attempt: number) => Math.min(2, 0.05 * 2 ** attempt),
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: silenceMsMax,
      TimeZone: 'UTC',
      ...(mayLoseCommits && { synchronous_commit: 'off' }),
    },
    onnotice: () => undefined,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    // int8 counts stay far below 2^53; as numbers they need no conversion at every use.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  }) as Sql;
  askForTypesOnce(sql);
  return sql;
}

// The driver asks each new connection for the array types. When that connection ends meanwhile, it rejects a promise that
// nobody holds, which ends the process: a restarting database would take us with it. The answer is the same for all of a
// pool, so those that follow the first do not ask.
function askForTypesOnce(sql: Sql): void {
  const { typeArrayMap } = (sql.options as unknown as { shared: { typeArrayMap: object } }).shared;
  Object.defineProperty(sql.options, 'fetch_types', { get: () => Object.keys(typeArrayMap).length === 0 });
}

/**
 * Runs `work` in one transaction. A value passed to `rollback` undoes everything and becomes the result, for refusals that
 * are no error.
 *
 * A connection that is lost inside a transaction must not be spoken to again: the driver would write to a socket that is
 * gone, from a timer that nobody can catch, and end the process. So its handle refuses from then on, and no rollback is asked
 * for, which the server has done anyway. `begin` itself rejects when the connection closes.
 */
export async function transaction<Result>(
  sql: Sql,
  work: (tx: Tx, rollback: (result: Result) => never) => Promise<Result>,
  mayRepeat = true,
): Promise<Result> {
  class Rollback extends Error {
    readonly result: Result;
    constructor(result: Result) {
      super('rolled back');
      this.result = result;
    }
  }
  const connection = { isLost: false };
  let isBegun = false;
  const begun = sql.begin(async (tx) => {
    isBegun = true;
    const rollback = (result: Result): never => {
      throw new Rollback(result);
    };
    try {
      const result = await work(guard(tx, connection), rollback);
      return connection.isLost ? await forever : result;
    } catch (error) {
      if (connection.isLost || isConnectionLost(error)) return await forever;
      throw error;
    }
  });
  begun.catch(() => {
    connection.isLost = true;
  });
  try {
    // The driver's type unwraps arrays of promises, which no caller here returns.
    return (await begun) as Result;
  } catch (error) {
    if (error instanceof Rollback) return error.result;
    // The driver hands the last word of a dead connection to the first who uses its successor: nothing was begun.
    if (!isBegun && isGoodbye(error) && mayRepeat) return transaction(sql, work, false);
    throw error;
  }
}

/**
 * Runs `work` in a part of a transaction that can be undone by itself: when it throws, what it did is undone, the error is the
 * caller's, and the transaction goes on.
 */
export async function savepoint<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  if (!('savepoint' in tx)) throw new Error('a savepoint stands in a transaction');
  return (await tx.savepoint((inner) => work(inner))) as Result;
}

/** From here to its end, each statement of a transaction has at most so long. */
export async function limitStatements(tx: Tx, limitMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(limitMs)}, true)`;
}

const forever = new Promise<never>(() => undefined);

type Transaction = postgres.TransactionSql<{ bigint: number }>;

function guard(tx: Transaction, connection: { readonly isLost: boolean }): Tx {
  return new Proxy(tx, {
    apply(target, self, parameters) {
      if (connection.isLost) throw Object.assign(new Error('the connection is lost'), { code: 'CONNECTION_CLOSED' });
      return Reflect.apply(target, self, parameters);
    },
    get(target, name) {
      if (name !== 'savepoint') return Reflect.get(target, name);
      // Inside of it the same holds: the driver would ask a dead connection to go back to the savepoint.
      return (work: (inner: Tx) => Promise<unknown>) =>
        target.savepoint(async (inner) => {
          try {
            const result = await work(guard(inner, connection));
            return connection.isLost ? await forever : result;
          } catch (error) {
            if (connection.isLost || isConnectionLost(error)) return await forever;
            throw error;
          }
        });
    },
  });
}

/** The server ended the connection: administrator, crash, or not yet up. */
function isGoodbye(error: unknown): boolean {
  return /^57P0/.test(String((error as { code?: unknown } | null)?.code));
}

/** The server said goodbye (57P01 and its like), or the socket is gone. */
function isConnectionLost(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(57P0|25P03|CONNECTION_|ECONN|EPIPE|ETIMEDOUT)/.test(code);
}

/**
 * SQLSTATEs and driver words that mean "the database is not there", as opposed to "the statement is wrong". A database that
 * lets nobody in (wrong password, renamed, closed to connections) is as far away as one that is down, and so is one whose
 * name no longer resolves, which is what an outage looks like between containers.
 */
export function isDatabaseDown(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return false;
  return /^(08|28|53|57P|25006|25P03|3D000|40001|40P01|55000|ECONN|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|EPIPE|ETIMEDOUT|CONNECT)/.test(
    code,
  );
}

const repeatsMax = 5;

/** Runs work that may be repeated again when the database ended it to resolve a deadlock. */
export async function repeatOnDeadlock<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let repeat = 1; ; repeat++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== '40P01' || repeat === repeatsMax) throw error;
    }
  }
}

/** Class 57014: a statement ran over its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '57014';
}

/** A shorter limit than the pool's for each statement of this transaction. */
export async function setStatementTimeout(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
