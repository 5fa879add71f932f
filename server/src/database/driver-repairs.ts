// Repairs of the driver (postgres 3.4, pinned) around a lost connection, applied from outside. Each
// fault has ended a process, blocked a caller forever or left a pool without connections. Only this
// file uses the driver's internals.

import { Writable } from 'node:stream';
import type postgres from 'postgres';
import type { Fragment, Sql } from './db.ts';
import type { DatabaseSockets } from './socket.ts';

type TransactionSql = postgres.TransactionSql<{ bigint: number }>;

interface DriverOptions {
  readonly shared: { readonly typeArrayMap: Record<string, number> };
  readonly parsers: Record<string, unknown>;
  readonly serializers: Record<string, unknown>;
  readonly connection: Record<string, string | number | undefined>;
}

/** A statement of the driver's, reduced to the fields used here. */
export interface Statement {
  /** The connection on which it was sent; null: not sent yet. */
  state: object | null;
  handler: (statement: Statement) => void;
  strings: readonly string[];
  args: readonly unknown[];
  tagged: boolean;
  options: { onexecute?: (connection: DriverConnection) => unknown; simple?: boolean };
  cancelled: unknown;
  active: boolean;
  /** True when the connection had prepared it before it was sent. */
  prepared: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
  cancel(): void;
}

/** A slot of a pool, which one connection after the other uses. */
interface DriverConnection {
  readonly id: number;
  /** The driver's list that currently contains it. */
  readonly queue: Queue;
  readonly idleTimer: { start(): void };
}

type Make = (...parameters: unknown[]) => unknown;
type Tagged = (strings: TemplateStringsArray) => unknown;
interface Driver {
  unsafe: Make;
  reserve: () => Promise<Tagged & { readonly unsafe: Make }>;
  readonly options: DriverOptions & { onclose?: (id: number) => void };
}

const driverOf = (sql: Sql): Driver => sql as unknown as Driver;

/** The number of callers that wait to reserve a connection, by pool. */
const reserving = new WeakMap<DriverOptions, number>();

/**
 * The pool that has learned the server's array types; before there is one, `asking` has the
 * candidates.
 */
let informed: DriverOptions | undefined;
const asking = new Set<DriverOptions>();

/**
 * The driver asks each new connection for the array types. When that connection ends meanwhile, it
 * rejects a promise without a handler, which ends the process: a restarting database would end
 * ours. The answer is the same for all connections, so only the first one asks, whichever pool it
 * belongs to.
 */
export function askForTypesOnce(sql: Sql): void {
  const { options } = driverOf(sql);
  const isKnown = (of: DriverOptions): boolean => Object.keys(of.shared.typeArrayMap).length > 0;
  if (!informed) asking.add(options);
  Object.defineProperty(options, 'fetch_types', {
    get() {
      informed ??= [...asking].find(isKnown);
      if (informed) asking.clear();
      if (informed && !isKnown(options)) {
        Object.assign(options.shared.typeArrayMap, informed.shared.typeArrayMap);
        Object.assign(options.parsers, { ...informed.parsers, ...options.parsers });
        Object.assign(options.serializers, { ...informed.serializers, ...options.serializers });
      }
      // The driver never gives a new connection without a first question to a caller that waits to
      // reserve one.
      return !isKnown(options) || (reserving.get(options) ?? 0) > 0;
    },
  });
}

/**
 * Returns whether an unhandled rejection is a lost question for types. A question that is still
 * asked may be lost with its connection, and nobody holds its promise. The pool connects again by
 * itself.
 */
export function isTypesQuestion(error: unknown): boolean {
  const { query } = (error ?? {}) as { readonly query?: unknown };
  return typeof query === 'string' && /typarray\s+from pg_catalog\.pg_type/.test(query);
}

/**
 * When a connection ends just before the driver writes to it, the driver never writes to the next
 * one: it waits for a delayed write that was cancelled. The driver writes more than a kilobyte at
 * once in any case, and a startup message may contain any number of spaces. (The socket drops the
 * delayed bytes.)
 */
export function startAtOnce(sql: Sql, settings: string): void {
  const { connection } = driverOf(sql).options;
  Object.assign(connection, { options: `${connection['options'] ?? ''} ${settings}${' '.repeat(1024)}` });
}

/**
 * Ends a pool without waiting for answers that were lost with a connection; the driver would wait
 * for them.
 */
