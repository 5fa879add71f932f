// Our own HTTP/2 session engine: a client for many small requests with nearly the same headers (RFC
// 9113). Whatever the peer sends, each request ends once, memory stays bounded and nothing is
// thrown. A violation of the protocol ends the connection with a GOAWAY that says why.
import type { TLSSocket } from 'node:tls';
import { writeGoaway, writePreface, writeReset } from './control-frames.ts';
import { Exchange } from './exchange.ts';
import { Inbox } from './inbox.ts';
import { Outbox } from './outbox.ts';
import { Pings } from './pings.ts';
import { errorCodes, ProtocolError } from './protocol-error.ts';
import { RequestWriter } from './request-writer.ts';
import type {
  Asker,
  Http2Engine,
  Http2Request,
  Http2Session,
  Http2SessionEvents,
  Http2SessionOptions,
} from './session.ts';
import { StreamTable } from './stream-table.ts';
import { TimerWheel } from './timer-wheel.ts';

/** Milliseconds that a connection may take to write its GOAWAY before it is cut. */
const lingerMs = 1_000;

/** One timer wheel for all sessions of the process. */
const wheel = new TimerWheel();

/**
 * Fulfils the promises of `Http2Session`. After a GOAWAY with an error code, the streams that it
 * covers still end with their own answers.
 */
export const ownEngine: Http2Engine = (socket, options) => new OwnSession(socket, options);

class OwnSession implements Http2Session {
  readonly #socket: TLSSocket;
  readonly #streamsCap: number;
  readonly #events: Http2SessionEvents;
  readonly #out: Outbox;
  readonly #requests: RequestWriter;
  readonly #streams: StreamTable;
  readonly #pings: Pings;
  readonly #inbox: Inbox;
  /** The first stream without a sent byte. */
  #unsentFrom = 1;
  #isReady = false;
  #hasNewCapacity = false;
  /** True when our GOAWAY is written; anything that arrives afterwards is not read. */
  #hasHungUp = false;
  #isClosed = false;
  #error: unknown;
  isDraining = false;
  streamsMax = 0;

  readonly #onTimeout = (exchange: Exchange): void => {
    this.#finish(exchange, 'timeout');
    this.#cancel(exchange.id, errorCodes.cancel);
    // No answer arrived in that time, so the connection may be dead without notice (NAT, firewall).
    if (this.#inbox.answers === exchange.answersBefore) this.drain();
    this.#settle();
  };

