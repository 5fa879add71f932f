// All access to PostgreSQL: pools, transactions and the `sql` tag. Columns are snake_case in the
// database and camelCase in code; the tag converts them. SQL is never built from text: every value
// is a parameter.
import { DatabaseError } from 'pg';
import { readAddress } from './address.ts';
import { hasLostPlan } from './exchange.ts';
import { openSession } from './open-session.ts';
import { Pool } from './pool.ts';
import { ConnectionLostError, type Session, type SessionOptions } from './session.ts';
import { createTag, type Row, type Rows, type Statement, type Tag, type Value } from './statement.ts';
import { json, Parameter } from './values.ts';

export type { Row, Value };

/** A pool or a transaction on it; query functions take either. */
export type Tx = Tag;
/** A part of a statement, to nest in another. */
export type Fragment = Statement<Row[]>;
/** Takes the last statements of a transaction, in order. */
export type AtEnd = (statements: readonly Fragment[]) => void;

/** A pool. Each statement runs on a connection that nothing else uses meanwhile. */
export interface Sql extends Tag {
  /** Runs `work` in a transaction; see `transaction`. */
  begin<Result>(work: (tx: Tx, atEnd: AtEnd) => Promise<Result>): Promise<Result>;
  /** A connection for the caller alone. */
  reserve(): Promise<Reserved>;
  /**
   * Refuses new statements, and resolves when all connections are closed. Connections in use are
   * closed after `timeout` seconds at the latest.
   */
  end(options?: { readonly timeout?: number }): Promise<void>;
}

/** A connection for the caller alone. When it is lost, its statements reject. */
export interface Reserved extends Tag {
  /**
   * Calls `onPayload` for each notification of a channel, until the connection ends. It must not
   * throw.
   */
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  /** Resolves when the connection is closed, whichever side ended it. */
  readonly whenLost: Promise<Error>;
  /** Returns the connection to its pool. A connection without a pool ends. */
  release(): void;
}

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
   * For statements over whole tables, which all differ in form. They are not prepared, because the
   * server would keep all of them and plan them without their values. They may sort in memory. JIT
   * compilation is off, because it takes longer than most of them.
   */
  readonly statementsVary?: boolean;
  /**
   * Prepared statements may be planned for their values, as searches of pages need. All other pools
   * make plans once and without values. A plan for values trusts the statistics. For a value that
   * is newer than the statistics it expects no row, and would read all rows that have the value. A
   * plan for a list of a thousand ids prefers a scan of the whole table to the look-ups.
   */
  readonly plansForValues?: boolean;
  /**
   * Milliseconds that a statement waits for a connection before it is refused. Default: no limit.
   */
  readonly waitMs?: number;
  /**
   * Milliseconds that a statement without `waitMs` waits for a server that has no connection left
   * (53300).
   */
  readonly fullMs?: number;
  /** Milliseconds that a statement waits for an open connection before another one is opened. */
  readonly growAfterMs?: number;
  /** Milliseconds to reach one host and sign in. Default: five seconds. */
  readonly connectMs?: number;
  /** Milliseconds without use after which a connection is closed. Undefined: it stays open. */
  readonly idleMs?: number | undefined;
  /** Milliseconds after which a connection that is free is closed. Default: 45 minutes. */
  readonly lifeMs?: number;
  /** Shorter limits for dead connections, for tests. */
  readonly answers?: { readonly graceMs: number; readonly promptMs: number; readonly silentMs: number };
}

/** Milliseconds. Another process has most likely released connections by then. */
const fullMs = 5000;
/** Milliseconds; most statements take less. */
const growAfterMs = 10;
/**
 * Milliseconds. Closing a connection releases the memory that the server holds for its plans and
 * tables (a guess).
 */
const lifeMs = 45 * 60_000;

/** Milliseconds by which an answer may exceed the limit of its statement, for the round trip. */
const graceMs = 2000;
/**
 * Milliseconds. Nothing delays a server's answer to a BEGIN or a sign of life, so a dead connection
 * is found before it costs the time of a long statement.
 */
const promptMs = 5000;
/**
 * Milliseconds of silence after which a sign of life is requested. A busy connection needs no
 * request.
 */
const silentMs = 2000;

/**
 * The server also finds out within a minute when this process is gone, and releases the session's
 * locks.
 */
const serverKeepAlive = { tcp_keepalives_idle: '30', tcp_keepalives_interval: '10', tcp_keepalives_count: '3' };

/** Milliseconds. */
const connectMs = 5000;

/**
 * Opens a pool. Connections open at their first use and again after a loss; nothing here ends the
 * process. Every statement is answered in time or rejects with a code that `isDatabaseDown` knows.
 */