export function endWithoutWaiting(sql: Sql, sockets: DatabaseSockets): void {
  const end = sql.end;
  sql.end = async (given) => {
    const timeout = sockets.count === 0 ? 0 : given?.timeout;
    const ended = end(timeout === undefined ? {} : { timeout });
    // The driver begins to close in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.race([ended, sockets.whenNone()]);
  };
}

/** Called instead of passing a statement to its pool or transaction. */
export type Guard = (statement: Statement, hand: Statement['handler']) => void;

/**
 * Guards by handler: each pool and each transaction has one handler function, which passes its
 * statements on.
 */
const guards = new WeakMap<Statement['handler'], Guard>();

/**
 * The handler of a pool, a transaction or a reserved connection, read from an empty statement that
 * is never run.
 */
const handlerOf = (sql: Tagged): Statement['handler'] => (sql`` as unknown as Statement).handler;

// Installed once for all pools. Statements are guarded where the driver passes them on, so that no
// frame stands between a caller and the driver, whose stack traces show only four frames.
function guardStatements(of: Tagged): void {
  const prototype = Object.getPrototypeOf(of``) as { handle: (this: Statement) => unknown; isGuarded?: true };
  if (prototype.isGuarded) return;
  prototype.isGuarded = true;
  const { handle } = prototype;
  prototype.handle = function () {
    const guard = guards.get(this.handler);
    if (guard) {
      const hand = this.handler;
      this.handler = (statement) => guard(statement, hand);
    }
    return handle.call(this);
  };
}

/** The owner of a connection: a transaction, or a caller that reserved one. */
export interface Holder {
  /**
   * True when the connection is lost, and with it everything done on it. Another owner may already
   * use its slot in the pool.
   */
  isLost: boolean;
  /** Statements that the connection has described so far, for any owner (`handTogether`). */
  described?: Set<string>;
  /** Called when the transaction has ended and its connection is free. */
  leave?: () => void;
}

const heldBy = new WeakMap<object, Holder>();
/** By the statement that begins a transaction. */
const begins = new WeakMap<Statement, Holder>();

/** The transaction that `begin` begins at this moment. */
let beginning: Holder | undefined;

/**
 * Begins a transaction whose holder learns at once when the connection is lost. From then on its
 * handle refuses statements.
 */
export function beginHeld<Result>(
  sql: Sql,
  holder: Holder,
  work: (tx: TransactionSql) => Promise<Result>,
): ReturnType<typeof sql.begin<Result>> {
  beginning = holder;
  const leave = (): void => holder.leave?.();
  try {
    const ended = sql.begin((tx) => {
      heldBy.set(tx, holder);
      refuseOnceLost(tx, holder);
      // The connection was lost in the turn in which the server confirmed the begin. The driver
      // listens for a loss only from here on, so it missed this one.
      if (holder.isLost) throw lostError();
      return work(tx);
    });
    ended.then(leave, leave);
    return ended;
  } finally {
    beginning = undefined;
  }
}

/** Begins a savepoint of a transaction; when the transaction is lost, so is the savepoint. */
export async function savepointHeld<Result>(
  tx: TransactionSql,
  work: (inner: TransactionSql, holder: Holder) => Promise<Result>,
): Promise<Result> {
  const holder = heldBy.get(tx);
  if (!holder) throw new Error('a savepoint needs a transaction');
  if (holder.isLost) throw lostError();
  return (await tx.savepoint((inner) => {
    heldBy.set(inner, holder);
    refuseOnceLost(inner, holder);
    return work(inner, holder);
  })) as Result;
}

/**
 * Tells each holder at the instant of a loss. A transaction, or a caller that reserved a
 * connection, continues for a moment after a loss. The driver would write its statements to
 * nothing, from a timer whose error nobody can catch and which ends the process; or to a new owner
 * of the slot.
 */
export function tellOfLosses(sql: Sql): void {
  const driver = driverOf(sql);
  const holders = new Map<number, Holder>();
  const described = new Map<number, Set<string>>();
  driver.options.onclose = (id) => {
    const holder = holders.get(id);
    holders.delete(id);
    described.delete(id);
    if (holder) holder.isLost = true;
  };
  const { unsafe, reserve } = driver;
  // This function creates the statement that begins a transaction, which learns on which connection
  // it is sent.
  driver.unsafe = (...parameters) => {
    const made = unsafe(...parameters);
    const holder = beginning;
    if (!holder || !isStatement(made) || !made.options.onexecute) return made;
    const { onexecute } = made.options;
    begins.set(made, holder);
    made.options.onexecute = (connection) => {
      holders.set(connection.id, holder);
      holder.described = described.get(connection.id) ?? new Set();
      described.set(connection.id, holder.described);
      return onexecute(connection);
    };
    return made;
  };
  driver.reserve = async () => {
    const { options } = driver;
    reserving.set(options, (reserving.get(options) ?? 0) + 1);
    const reserved = await reserve().finally(() => reserving.set(options, (reserving.get(options) ?? 0) - 1));
    const holder = { isLost: false };
    const onexecute = ({ id }: DriverConnection): true => {
      holders.set(id, holder);
      return true;
    };
    await reserved.unsafe('SELECT 1', [], { onexecute });
    refuseOnceLost(reserved, holder);
    return reserved;
  };
}

