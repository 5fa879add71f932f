// The one door to PostgreSQL: pools, transactions and the `sql` tag. Columns are snake_case in the database and camelCase
// in code; the crossing is made here. Never builds SQL from text: every value is a parameter.
import postgres from 'postgres';
import { ConnectionLostError, createDatabaseSockets } from './database-socket.ts';
import { findTlsFault, type TlsMode } from './database-tls.ts';
import {
  askForTypesOnce,
  beginHeld,
  endWithoutWaiting,
  type Holder,
  savepointHeld,
  startAtOnce,
  tellOfLosses,
} from './driver-repairs.ts';
import { splitSocket } from './embedded-postgres.ts';
import { handTogether } from './hand-together.ts';
import { standInLine } from './pool-line.ts';

export type Sql = postgres.Sql<{ bigint: number }>;
/** Either the pool or a transaction on it: what a query function takes. */
export type Tx = postgres.TransactionSql<{ bigint: number }> | Sql;
/** A piece of a statement, to be nested in another. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;
export type Row = postgres.Row;
/** Takes the last statements of a transaction, in order. */
export type AtEnd = (statements: readonly Fragment[]) => void;

export interface PoolOptions {
  /** `postgres://…`; a unix socket is given as `?host=/directory`. */
  readonly url: string;
  readonly connectionsMax: number;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Every statement ends by then, at the latest; 0: it takes as long as it takes. */
  readonly statementTimeoutMs: number;
  /** A transaction whose process says nothing for so long is undone. Default: as long as a statement may take. */
  readonly silenceMsMax?: number;
  /**
   * For statements over a whole audience, each of a form of its own: none is kept prepared, where the server would keep them all and
   * plan them without their values; they may sort in memory; none is compiled, which takes longer than most of them; and a page out of
   * turn is taken to cost little more than the next one, as in memory and on an SSD.
   */
  readonly isOverAudience?: boolean;
  /**
   * Statements are planned once and without their values. For those that are asked again and again with lists of a thousand ids: to a plan
   * made for such a list, a walk through the whole table looks cheaper than the look-ups, and each connection would begin with some.
   */
  readonly hasSteadyPlans?: boolean;
  /**
   * True: a statement waits for the first connection that is free. Else it may be sent behind others on a connection in use, which
   * saves the way there and back, and then waits for the longest of them.
   */
  readonly isInTurn?: boolean;
  /** A statement waits this long for a connection and is then refused; without it as long as it takes. */
  readonly waitMs?: number;
  /** A server that has no connection left (53300) is waited for so long. */
  readonly fullMs?: number;
  /** A statement that finds all open connections in use waits so long for one of them before another is opened. */
  readonly growAfterMs?: number;
  /** A connection that nothing has used for so long is closed; without it, it stays. */
  readonly idleMs?: number | undefined;
  /** For those who cannot wait as long for a dead connection: tests. */
  readonly answers?: { readonly graceMs: number; readonly promptMs: number; readonly silentMs: number };
}

/** Within it another process has most likely given connections back, and no lease has run out. */
const fullMs = 5000;
/** Most statements take less. */
const growAfterMs = 10;

/** How much longer than its own limit a statement's answer may take: the way there and back. */
const graceMs = 2000;
/**
 * Nothing keeps a server from answering a BEGIN or giving a sign of life: so a connection that is silently dead is found before
 * it costs the time of a long statement.
 */
const promptMs = 5000;
/** A sign of life is asked for after this: a busy connection gives enough of them. */
const silentMs = 2000;

/** The server, too, finds out within a minute when we are gone, and gives back what a session has locked. */
const serverKeepAlive = '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3';

// The driver leaves a parameter of 0 out, and then the server's own limit would hold.
const noDeadline = '-c statement_timeout=0';

interface TlsOptions {
  readonly ssl: TlsMode;
  readonly sslnegotiation: string | null;
}

/**
 * What is wrong with the way to the database, in a sentence for the operator; undefined: nothing is. Reads the address as the
 * driver does, and repeats no part of it but the host.
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
 * Opens a pool. Connections are made when first needed and made again after a loss; nothing here ends the process. Every
 * statement is answered in time or rejects, with a code that `isDatabaseDown` knows.
 */