export function openPool(options: PoolOptions): Sql {
  const pool = new Pool(sessionOptionsOf(options), {
    connectionsMax: options.connectionsMax,
    waitMs: options.waitMs,
    fullMs: options.fullMs ?? fullMs,
    growAfterMs: options.growAfterMs ?? growAfterMs,
    idleMs: options.idleMs,
    lifeMs: options.lifeMs ?? lifeMs,
  });
  const onOne = async <Result>(work: (session: Session) => Promise<Result>): Promise<Result> => {
    const session = await pool.take();
    try {
      return await work(session);
    } finally {
      pool.give(session);
    }
  };
  return Object.assign(
    createTag((statement) => onOne((session) => session.run(statement))),
    {
      begin: <Result>(work: (tx: Tx, atEnd: AtEnd) => Promise<Result>) => onOne((session) => begin(session, work)),
      async reserve() {
        const session = await pool.take();
        return reservedOf(session, () => pool.give(session));
      },
      end: ({ timeout = Number.POSITIVE_INFINITY } = {}) => pool.end(timeout * 1000),
    },
  );
}

/** Opens one connection outside of every pool. Rejects when there is no server. */
export async function connect(options: Omit<PoolOptions, 'connectionsMax'>): Promise<Reserved> {
  const session = await openSession(sessionOptionsOf(options));
  return reservedOf(session, () => session.end());
}