  constructor(socket: TLSSocket, { authority, streamsMax: streamsCap, events }: Http2SessionOptions) {
    this.#socket = socket;
    this.#streamsCap = streamsCap;
    this.#events = events;
    this.#streams = new StreamTable(streamsCap);
    this.#out = new Outbox(socket, () => {
      this.#unsentFrom = this.#streams.nextId;
    });
    this.#requests = new RequestWriter(this.#out, authority);
    this.#pings = new Pings(this.#out, wheel);
    this.#inbox = new Inbox({
      streams: this.#streams,
      requests: this.#requests,
      pings: this.#pings,
      out: this.#out,
      events: {
        end: (exchange, reason) => this.#finish(exchange, reason),
        cancel: (id, errorCode) => this.#cancel(id, errorCode),
        settings: (maxConcurrentStreams) => this.#onSettings(maxConcurrentStreams),
        goaway: (lastStreamId, errorCode) => this.#onGoaway(lastStreamId, errorCode),
      },
    });
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.once('end', () => socket.destroy());
    socket.once('close', () => this.#close());
    writePreface(this.#out);
    this.#out.flush();
  }

  get inFlight(): number {
    return this.#streams.size;
  }

  request(request: Http2Request, asker: Asker): void {
    // The session began to close in this turn or has no free stream: nothing was sent.
    if (this.isDraining || this.inFlight >= this.#streamsCap) {
      asker.onResult({ refused: true, latencyMs: 0 });
      return;
    }
    const id = this.#streams.nextId;
    const exchange = new Exchange({
      id,
      body: request.body,
      sendWindow: this.#requests.streamWindow,
      answersBefore: this.#inbox.answers,
      startedAt: performance.now(),
      asker,
      onTimeout: this.#onTimeout,
    });
    this.#streams.add(exchange);
    wheel.add(exchange, request.timeoutMs, exchange.startedAt);
    this.#inbox.noteRequest();
    this.#requests.writeHeaders(id, request);
    this.#requests.writeBody(exchange);
    this.#out.schedule();
    // The stream numbers are used up (RFC 9113 5.1.1).
    if (this.#streams.isExhausted) this.drain();
  }

  ping(timeoutMs: number): Promise<boolean> {
    return this.#isClosed || this.#hasHungUp ? Promise.resolve(false) : this.#pings.ask(timeoutMs);
  }

  drain(): void {
    this.#beginDrain(undefined);
    this.#settle();
  }

  destroy(): void {
    this.isDraining = true;
    this.#socket.destroy();
    this.#close();
  }

  #onData(chunk: Buffer): void {
    try {
      this.#inbox.read(chunk);
    } catch (error) {
      this.#fail(error);
    }
    this.#settle();
  }

  #onSettings(maxConcurrentStreams: number | undefined): void {
    if (maxConcurrentStreams !== undefined || !this.#isReady) {
      this.streamsMax = Math.min(maxConcurrentStreams ?? Number.POSITIVE_INFINITY, this.#streamsCap);
      this.#hasNewCapacity = this.#isReady;
    }
    if (this.#isReady) return;
    this.#isReady = true;
    if (!this.isDraining) this.#events.onReady();
  }

  #onGoaway(lastStreamId: number, errorCode: number): void {
    const hasCause = errorCode !== errorCodes.noError;
    // Drains first, so that no refused request is passed to this session again.
    this.#beginDrain(hasCause ? new Error(`The peer said goodbye with code ${errorCode}.`) : undefined);
    for (const exchange of this.#streams.list()) {
      if (exchange.id > lastStreamId) this.#finish(exchange, 'refused');
    }
  }

  #finish(exchange: Exchange, reason: 'timeout' | 'reset' | 'refused'): void {
    this.#streams.delete(exchange);
    wheel.remove(exchange);
    this.#requests.forget(exchange);
    exchange.end(reason);
    this.#hasNewCapacity = true;
  }

  #cancel(id: number, errorCode: number): void {
    writeReset(this.#out, id, errorCode);
    this.#out.schedule();
  }

  #beginDrain(error: unknown): void {
    if (this.isDraining) return;
    this.isDraining = true;
    if (this.#isReady) this.#events.onDrain(error);
  }

  /**
   * Called after anything that may have ended a stream. Reports the capacity once, and closes a
   * connection that has nothing left to do.
   */
  #settle(): void {
    if (this.isDraining && this.#streams.size === 0) this.#hangUp(errorCodes.noError);
    if (!this.#hasNewCapacity || !this.#isReady) return;
    this.#hasNewCapacity = false;
    this.#events.onCapacity();
  }

  /**
   * The peer broke the protocol, or we made a mistake. In either case this connection cannot be
   * trusted any more.
   */
  #fail(error: unknown): void {
    this.#error ??= error;
    this.isDraining = true;
    this.#failAll();
    this.#out.discard();
    this.#hangUp(error instanceof ProtocolError ? error.errorCode : errorCodes.internalError);
  }

  #hangUp(errorCode: number): void {
    if (this.#hasHungUp || this.#isClosed) return;
    this.#hasHungUp = true;
    this.#inbox.close();
    writeGoaway(this.#out, errorCode);
    this.#out.flush();
    const socket = this.#socket;
    socket.end(() => socket.destroy());
    const late = setTimeout(() => socket.destroy(), lingerMs).unref();
    // Otherwise the timer would keep the session in memory until then.
    socket.once('close', () => clearTimeout(late));
  }

  /**
   * Ends all requests. A request without a sent byte counts as refused and may be sent elsewhere.
   */
  #failAll(): void {
    for (const exchange of this.#streams.list()) {
      this.#finish(exchange, exchange.id >= this.#unsentFrom ? 'refused' : 'reset');
    }
    this.#pings.close();
  }

  /** Called when the connection is closed. */
  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The peer closed without a GOAWAY while requests, or a pool, were waiting for it.
    if (!this.isDraining && (this.inFlight > 0 || !this.#isReady)) {
      this.#error ??= new Error('The peer closed the connection.');
    }
    this.isDraining = true;
    this.#inbox.close();
    this.#failAll();
    this.#events.onClose(this.#error);
  }
}