export function openPool(options: PoolOptions): Sql {
  const { url, connectionsMax, name, statementTimeoutMs, isOverAudience, hasSteadyPlans, waitMs } = options;
  const { silenceMsMax = statementTimeoutMs } = options;
  const answers = options.answers ?? { graceMs, promptMs, silentMs };
  const { address, ...socket } = splitSocket(url);
  // Asked without connecting: how the driver reads the address.
  const { ssl, sslnegotiation } = postgres(address, { max: 0 }).options as unknown as TlsOptions;
  const sockets = createDatabaseSockets({
    tls: { mode: ssl, negotiation: sslnegotiation },
    answerMsMax: statementTimeoutMs && statementTimeoutMs + answers.graceMs,
    promptMsMax: answers.promptMs,
    silentMsMax: answers.silentMs,
  });
  const sql = postgres(address, {
    ...socket,
    // The driver has these options, and its types do not. TLS is the socket's business.
    ...({ socket: sockets.open, sslnegotiation: null } as object),
    ssl: false,
    max: connectionsMax,
    connect_timeout: 5,
    ...(options.idleMs !== undefined && { idle_timeout: options.idleMs / 1000 }),
    // Reconnect at once at first: a restarted database is back in well under a second.
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
    // int8 counts stay far below 2^53; as numbers they need no conversion at every use.
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
 * Runs `work` in one transaction. A value passed to `rollback` undoes everything and becomes the result, for refusals that
 * are no error.
 *
 * What is given to `atEnd`, not yet asked, leaves after `work` and together with the COMMIT: for statements on rows that many
 * processes write, which so are locked for no time of ours. Nothing can depend on an answer to them; the first that is refused undoes
 * everything and rejects. Once this has resolved they have, too.
 *
 * A connection that is lost inside a transaction is not spoken to again: its handle refuses from then on, and no rollback is
 * asked for, which the server has done anyway. `begin` itself rejects when the connection closes.
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
    // Where one was refused the COMMIT behind it was answered all the same: with ROLLBACK.
    await Promise.all(last);
    return result;
  } catch (error) {
    if (error instanceof Rollback) return error.result;
    throw error;
  }
}

/**
 * Runs `work` in a part of a transaction that can be undone by itself: when it throws, what it did is undone, the error is the
 * caller's, and the transaction goes on.
 */
export async function savepoint<Result>(tx: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  if (!('savepoint' in tx)) throw new Error('a savepoint stands in a transaction');
  // Inside of it the same holds as outside: the driver would ask a dead connection to go back to the savepoint.
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

/** From here to its end, each statement of a transaction has at most so long. */
export async function limitStatements(tx: Tx, limitMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(limitMs)}, true)`;
}

const forever = new Promise<never>(() => undefined);

/** By our own word, or by the driver's of a connection that was lost before. */
function isConnectionLost(error: unknown): boolean {
  if (error instanceof ConnectionLostError) return true;
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
  if (error instanceof ConnectionLostError) return true;
  if (typeof code !== 'string') return false;
  return /^(08|28|53|57P|25006|25P03|3D000|40001|40P01|55000|ECONN|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|EPIPE|ETIMEDOUT|CONNECT)/.test(
    code,
  );
}

/**
 * The database's state refused, and not the statement: it is away, full, in a deadlock, or slower than a limit on statements or
 * locks allows. The same may go through later.
 */
export function isDatabaseState(error: unknown): boolean {
  return isDatabaseDown(error) || /^(57014|55P03)$/.test(codeOf(error));
}

/** No answer came, or nobody was there to ask: with a new connection it may go through at once. */
export function isDatabaseAway(error: unknown): boolean {
  return isDatabaseDown(error) && !/^(28|40|5[358])/.test(codeOf(error));
}

/** Our own end of the pool: nothing will ever go through on it. */
export function isPoolClosed(error: unknown): boolean {
  return /^CONNECTION_(ENDED|DESTROYED)$/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
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

const jsonOid = 114;

/** A document for a column of type `json`, as its author wrote it: `tx.json` sends jsonb, which forgets the order of keys. */
export function asJson(tx: Tx, document: unknown) {
  return tx.typed(document as never, jsonOid);
}

/** All statements of a transaction that has asked nothing yet see what was committed when the next one begins. */
export async function readOneSnapshot(tx: Tx): Promise<void> {
  await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;
}

/** A shorter limit than the pool's for each statement of this transaction. */
export async function setStatementTimeout(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
