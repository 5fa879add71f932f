// A pool of sessions and the callers that wait for one. A pool opens a connection only when its
// open ones stay busy for a moment, so that a process at rest holds few, however many loops look
// for work. While a database has no connection left, statements wait for one and the open
// connections go on.
import { setMaxListeners } from 'node:events';
import { openSession } from './open-session.ts';
import { ConnectionLostError, type Session, type SessionOptions } from './session.ts';

export interface PoolLimits {
  readonly connectionsMax: number;
  /** Milliseconds that a caller waits for a connection. Undefined: no limit. */
  readonly waitMs: number | undefined;
  /** Milliseconds that a caller without `waitMs` waits for a server without a free connection. */
  readonly fullMs: number;
  /** Milliseconds that a caller waits for an open connection before another one is opened. */
  readonly growAfterMs: number;
  /** Milliseconds without use after which a connection is closed. Undefined: it stays open. */
  readonly idleMs: number | undefined;
  /** Milliseconds. An older connection is closed once it is free. */
  readonly lifeMs: number;
}

/**
 * Milliseconds without a new connection after the server has refused one (53300). The time doubles
 * with each refusal.
 */
const fullPauseMs = { first: 100, most: 1000 };

/** A caller in the line. Times are by `performance.now()`. */
interface Caller {
  readonly askedAtMs: number;
  /** When the server first had no connection for it. */
  refusedAtMs: number | undefined;
  /** True while a connection is being opened because of it. */
  isOpening: boolean;
  timer: NodeJS.Timeout | undefined;
  readonly resolve: (session: Session) => void;
  readonly reject: (error: Error) => void;
}

interface Resting {
  readonly session: Session;
  readonly sinceMs: number;
}

export class Pool {
  readonly #session: SessionOptions;
  readonly #limits: PoolLimits;
  readonly #line: Caller[] = [];
  /** The connection that was used last is used first, so that the others become idle and close. */
  readonly #free: Resting[] = [];
  /**
   * The opening time of each connection, by `performance.now()`. A closing connection still counts
   * (R-98).
   */
  readonly #open = new Map<Session, number>();
  #opening = 0;
  /** Ends connections that are being opened when the pool ends. */
  readonly #closing = new AbortController();
  #hadOne = false;
  #growTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #fullUntilMs = 0;
  #fullPauseMs = fullPauseMs.first;
  /** Resolves when a pool that ends has no connection left. */
  #empty: Promise<void> | undefined;
  #tellEmpty: () => void = () => undefined;

