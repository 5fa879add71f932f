// Open HTTP/2 sessions to one place: uses as many streams as the peer allows, sends refused
// requests again, and replaces lost connections at a limited rate. Knows no protocol details (an
// engine does) and never rejects. A request waits here for a free stream without its deadline
// running, and fails here only when no connection can be made.
import type { TLSSocket } from 'node:tls';
import { ConnectGate, type OnDecided } from './connect-gate.ts';
import { type HttpAnswer, type HttpFailure, type Unreachable, unreachableOf } from './result.ts';
import type { Asker, Http2Engine, Http2Request, Http2Result, Http2Session, Refused } from './session.ts';

export interface Http2PoolOptions {
  /** Starts a guarded connection that offers `h2`. */
  readonly open: () => TLSSocket;
  /** The authority of every request: `host`, or `host:port` when the port is not 443. */
  readonly authority: string;
  readonly engine: Http2Engine;
  readonly sessionsMax: number;
  /** Concurrent streams in a session at most, even when the peer allows more. */
  readonly streamsMax: number;
  /** Milliseconds for name, TCP, TLS and the peer's SETTINGS together. */
  readonly connectTimeoutMs: number;
  /** Milliseconds without a request after which a session is closed. */
  readonly idleMs: number;
  /**
   * Pings a session that is idle for `afterMs`; without an answer in time the session is closed.
   */
  readonly ping?: { readonly afterMs: number; readonly timeoutMs: number };
  /** The gate of the host, when several pools have the same host. */
  readonly gate?: ConnectGate;
  /** Makes a request in another way when the peer supports no HTTP/2. */
  readonly otherwise?: (request: Http2Request, asker: PoolAsker) => void;
}

/** The peer supports no HTTP/2. The request was not sent. */
export interface Unsupported {
  readonly unsupported: true;
}
export type PoolResult = HttpAnswer | HttpFailure | Unsupported;

const unsupported: Unsupported = { unsupported: true };

/** Times that a refused request is sent again at most, each time on another connection. */
const replaysMax = 3;

/**
 * Milliseconds between connections after a failure, plus up to as much again at random, so that
 * many processes do not come at once.
 */
const reconnectMs = 1_000;
const lostJitterMs = 100;

interface Slot {
  readonly session: Http2Session;
  idleSince: number;
  idleTimer: NodeJS.Timeout | undefined;
  /** The session refused a stream without closing. It gets no new request until it answers one. */
  isRefusing: boolean;
  hasAnswered: boolean;
}

/** The object that made a request of the pool and takes its result. */
export interface PoolAsker<Result = PoolResult> {
  /**
   * Takes the one result of the request, outside the code of a session. Must not throw: results
   * that came together are told in one microtask, and the others would be lost.
   */
  onResult(result: Result): void;
}

/**
 * A request from its call to its result. It is one object, without promises and functions of its
 * own, because thousands are under way at once.
 */
class Waiter implements Asker {
  readonly request: Http2Request;
  readonly asker: PoolAsker;
  readonly #hear: (waiter: Waiter, result: Http2Result) => void;
  replays = 0;
  /** The session that has the request, or had it last. */
  slot: Slot | undefined = undefined;
  /** The session that refused the request last. */
  avoid: Slot | undefined = undefined;
  result: PoolResult = unsupported;

  constructor(request: Http2Request, asker: PoolAsker, hear: (waiter: Waiter, result: Http2Result) => void) {
    this.request = request;
    this.asker = asker;
    this.#hear = hear;
  }

  onResult(result: Http2Result): void {
    this.#hear(this, result);
  }
}

export class Http2Pool {
  readonly #options: Http2PoolOptions;
  readonly #slots = new Set<Slot>();
  #waiting: Waiter[] = [];
  /**
   * The index of the first request in `#waiting`: shifting a long array would copy it each time.
   */
  #waitingFrom = 0;
  #replaying: Waiter[] = [];
  /** Requests with a result that their askers do not know yet. */
  #ended: Waiter[] = [];
  #pending = 0;
  #isConnecting = false;
  #connectedAt = 0;
  #nextConnectAt = 0;
  #isPumping = false;
  /** Closed connections in a row that never brought an answer. */
  #fruitless = 0;
  #connectTimer: NodeJS.Timeout | undefined;
  #starvedTimer: NodeJS.Timeout | undefined;
  readonly #gate: ConnectGate;
  #onEmpty: (() => void) | undefined;