function refuseOnceLost(sql: Tagged, holder: Holder): void {
  guardStatements(sql);
  guards.set(handlerOf(sql), (statement, hand) => {
    if (!holder.isLost) return hand(statement);
    statement.reject(lostError());
  });
}

/** Passes all statements of a pool to a guard, including those that begin transactions. */
export function guardPool(sql: Sql, guard: Guard): void {
  guardStatements(sql);
  const noteConnection = createReuse();
  guards.set(handlerOf(sql), (statement, hand) => {
    noteConnection(statement);
    guard(statement, hand);
  });
}

/** The transaction that a statement begins, which holds a connection until it has ended. */
export function holderOf(statement: Statement): Holder | undefined {
  return begins.get(statement);
}

/** Drops a statement that was rejected while it waited in the driver; it is never run. */
export function abandon(statement: Statement): void {
  // Removes it from the driver's queue, if it is there.
  statement.cancel();
  // Otherwise a connection is being opened for it, which would be lost for good if it did not begin
  // with a statement. A harmless statement takes its place.
  statement.cancelled = null;
  statement.strings = ['SELECT 1'];
  statement.args = [];
  statement.tagged = false;
  statement.options = { simple: true };
}

/** A list of connections, as the driver keeps it. */
interface Queue {
  readonly length: number;
  push(connection: DriverConnection): DriverConnection;
  shift(): DriverConnection | undefined;
  remove(connection: DriverConnection): DriverConnection | null;
}

/**
 * Among free connections the driver takes the one used longest ago, so that none is idle for long.
 * Here it takes the one used last, so that the others close. The list of free connections is
 * reached through a connection that returns to it.
 */
function createReuse(): (statement: Statement) => void {
  let isDone = false;
  const seen = new WeakSet<DriverConnection>();
  const note = (connection: DriverConnection): void => {
    if (isDone || seen.has(connection)) return;
    seen.add(connection);
    const { idleTimer } = connection;
    const { start } = idleTimer;
    // The driver starts this timer only when the connection has returned to the list.
    idleTimer.start = () => {
      start();
      if (!isDone) keepAsStack(connection.queue);
      isDone = true;
    };
  };
  return ({ options }) => {
    if (isDone) return;
    const { onexecute } = options;
    options.onexecute = (connection) => {
      note(connection);
      return onexecute ? onexecute(connection) : true;
    };
  };
}

function keepAsStack(queue: Queue): void {
  const free: DriverConnection[] = [];
  while (queue.length > 0) free.push(queue.shift() as DriverConnection);
  Object.defineProperty(queue, 'length', { get: () => free.length });
  Object.assign(queue, {
    push(connection: DriverConnection) {
      free.push(connection);
      return connection;
    },
    shift: () => free.pop(),
    remove(connection: DriverConnection) {
      const at = free.indexOf(connection);
      if (at >= 0) free.splice(at, 1);
      return at < 0 ? null : connection;
    },
  } satisfies Omit<Queue, 'length'>);
}

/**
 * Opens the stream for the rows of a statement `COPY … FROM STDIN`. The driver's statement resolves
 * with the stream, and after that the server's refusal of rows reaches nobody: after the last row
 * the stream neither finishes nor fails. Here the stream fails with the statement's error. Rejects
 * when the server refuses the statement itself.
 */
export async function openCopy(copy: Fragment): Promise<Writable> {
  const statement = copy as unknown as Statement;
  const { resolve } = statement;
  statement.resolve = (result) => {
    if (result instanceof Writable) {
      // The refusal may come in the same turn as the answer, before anybody listens. `finished`
      // reports it later.
      result.on('error', () => undefined);
      statement.reject = (error) => {
        statement.active = false;
        result.destroy(error);
      };
    }
    resolve(result);
  };
  return copy.writable();
}

function lostError(): Error {
  return Object.assign(new Error('the connection is lost'), { code: 'CONNECTION_CLOSED' });
}

export function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made && 'state' in made;
}
