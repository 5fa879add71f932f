// The queue before a pool. A pool opens a connection only when its open ones stay busy for a
// moment, so that a process at rest holds few, however many loops look for work. While a database
// has no connection left, statements wait for one and the open connections continue.

import type { Sql } from './db.ts';
import { abandon, type Guard, guardPool, holderOf, type Statement } from './driver-repairs.ts';
import type { DatabaseSockets } from './socket.ts';

export interface PoolLineOptions {
  readonly connectionsMax: number;
  readonly sockets: DatabaseSockets;
  /**
   * Milliseconds that a statement waits for a connection before it is refused. Undefined: no limit.
   */
  readonly waitMs: number | undefined;
  /** Milliseconds to wait for a database without a free connection, unless `waitMs` is shorter. */
  readonly fullMs: number;
  /** Milliseconds that a statement waits for an open connection before another one is opened. */
  readonly growAfterMs: number;
  /**
   * True: a statement waits for a free connection and is never sent behind others on a busy one.
   */
  readonly isInTurn: boolean;
}

/**
 * After the server has refused a connection (53300) no other is opened for this time, in
 * milliseconds, which doubles with each refusal.
 */
const fullPauseMs = { first: 100, most: 1000 };

/**
 * A statement from its request until its answer; one that begins a transaction counts until the
 * transaction has ended.
 */
interface Place {
  readonly statement: Statement;
  readonly hand: () => void;
  readonly askedAtMs: number;
  /** When the server first had no connection for it. */
  refusedAtMs: number | undefined;
  isHanded: boolean;
  isOver: boolean;
}

/** Puts a queue before the pool. Times are by `performance.now()`. */
export function standInLine(sql: Sql, options: PoolLineOptions): void {
  const line = new PoolLine(options);
  guardPool(sql, (statement, hand) => line.enter(statement, hand));
}

class PoolLine {
  readonly #options: PoolLineOptions;
  readonly #waiting: Place[] = [];
  /** Statements and transactions that were passed to the pool and are not over. */
  #inUse = 0;
  #timer: NodeJS.Timeout | undefined;
  #fullUntilMs = 0;
  #fullPauseMs = fullPauseMs.first;

  constructor(options: PoolLineOptions) {
    this.#options = options;
  }

  enter(statement: Statement, hand: Parameters<Guard>[1]): void {
    const { resolve, reject } = statement;
    const place: Place = {
      ...{ statement, hand: () => hand(statement), askedAtMs: performance.now() },
      ...{ refusedAtMs: undefined, isHanded: false, isOver: false },
    };
    const holder = holderOf(statement);
    statement.resolve = (result) => {
      if (holder) holder.leave = () => this.#leave(place);
      else this.#leave(place);
      resolve(result);
    };
    statement.reject = (error) => {
      if (this.#waitsForRoom(place, error)) return;
      this.#leave(place);
      reject(error);
    };
    this.#waiting.push(place);
    this.#serve();
    const { waitMs } = this.#options;
    if (waitMs !== undefined && !isUnderWay(place)) setTimeout(() => this.#giveUp(place, waitMs), waitMs).unref();
  }

  #serve(): void {
    const { connectionsMax, sockets, growAfterMs, isInTurn } = this.#options;
    clearTimeout(this.#timer);
    for (let place = this.#waiting[0]; place; place = this.#waiting[0]) {
      const isGrown = this.#inUse >= connectionsMax;
      if (!place.isOver && isGrown && isInTurn) return;
      // An open connection is free; or all possible ones are busy, and statements follow each other
      // on them.
      const needsNoOther = this.#inUse < sockets.count || isGrown;
      const inMs =
        Math.max(this.#fullUntilMs, place.askedAtMs + (this.#inUse > 0 ? growAfterMs : 0)) - performance.now();
      if (!place.isOver && !needsNoOther && inMs > 0) {
        this.#timer = setTimeout(() => this.#serve(), Math.ceil(inMs));
        return;
      }
      this.#waiting.shift();
      if (place.isOver) continue;
      place.isHanded = true;
      this.#inUse++;
      place.hand();
    }
  }

  #leave(place: Place): void {
    if (place.isOver) return;
    place.isOver = true;
    if (!place.isHanded) return;
    this.#inUse--;
    if (place.refusedAtMs !== undefined) this.#fullPauseMs = fullPauseMs.first;
    // The driver returns the connection to its list in this turn, after it has resolved the answer.
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serve());
  }

  /**
   * Puts the statement back to the head of the queue when the server had no connection left for it,
   * so that it was not sent.
   */
  #waitsForRoom(place: Place, error: Error): boolean {
    if (place.isOver || !place.isHanded || place.statement.state !== null || !isServerFull(error)) return false;
    const now = performance.now();
    place.refusedAtMs ??= now;
    const { fullMs, waitMs = fullMs } = this.#options;
    if (now - place.refusedAtMs >= Math.min(waitMs, fullMs)) return false;
    place.isHanded = false;
    this.#inUse--;
    this.#fullUntilMs = now + this.#fullPauseMs * (0.5 + Math.random() / 2);
    this.#fullPauseMs = Math.min(this.#fullPauseMs * 2, fullPauseMs.most);
    this.#waiting.unshift(place);
    queueMicrotask(() => this.#serve());
    return true;
  }

  /**
   * Refuses a statement that waited too long. It is never run, because its caller was told that
   * nothing happened. Before the pool's first connection nothing is refused here.
   */
  #giveUp(place: Place, waitMs: number): void {
    if (place.isOver || isUnderWay(place)) return;
    if (!this.#options.sockets.hadOne && place.refusedAtMs === undefined) return;
    const { statement, isHanded } = place;
    statement.reject(Object.assign(new Error(`no connection within ${waitMs} ms`), { code: 'CONNECTION_BUSY' }));
    if (isHanded) abandon(statement);
  }
}

/** Returns whether the statement was written to a connection. */
function isUnderWay({ isHanded, statement }: Place): boolean {
  return isHanded && statement.state !== null;
}

/**
 * Returns whether the server, the database or the role has the maximum of connections (53300).
 * PgBouncer says so only in its message.
 */
export function isServerFull(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === '53300' || (code === '08P01' && /^no more connections allowed/.test(String(message)));
}