  constructor(session: SessionOptions, limits: PoolLimits) {
    this.#session = session;
    this.#limits = limits;
    // One listener for each connection that is being opened.
    setMaxListeners(limits.connectionsMax, this.#closing.signal);
  }

  /** A connection for the caller alone. Give it back. */
  async take(): Promise<Session> {
    if (this.#empty) throw new ConnectionLostError('CONNECTION_ENDED', 'the pool is closed');
    return new Promise((resolve, reject) => {
      const caller: Caller = {
        askedAtMs: performance.now(),
        refusedAtMs: undefined,
        isOpening: false,
        timer: undefined,
        resolve,
        reject,
      };
      this.#line.push(caller);
      this.#serve();
      const { waitMs } = this.#limits;
      if (waitMs !== undefined && this.#line.includes(caller)) this.#limit(caller, waitMs);
    });
  }

  /** Takes a connection back. A connection that is too old or has an open transaction ends. */
  give(session: Session): void {
    if (!session.isFree)
      session.destroy(new ConnectionLostError('CONNECTION_CLOSED', 'the connection was given back while it was used'));
    else if (this.#isOld(session)) session.end();
    else this.#free.push({ session, sinceMs: performance.now() });
    this.#serve();
  }

  /**
   * Refuses callers from now on. Resolves when all connections are closed: each closes when it is
   * given back, and at the latest after `timeoutMs`.
   */
  async end(timeoutMs: number): Promise<void> {
    this.#empty ??= new Promise((resolve) => {
      this.#tellEmpty = resolve;
    });
    const late = Number.isFinite(timeoutMs) ? setTimeout(() => this.#destroy(), timeoutMs) : undefined;
    this.#serve();
    await this.#empty;
    clearTimeout(late);
  }

  #destroy(): void {
    const closed = new ConnectionLostError('CONNECTION_DESTROYED', 'the pool is closed');
    for (const caller of [...this.#line]) this.#refuse(caller, closed);
    for (const session of this.#open.keys()) session.destroy(closed);
    this.#closing.abort(closed);
  }

  #serve(): void {
    clearTimeout(this.#growTimer);
    while (this.#line.length > 0 && this.#free.length > 0) {
      const { session } = this.#free.pop() as Resting;
      if (!session.loss) this.#seat(this.#line.shift() as Caller).resolve(session);
    }
    for (const caller of this.#line) {
      if (this.#open.size + this.#opening >= this.#limits.connectionsMax) break;
      if (caller.isOpening) continue;
      const isAlone = this.#open.size + this.#opening === 0;
      const growsAtMs = caller.askedAtMs + (isAlone ? 0 : this.#limits.growAfterMs);
      const inMs = Math.max(this.#fullUntilMs, growsAtMs) - performance.now();
      if (inMs > 0) {
        this.#growTimer = setTimeout(() => this.#serve(), Math.ceil(inMs));
        break;
      }
      void this.#grow(caller);
    }
    if (this.#empty && this.#line.length === 0) this.#close();
  }

  #seat(caller: Caller): Caller {
    clearTimeout(caller.timer);
    if (caller.refusedAtMs !== undefined) this.#fullPauseMs = fullPauseMs.first;
    return caller;
  }

  async #grow(caller: Caller): Promise<void> {
    caller.isOpening = true;
    this.#opening++;
    try {
      const session = await openSession(this.#session, this.#closing.signal);
      this.#opening--;
      caller.isOpening = false;
      this.#add(session);
    } catch (error) {
      this.#opening--;
      caller.isOpening = false;
      if (isServerFull(error)) this.#waitForRoom(caller, error as Error);
      else this.#refuse(caller, error as Error);
      this.#serve();
    }
  }

  #add(session: Session): void {
    this.#hadOne = true;
    this.#open.set(session, performance.now());
    void session.whenLost.then(() => {
      this.#open.delete(session);
      this.#serve();
    });
    const { idleMs } = this.#limits;
    if (idleMs !== undefined) this.#idleTimer ??= setInterval(() => this.#closeResting(idleMs), idleMs / 4).unref();
    this.give(session);
  }

  /** Leaves the caller waiting while it has time. The server is asked again after a pause. */
  #waitForRoom(caller: Caller, error: Error): void {
    const now = performance.now();
    caller.refusedAtMs ??= now;
    const { fullMs, waitMs } = this.#limits;
    if (waitMs === undefined && now - caller.refusedAtMs >= fullMs) {
      this.#refuse(caller, error);
      return;
    }
    this.#fullUntilMs = now + this.#fullPauseMs * (0.5 + Math.random() / 2);
    this.#fullPauseMs = Math.min(this.#fullPauseMs * 2, fullPauseMs.most);
    // The server's first answer may come after the caller's time has ended.
    if (waitMs !== undefined && now - caller.askedAtMs >= waitMs) this.#giveUp(caller, waitMs);
  }

  #limit(caller: Caller, waitMs: number): void {
    caller.timer = setTimeout(() => this.#giveUp(caller, waitMs), waitMs).unref();
  }

  /**
   * Before the pool's first connection no caller is refused here, because the server's error says
   * more.
   */
  #giveUp(caller: Caller, waitMs: number): void {
    if (!this.#hadOne && caller.refusedAtMs === undefined) this.#limit(caller, waitMs);
    else this.#refuse(caller, new ConnectionLostError('CONNECTION_BUSY', `no connection within ${waitMs} ms`));
  }

  #refuse(caller: Caller, error: Error): void {
    const at = this.#line.indexOf(caller);
    if (at < 0) return;
    this.#line.splice(at, 1);
    clearTimeout(caller.timer);
    caller.reject(error);
  }

  #closeResting(idleMs: number): void {
    const now = performance.now();
    for (const free of [...this.#free])
      if (now - free.sinceMs >= idleMs || this.#isOld(free.session)) this.#closeFree(free);
  }

  #close(): void {
    for (const free of [...this.#free]) this.#closeFree(free);
    this.#closing.abort(new ConnectionLostError('CONNECTION_ENDED', 'the pool is closed'));
    if (this.#open.size + this.#opening > 0) return;
    clearInterval(this.#idleTimer);
    this.#tellEmpty();
  }

  #closeFree(free: Resting): void {
    this.#free.splice(this.#free.indexOf(free), 1);
    free.session.end();
  }

  #isOld(session: Session): boolean {
    return performance.now() - (this.#open.get(session) ?? 0) >= this.#limits.lifeMs;
  }
}

/**
 * Returns whether the server, the database or the role has the maximum of connections (53300).
 * PgBouncer says so only in its message.
 */
export function isServerFull(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === '53300' || (code === '08P01' && /^no more connections allowed/.test(String(message)));
}
