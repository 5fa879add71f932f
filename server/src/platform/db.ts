// The one door to PostgreSQL: pools, transactions and the `sql` tag. Columns are snake_case in the database and camelCase
// in code; the crossing is made here. Never builds SQL from text: every value is a parameter.
import postgres from 'postgres';
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
}

/** Opens a pool. Connections are made when first needed and made again after a loss; nothing here ends the process. */
export function openPool({ url, connectionsMax, name, statementTimeoutMs }: PoolOptions): Sql {
  const { address, ...socket } = splitSocket(url);
  return postgres(address, {
    ...socket,
    max: connectionsMax,
    connect_timeout: 5,
    // Reconnect at once at first: a restarted database is back in well under a second.
    backoff: (attempt: number) => Math.min(2, 0.05 * 2 ** attempt),
    connection: {
      application_name: name,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      TimeZone: 'UTC',
    },
    onnotice: () => undefined,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    // int8 counts stay far below 2^53; as numbers they need no conversion at every use.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  }) as Sql;
}

/**
 * Runs `work` in one transaction. A value passed to `rollback` undoes everything and becomes the result, for refusals that
 * are no error.
 */
export async function transaction<Result>(
  sql: Sql,
  work: (tx: Tx, rollback: (result: Result) => never) => Promise<Result>,
): Promise<Result> {
  class Rollback extends Error {
    readonly result: Result;
    constructor(result: Result) {
      super('rolled back');
      this.result = result;
    }
  }
  try {
    // The driver's type unwraps arrays of promises, which no caller here returns.
    return (await sql.begin((tx) =>
      work(tx, (result) => {
        throw new Rollback(result);
      }),
    )) as Result;
  } catch (error) {
    if (error instanceof Rollback) return error.result;
    throw error;
  }
}

/** SQLSTATE classes and driver words that mean "the database is not there", as opposed to "the statement is wrong". */
export function isDatabaseDown(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return false;
  return /^(08|53|57P|ECONN|ENOENT|EPIPE|ETIMEDOUT|CONNECT|CONNECTION_)/.test(code);
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
