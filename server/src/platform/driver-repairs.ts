// What the driver (postgres 3.4, pinned) does wrong or not at all around a connection that is lost, set right from outside. Each
// of these has ended a process, held a caller for ever or left a pool without connections. Reaches into the driver where it
// must, and nobody else does.

import { Writable } from 'node:stream';
import type postgres from 'postgres';
import type { DatabaseSockets } from './database-socket.ts';
import type { Fragment, Sql } from './db.ts';

type TransactionSql = postgres.TransactionSql<{ bigint: number }>;

interface DriverOptions {
  readonly shared: { readonly typeArrayMap: Record<string, number> };
  readonly parsers: Record<string, unknown>;
  readonly serializers: Record<string, unknown>;
  readonly connection: Record<string, string | number | undefined>;
}

/** A statement of the driver's, as far as it is used here. */
export interface Statement {
  /** The connection it was sent on; null: none yet. */
  state: object | null;
  handler: (statement: Statement) => void;
  strings: readonly string[];
  args: readonly unknown[];
  tagged: boolean;
  options: { onexecute?: (connection: DriverConnection) => unknown; simple?: boolean };
  cancelled: unknown;
  active: boolean;
  /** The connection knew it when it was sent. */
  prepared: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
  cancel(): void;
}

/** One of the places of a pool, which a connection takes and leaves and another takes again. */
interface DriverConnection {
  readonly id: number;
  /** Which of the driver's lists it stands in. */
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

/** Pools that somebody waits to reserve a connection of. */
const reserving = new WeakMap<DriverOptions, number>();

/** The pool that has learned its server's array types, and until there is one those that may have. */
let informed: DriverOptions | undefined;
const asking = new Set<DriverOptions>();

/**
 * The driver asks each new connection for the array types. When that connection ends meanwhile, it rejects a promise that
 * nobody holds, which ends the process: a restarting database would take us with it. The answer is the same for all, so those
 * that follow the first do not ask: whichever pool it was, and however few connections that has.
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
      // A new connection that begins with nothing to ask is never given to whoever waits to reserve it.
      return !isKnown(options) || (reserving.get(options) ?? 0) > 0;
    },
  });
}

/**
 * What is still asked so may be lost with its connection. Nobody holds that promise, so it comes out as an unhandled rejection; the
 * pool connects anew by itself.
 */
export function isTypesQuestion(error: unknown): boolean {
  const { query } = (error ?? {}) as { readonly query?: unknown };
  return typeof query === 'string' && /typarray\s+from pg_catalog\.pg_type/.test(query);
}

/**
 * Where a connection ended just as the driver was about to write to it, the driver writes nothing more on its successor: it
 * believes that a write is put off, which was canceled with the first. More than a kilobyte it writes at once, whatever it
 * believes, and a start-up message may hold any number of spaces. (The socket leaves out what was put off.)
 */
export function startAtOnce(sql: Sql, settings: string): void {
  const { connection } = driverOf(sql).options;
  Object.assign(connection, { options: `${connection['options'] ?? ''} ${settings}${' '.repeat(1024)}` });
}

/** After a lost connection the driver waits at its end for the answer that was lost with it. */
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

/** What is done in place of handing a statement to its pool or transaction. */
export type Guard = (statement: Statement, hand: Statement['handler']) => void;

/** By what hands its statements on: each pool has one function for it, and each transaction. */
const guards = new WeakMap<Statement['handler'], Guard>();

/** The handler of a pool, a transaction or a reserved connection. An empty statement shows it, and is never run. */
const handlerOf = (sql: Tagged): Statement['handler'] => (sql`` as unknown as Statement).handler;

// Once for all pools: what is asked is guarded where the driver hands it on, so that nothing stands between a caller and the
// driver, which tells four frames of where a statement comes from.
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

/** Whoever has a connection to themselves: a transaction, or who reserved one. */
export interface Holder {
  /** It is gone, and with it what was done on it; the place it had in the pool may be another's already. */
  isLost: boolean;
  /** What the connection was asked to describe so far, whoever had it (`handTogether`). */
  described?: Set<string>;
  /** To be called when the transaction has ended: its connection is free. */
  leave?: () => void;
}

const heldBy = new WeakMap<object, Holder>();
/** By the statement that begins a transaction. */
const begins = new WeakMap<Statement, Holder>();

/** The transaction that `begin` is beginning at this moment. */
let beginning: Holder | undefined;

/** Begins a transaction whose holder knows at once when the connection is lost; after that its handle refuses. */
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
      // Lost in the breath in which the server said that it has begun: the driver listens for a loss from here on, and has missed it.
      if (holder.isLost) throw lostError();
      return work(tx);
    });
    ended.then(leave, leave);
    return ended;
  } finally {
    beginning = undefined;
  }
}

/** Begins a part of a transaction, which is lost with it. */
export async function savepointHeld<Result>(
  tx: TransactionSql,
  work: (inner: TransactionSql, holder: Holder) => Promise<Result>,
): Promise<Result> {
  const holder = heldBy.get(tx);
  if (!holder) throw new Error('a savepoint stands in a transaction');
  if (holder.isLost) throw lostError();
  return (await tx.savepoint((inner) => {
    heldBy.set(inner, holder);
    refuseOnceLost(inner, holder);
    return work(inner, holder);
  })) as Result;
}

/**
 * A transaction goes on for a moment when its connection is lost, and so does whoever reserved one. What they ask then the
 * driver would write to nothing, from a timer that nobody can catch, and end the process; or worse, to whoever has the place
 * by then. So each holder is told in the instant of the loss.
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
  // The statement that begins a transaction is made by this, and told which connection it is sent on.
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

/** Has a guard take all that is asked of a pool: statements, and those that begin transactions. */
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

/** Lets a statement go that was rejected while it waited in the driver: it is never run. */
export function abandon(statement: Statement): void {
  // Takes it out of the driver's line, where it stands there.
  statement.cancel();
  // Else a connection is being made for it, which is lost for good if it does not begin with a statement: let it be another.
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
 * Of several free connections the driver takes the one that was used longest ago, so that none is ever idle for long. Here it takes
 * the one that was used last, and the others close. The list of free ones is reached through a connection that comes back to it.
 */
function createReuse(): (statement: Statement) => void {
  let isDone = false;
  const seen = new WeakSet<DriverConnection>();
  const note = (connection: DriverConnection): void => {
    if (isDone || seen.has(connection)) return;
    seen.add(connection);
    const { idleTimer } = connection;
    const { start } = idleTimer;
    // It is started when the connection has come to the list, and only then.
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
 * Where the rows of a statement `COPY … FROM STDIN` are written to. The driver's statement is answered with it, and from then on
 * what the server says against the rows reaches nobody: once the last row was written, the stream neither finishes nor fails.
 * Here it fails with whatever the statement fails with. Rejects when the server does not take the statement at all.
 */
export async function openCopy(copy: Fragment): Promise<Writable> {
  const statement = copy as unknown as Statement;
  const { resolve } = statement;
  statement.resolve = (result) => {
    if (result instanceof Writable) {
      // The refusal may come in the same breath as the answer, before anybody can listen; it is told to whoever asks how it ended.
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
