// The line before a pool. A pool grows only when its open connections are not enough for a moment, so that a process at rest holds
// few however many loops look for work; and a database that has no connection left is waited for, while the open ones go on.
import type { DatabaseSockets } from './database-socket.ts';
import type { Sql } from './db.ts';
import { abandon, type Guard, guardPool, holderOf, type Statement } from './driver-repairs.ts';

export interface PoolLineOptions {
  readonly connectionsMax: number;
  readonly sockets: DatabaseSockets;
  /** A statement waits this long for a connection and is then refused; without it as long as it takes. */
  readonly waitMs: number | undefined;
  /** A database without a free connection is waited for so long, where `waitMs` does not say less. */
  readonly fullMs: number;
  /** A statement that finds all open connections in use waits so long for one of them before another is opened. */
  readonly growAfterMs: number;
  /** A statement waits until a connection is free, and is never sent behind others on one that is in use. */
  readonly isInTurn: boolean;
}

/** After the server has refused a connection (53300) no other is asked for, at first so long and then twice as long each time. */
const fullPauseMs = { first: 100, most: 1000 };

/** A statement from when it was asked until it is answered; for the one that begins a transaction: until that has ended. */
interface Place {
  readonly statement: Statement;
  readonly hand: () => void;
  readonly askedAtMs: number;
  /** When the server had no connection for it, for the first time. */
  refusedAtMs: number | undefined;
  isHanded: boolean;
  isOver: boolean;
}

/** Puts a line before the pool. Times are by `performance.now()`. */
export function standInLine(sql: Sql, options: PoolLineOptions): void {
  const line = new PoolLine(options);
  guardPool(sql, (statement, hand) => line.enter(statement, hand));
}

class PoolLine {
  readonly #options: PoolLineOptions;
  readonly #waiting: Place[] = [];
  /** Statements and transactions that have been handed to the pool and are not over. */
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
      // An open connection is free, or all that there may be are in use, and statements follow each other on them.
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
    // The driver puts the connection back in this turn, after it has told the answer.
    if (this.#waiting.length > 0) queueMicrotask(() => this.#serve());
  }

  /** The server had no connection left for the statement, which was not sent: it goes back to the head of the line. */
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

  /** Never run: whoever asked has been told that nothing happened. Before a first connection there is no line to wait in. */
  #giveUp(place: Place, waitMs: number): void {
    if (place.isOver || isUnderWay(place)) return;
    if (!this.#options.sockets.hadOne && place.refusedAtMs === undefined) return;
    const { statement, isHanded } = place;
    statement.reject(Object.assign(new Error(`no connection within ${waitMs} ms`), { code: 'CONNECTION_BUSY' }));
    if (isHanded) abandon(statement);
  }
}

/** It was written to a connection. */
function isUnderWay({ isHanded, statement }: Place): boolean {
  return isHanded && statement.state !== null;
}

/** Class 53300: the server, the database or the role has as many connections as it may have. PgBouncer says so in words alone. */
export function isServerFull(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === '53300' || (code === '08P01' && /^no more connections allowed/.test(String(message)));
}