  readonly #onDecided: OnDecided = (error) => {
    if (error !== undefined) this.#onUnreachable(error, 0);
    else if (this.#queued > 0) this.#grow();
  };

  constructor(options: Http2PoolOptions) {
    this.#options = options;
    this.#gate = options.gate ?? new ConnectGate();
  }

  /** True when nothing is open, waiting or under way. */
  get isEmpty(): boolean {
    return this.#pending === 0 && this.#slots.size === 0 && !this.#isConnecting;
  }

  request(request: Http2Request): Promise<PoolResult> {
    return new Promise((onResult) => this.ask(request, { onResult }));
  }

  /** Makes a request without a promise, which would cost more than the rest of the request. */
  ask(request: Http2Request, asker: PoolAsker): void {
    this.#pending += 1;
    const waiter = new Waiter(request, asker, this.#onResult);
    const slot = this.#queued === 0 ? this.#freeSlot(undefined) : undefined;
    if (slot !== undefined) {
      this.#send(slot, waiter);
      return;
    }
    this.#waiting.push(waiter);
    this.#pump();
  }

  /** Closes every session when all requests have their results. */
  async close(): Promise<void> {
    if (!this.isEmpty) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
        this.#closeIfAsked();
      });
    }
  }

  get #queued(): number {
    return this.#waiting.length - this.#waitingFrom + this.#replaying.length;
  }

  #freeSlot(avoid: Slot | undefined): Slot | undefined {
    for (const slot of this.#slots) {
      const { session } = slot;
      const isTaking = !session.isDraining && !slot.isRefusing && slot !== avoid;
      if (isTaking && session.inFlight < session.streamsMax) return slot;
    }
    return undefined;
  }

  #send(slot: Slot, waiter: Waiter): void {
    if (waiter.request.isWanted?.() === false) {
      this.#resolve(waiter, { transportError: 'connect_error', written: false, latencyMs: 0 });
      return;
    }
    if (slot.idleTimer !== undefined) {
      clearTimeout(slot.idleTimer);
      slot.idleTimer = undefined;
    }
    waiter.slot = slot;
    slot.session.request(waiter.request, waiter);
  }

  readonly #onResult = (waiter: Waiter, result: Http2Result): void => {
    const { slot } = waiter;
    if (!('refused' in result)) {
      if (slot && 'status' in result) {
        slot.hasAnswered = true;
        slot.isRefusing = false;
        this.#fruitless = 0;
      }
      this.#resolve(waiter, result);
      return;
    }
    // In a microtask and not inside the session's code, because the session may be closed here.
    queueMicrotask(() => this.#onRefused(waiter, result));
  };

  #onRefused(waiter: Waiter, result: Refused): void {
    const { slot } = waiter;
    if (slot) slot.isRefusing = true;
    if (slot?.session.inFlight === 0) slot.session.drain();
    if (waiter.replays === replaysMax) {
      this.#resolve(waiter, { transportError: 'reset', written: false, latencyMs: result.latencyMs });
      return;
    }
    waiter.replays += 1;
    waiter.avoid = slot;
    this.#replaying.push(waiter);
    this.#pump();
  }

  #resolve(waiter: Waiter, result: PoolResult): void {
    this.#pending -= 1;
    waiter.result = result;
    this.#ended.push(waiter);
    if (this.#ended.length === 1) queueMicrotask(this.#tell);
    // Also in a microtask, not inside the session's code.
    if (this.#onEmpty !== undefined) queueMicrotask(() => this.#closeIfAsked());
  }

  /** Tells the askers of all requests that have just ended. */
  readonly #tell = (): void => {
    const ended = this.#ended;
    this.#ended = [];
    const { otherwise } = this.#options;
    for (const { request, asker, result } of ended) {
      if (otherwise !== undefined && 'unsupported' in result) otherwise(request, asker);
      else asker.onResult(result);
    }
  };

  /**
   * Assigns all free streams, refused requests first, and opens another connection when requests
   * still wait.
   */
  #pump(): void {
    if (this.#queued === 0) return;
    if (this.#replaying.length > 0) {
      const replaying = this.#replaying;
      this.#replaying = [];
      for (const waiter of replaying) {
        const slot = this.#freeSlot(waiter.avoid);
        if (slot === undefined) this.#replaying.push(waiter);
        else this.#send(slot, waiter);
      }
    }
    for (;;) {
      const waiter = this.#waiting[this.#waitingFrom];
      const slot = waiter && this.#freeSlot(undefined);
      if (waiter === undefined || slot === undefined) break;
      this.#waitingFrom += 1;
      this.#send(slot, waiter);
    }
    if (this.#waitingFrom > 1_024 || this.#waitingFrom === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#waitingFrom);
      this.#waitingFrom = 0;
    }
    if (this.#queued > 0) this.#grow();
  }

  #usable(): number {
    let count = 0;
    for (const { session, isRefusing } of this.#slots) if (!session.isDraining && !isRefusing) count += 1;
    return count;
  }

  /**
   * Opens another connection when there is room: one at a time, and after a failure not before its
   * time.
   */
  #grow(): void {
    // A refused request must not go back to the session that refused it, so it may need one more
    // than usual.
    const sessionsMax = this.#options.sessionsMax + (this.#replaying.length > 0 ? 1 : 0);
    if (this.#isConnecting || this.#connectTimer !== undefined) return;
    if (this.#usable() >= sessionsMax) {
      if (this.#isStarved()) this.#awaitStreams();
      return;
    }
    const waitMs = this.#nextConnectAt - performance.now();
    if (waitMs <= 0) {
      if (this.#gate.enter(this.#onDecided)) this.#connect();
      return;
    }
    this.#connectTimer = setTimeout(() => {
      this.#connectTimer = undefined;
      if (this.#queued > 0) this.#grow();
    }, waitMs);
  }

  /**
   * Returns whether all possible sessions allow no stream. A waiting request would then neither
   * begin nor reach its deadline.
   */
  #isStarved(): boolean {
    if (this.#queued === 0 || this.#usable() === 0) return false;
    for (const { session, isRefusing } of this.#slots)
      if (!session.isDraining && !isRefusing && (session.streamsMax > 0 || session.inFlight > 0)) return false;
    return true;
  }

  /**
   * Fails the waiting requests when the peer allows no stream for longer than a connection may
   * take. For a moment a peer may do so.
   */
  #awaitStreams(): void {
    this.#starvedTimer ??= setTimeout(() => {
      this.#starvedTimer = undefined;
      if (this.#isStarved()) this.#failQueued({ transportError: 'connect_error', written: false, latencyMs: 0 });
    }, this.#options.connectTimeoutMs);
  }

  #connect(): void {
    this.#isConnecting = true;
    this.#connectedAt = performance.now();
    const { open, authority, engine, streamsMax, connectTimeoutMs } = this.#options;
    const socket = open();
    let slot: Slot | undefined;
    let isOver = false;
    // A try to connect ends once, with a session or without; later events of its socket are
    // ignored.
    const finish = (then: () => void) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#isConnecting = false;
      then();
      this.#closeIfAsked();
    };
    const fail = (error: Unreachable) => finish(() => this.#onConnectFailed(error));
    const timer = setTimeout(() => {
      fail({ transportError: 'connect_error' });
      socket.destroy();
    }, connectTimeoutMs);
    socket.on('error', (error) => fail(unreachableOf(error)));
    socket.once('close', () => fail({ transportError: 'reset' }));
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol !== 'h2') {
        finish(() => {
          this.#gate.succeed();
          this.#failQueued(unsupported);
        });
        socket.destroy();
        return;
      }
      const session = engine(socket, {
        authority,
        streamsMax,
        events: {
          onReady: () =>
            finish(() => {
              this.#gate.succeed();
              slot = this.#admit(session);
            }),
          onCapacity: () => slot && this.#onCapacity(slot),
          onDrain: (error) => {
            if (error !== undefined) this.#postponeConnecting();
            this.#pump();
          },
          onClose: (error) => (slot ? this.#onClosed(slot, error) : fail(unreachableOf(error))),
        },
      });
    });
  }

  #admit(session: Http2Session): Slot {
    const slot: Slot = { session, idleSince: 0, idleTimer: undefined, isRefusing: false, hasAnswered: false };
    this.#slots.add(slot);
    this.#pump();
    if (session.inFlight === 0) this.#rest(slot);
    return slot;
  }

  #onCapacity(slot: Slot): void {
    // In a microtask, because the result of the ended stream is on its way and may say that this
    // session refuses.
    if (!this.#isPumping) {
      this.#isPumping = true;
      queueMicrotask(() => {
        this.#isPumping = false;
        this.#pump();
      });
    }
    if (slot.session.inFlight === 0 && !slot.session.isDraining) this.#rest(slot);
  }

  #onClosed(slot: Slot, error: unknown): void {
    clearTimeout(slot.idleTimer);
    this.#slots.delete(slot);
    // A broken connection counts as a failed one, and so do several useless ones in a row;
    // otherwise a sick peer would be flooded. A few are free, because a refused request should be
    // sent again at once.
    this.#fruitless = slot.hasAnswered ? 0 : this.#fruitless + 1;
    if (error !== undefined || this.#fruitless > replaysMax) this.#postponeConnecting();
    this.#pump();
    this.#closeIfAsked();
  }

  #onConnectFailed(error: Unreachable): void {
    this.#postponeConnecting();
    this.#gate.fail(error, this.#nextConnectAt);
    this.#onUnreachable(error, performance.now() - this.#connectedAt);
  }

  #onUnreachable(error: Unreachable, latencyMs: number): void {
    // While other sessions still work, the waiting requests get their turn there.
    if (this.#usable() > 0) this.#pump();
    else this.#failQueued({ ...error, written: false, latencyMs });
  }

  /**
   * The time counts from the last connection, so the loss of a session that worked for long is
   * followed by a try almost at once.
   */
  #postponeConnecting(): void {
    const paced = this.#connectedAt + reconnectMs * (1 + Math.random());
    this.#nextConnectAt = Math.max(paced, performance.now() + lostJitterMs * Math.random());
  }

  #failQueued(result: PoolResult): void {
    const queued = [...this.#replaying, ...this.#waiting.slice(this.#waitingFrom)];
    this.#replaying = [];
    this.#waiting = [];
    this.#waitingFrom = 0;
    for (const waiter of queued) this.#resolve(waiter, result);
  }

  #rest(slot: Slot): void {
    slot.idleSince = performance.now();
    this.#awaitIdle(slot);
  }

  #awaitIdle(slot: Slot): void {
    const { idleMs, ping } = this.#options;
    clearTimeout(slot.idleTimer);
    slot.idleTimer = setTimeout(
      async () => {
        if (slot.session.inFlight > 0 || slot.session.isDraining) return;
        if (performance.now() - slot.idleSince >= idleMs) {
          slot.session.drain();
          return;
        }
        if (ping !== undefined && !(await slot.session.ping(ping.timeoutMs))) {
          slot.session.destroy();
          return;
        }
        if (slot.session.inFlight === 0) this.#awaitIdle(slot);
      },
      Math.min(ping?.afterMs ?? idleMs, idleMs),
    );
    slot.idleTimer.unref();
  }

  #closeIfAsked(): void {
    if (this.#onEmpty === undefined || this.#pending > 0) return;
    for (const { session } of this.#slots) session.drain();
    if (this.isEmpty) this.#onEmpty();
  }
}