function sessionOptionsOf(options: Omit<PoolOptions, 'connectionsMax'>): SessionOptions {
  const { url, name, statementTimeoutMs, silenceMsMax = statementTimeoutMs, statementsVary, plansForValues } = options;
  const answers = options.answers ?? { graceMs, promptMs, silentMs };
  const address = readAddress(url);
  return {
    address,
    name,
    connectMs: options.connectMs ?? address.connectMs ?? connectMs,
    settings: {
      ...serverKeepAlive,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      client_encoding: 'UTF8',
      statement_timeout: String(statementTimeoutMs),
      idle_in_transaction_session_timeout: String(silenceMsMax),
      // Set even when there is no limit, because a role or database may have a limit of its own.
      ...(statementTimeoutMs === 0 && { lock_timeout: '0' }),
      // A random page costs little more than a sequential one, as it does in memory and on an SSD. With
      // the default of 4 the planner reads a table of up to 130 pages completely for a list of ids,
      // which it takes to have ten.
      random_page_cost: '1.1',
      ...(statementsVary && { work_mem: '64MB', jit: 'off' }),
      // Every statement of these pools finds rows by a key. A plan that walks through a table was made
      // while it was small, and a connection may keep the plan while it grows.
      ...(!statementsVary && !plansForValues && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
      ...address.settings,
    },
    answerMsMax: statementTimeoutMs && statementTimeoutMs + answers.graceMs,
    promptMsMax: answers.promptMs,
    silentMsMax: answers.silentMs,
    isPreparing: !statementsVary,
  };
}

/** The user of a connection: a transaction, or a caller that reserved it. */
interface Holder {
  readonly session: Session;
  isOver: boolean;
  /** The first error of a statement: the server undoes the transaction because of it. */
  failure: unknown;
  parts: number;
}

const holderOf = (session: Session): Holder => ({ session, isOver: false, failure: undefined, parts: 0 });

function tagOf(holder: Holder): Tag {
  return createTag(async (statement) => {
    if (holder.isOver) throw new Error('the connection was given back');
    try {
      return await holder.session.run(statement);
    } catch (error) {
      holder.failure ??= error;
      throw error;
    }
  });
}

function reservedOf(session: Session, giveBack: () => void): Reserved {
  const holder = holderOf(session);
  return Object.assign(tagOf(holder), {
    whenLost: session.whenLost,
    listen: (channel: string, onPayload: (payload: string) => void) => session.listen(channel, onPayload),
    release() {
      if (!holder.isOver) giveBack();
      holder.isOver = true;
    },
  });
}

const transactions = new WeakMap<Tag, Holder>();

async function begin<Result>(session: Session, work: (tx: Tx, atEnd: AtEnd) => Promise<Result>): Promise<Result> {
  const holder = holderOf(session);
  const tx = tagOf(holder);
  transactions.set(tx, holder);
  const last: Fragment[] = [];
  await session.command('BEGIN');
  try {
    const result = await work(tx, (statements) => void last.push(...statements));
    // From here on a statement that was not awaited would run outside of the transaction.
    holder.isOver = true;
    throwIfBroken(holder);
    await commit(holder, last);
    return result;
  } catch (error) {
    holder.isOver = true;
    throwIfLost(holder);
    await session.command('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Throws the loss of the connection, or the error of the unsent statement that caused it. */
function throwIfLost({ session: { loss }, failure }: Holder): void {
  if (loss) throw failure && loss.cause === failure ? failure : loss;
}

/** Throws when the server has undone the transaction, whether or not the work heard of it. */
function throwIfBroken(holder: Holder): void {
  throwIfLost(holder);
  if (holder.session.transactionStatus === 'E') throw holder.failure ?? new Error('the transaction was undone');
}

async function commit(holder: Holder, last: readonly Fragment[]): Promise<void> {
  const committed = holder.session.commit(last).catch((error: unknown) => {
    // A statement that was not awaited has made the server undo the transaction.
    throw holder.failure ?? error;
  });
  for (const [index, statement] of last.entries()) {
    const answer = committed.then((answers) => answers[index] as Rows<Row[]>);
    // The caller of the transaction gets the refusal.
    answer.catch(() => undefined);
    statement.answerBy(answer);
  }
  await committed;
}

/**
 * Sends a statement without preparing it. Use it for a statement whose text depends on the caller's
 * request, because a connection keeps every prepared statement until it ends.
 */
export function unprepared<List extends readonly unknown[]>(statement: Statement<List>): Statement<List> {
  statement.isKept = false;
  return statement;
}

/**
 * Runs `work` in one transaction. A value passed to `rollback` undoes everything and becomes the
 * result, for refusals that are no error.
 *
 * Statements passed to `atEnd` are sent after `work`, together with the COMMIT. They are for rows
 * that many processes write, so that no round trip of ours prolongs the locks. No code can depend
 * on their answers. The first refused statement undoes everything and rejects. When this promise
 * resolves, all have resolved too.
 *
 * When the connection is lost inside a transaction, every further statement of it rejects, and so
 * does the transaction, whatever `work` returns. The server has rolled back by itself.
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
  const rollback = (result: Result): never => {
    throw new Rollback(result);
  };
  try {
    return await sql.begin((tx, atEnd) => work(tx, rollback, atEnd));
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
  const holder = transactions.get(tx);
  if (!holder) throw new Error('a savepoint needs a transaction');
  const name = `part_${++holder.parts}`;
  await tx.unsafe(`SAVEPOINT ${name}`);
  try {
    const result = await work(tx);
    throwIfBroken(holder);
    return result;
  } catch (error) {
    throwIfLost(holder);
    await tx.unsafe(`ROLLBACK TO SAVEPOINT ${name}`);
    holder.failure = undefined;
    throw error;
  }
}

/**
 * Returns whether SQLSTATE or our own code means "the database is not available", in contrast
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
 * a deadlock, slower than a limit on statements or locks, or its schema has changed beside a
 * transaction. The same statement may succeed later, and a transaction as a whole.
 */
export function isDatabaseState(error: unknown): boolean {
  return isDatabaseDown(error) || hasLostPlan(error) || /^(57014|55P03)$/.test(codeOf(error));
}

/**
 * Returns whether no answer came or no server was there. With a new connection the statement may
 * succeed at once.
 */
export function isDatabaseAway(error: unknown): boolean {
  return isDatabaseDown(error) && !/^(28|40|5[358])/.test(codeOf(error));
}

/**
 * Returns whether the server itself sent the error, with a connection or instead of one. `pg` gives
 * no code to a message that it does not know.
 */
export function isOfServer(error: unknown): error is Error & { readonly code: string } {
  if (error instanceof ConnectionLostError) return isOfServer(error.cause);
  return error instanceof DatabaseError && error.code !== undefined;
}

/** Returns whether our own side closed the pool, on which nothing can succeed any more. */
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

/**
 * A document for a column of type `json`, which keeps the order of keys. `tx.json` sends jsonb,
 * which loses it.
 */
export function asJson(document: unknown): Parameter {
  return new Parameter(document, json.json);
}

/**
 * Gives all statements of a transaction the snapshot of the first one. Call it before the first
 * statement.
 */
export async function readOneSnapshot(tx: Tx): Promise<void> {
  await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`;
}

/**
 * Plans each further statement of a transaction without its values, on a connection that would use
 * them. For look-ups by key: see `plansForValues`.
 */
export async function planWithoutValues(tx: Tx): Promise<void> {
  await tx`SET LOCAL plan_cache_mode = force_generic_plan`;
}

/** Sets another limit than the pool's for each further statement of a transaction. */
export async function setStatementTimeout(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`SELECT set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}
