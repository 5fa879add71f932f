// One request on the wire and all ways to treat it, with the same interface for HTTP/2 and
// HTTP/1.1. It knows nothing of push. Actions that HTTP/1.1 cannot do are replaced by the nearest
// possible effect.
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ResetCode, resetCodes } from './faults.ts';
import type { Answer } from './vendors/vendor.ts';

export interface Exchange {
  respond(answer: Answer): void;
  /**
   * Sends the head after `delayMs` and then the body, with `byteMs` between its octets when that is
   * above 0. Resolves when the head is sent, or nobody is there to get it.
   */
  respondSlowly(answer: Answer, delayMs: number, byteMs: number): Promise<void>;
  reset(code: ResetCode): void;
  /**
   * Sends GOAWAY. With `answer`, the answer is the last thing on this connection; without, this
   * request and later ones get none.
   */
  goaway(code: ResetCode, debug: string, answer: Answer | null): void;
  /** Ends the connection, after `answer` when there is one. */
  close(answer: Answer | null): void;
  /** Sends SETTINGS that allow this many concurrent streams. Does nothing over HTTP/1.1. */
  allowStreams(streams: number): void;
  /** Ends the connection with a GOAWAY that says `debug` once nothing has arrived for `idleMs`. */
  closeWhenIdle(idleMs: number, debug: string): void;
}

const lingerMs = 500;

/** Timers that are cleared when the server closes. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();

  after(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      act();
    }, delayMs);
    this.#running.add(timer);
  }

  /** Does the same, and resolves then. */
  afterwards(delayMs: number, act: () => void): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, () => resolve(act())));
  }

  clear(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}

/** One HTTP/2 connection, and what it has promised about its streams. */
export class Http2Connection {
  readonly id: number;
  readonly #session: ServerHttp2Session;
  readonly #socket: Duplex;
  readonly #timers: Timers;
  readonly #open = new Set<number>();
  #answeredMax = 0;
  #admittedMax = 0;
  #streamsMax: number | null;
  #idle: { readonly ms: number; readonly debug: string; arrivals: number } | null = null;
  #lastId = Number.POSITIVE_INFINITY;

  /** `streamsMax` is the limit in the first SETTINGS; null when SETTINGS have none. */
  constructor(id: number, session: ServerHttp2Session, socket: Duplex, timers: Timers, streamsMax: number | null) {
    this.#streamsMax = streamsMax;
    this.#timers = timers;
    this.id = id;
    this.#session = session;
    this.#socket = socket;
  }

  /**
   * Tracks a stream to its end. Returns false when the stream came after a GOAWAY and must not be
   * processed.
   */
  admit(stream: ServerHttp2Stream): boolean {
    const id = stream.id ?? 0;
    if (id > this.#lastId) return false;
    this.#open.add(id);
    this.#admittedMax = Math.max(this.#admittedMax, id);
    if (this.#idle !== null) this.#idle.arrivals += 1;
    stream.once('close', () => {
      this.#open.delete(id);
      this.#waitForMore();
      if (this.#lastId !== Number.POSITIVE_INFINITY) this.#endWhenIdle();
    });
    return true;
  }

  /** Streams that were admitted and have not ended. */
  get openStreams(): number {
    return this.#open.size;
  }

  allowStreams(streams: number): void {
    if (streams === this.#streamsMax || this.#session.destroyed) return;
    this.#streamsMax = streams;
    this.#session.settings({ maxConcurrentStreams: streams });
  }

  closeWhenIdle(ms: number, debug: string): void {
    this.#idle = { ms, debug, arrivals: 0 };
  }

  /**
   * Whether a stream that was admitted will never be answered: a later GOAWAY excludes it, or its
   * connection was cut.
   */
  isAbandoned(stream: ServerHttp2Stream): boolean {
    return this.#socket.destroyed || (stream.id ?? 0) > this.#lastId;
  }

  noteAnswer(stream: ServerHttp2Stream): void {
    this.#answeredMax = Math.max(this.#answeredMax, stream.id ?? 0);
  }

  /**
   * RFC 9113 section 6.8: streams above the last id were not processed and will not be. The others
   * are still answered, and then the connection ends.
   */
  goaway(code: ResetCode, debug: string, stream: ServerHttp2Stream, isProcessed: boolean): void {
    const id = stream.id ?? 1;
    // Client streams have odd ids. An answered stream cannot be called unprocessed.
    this.#lastId = Math.max(isProcessed ? id : id - 2, this.#answeredMax, 0);
    this.#session.goaway(resetCodes[code], this.#lastId, Buffer.from(debug, 'utf8'));
    if (isProcessed) return;
    if (id <= this.#lastId) stream.close(resetCodes.REFUSED_STREAM);
    this.#open.delete(id);
    this.#endWhenIdle();
  }

  /**
   * Ends the connection after everything that was written. Frames reach the socket one turn of the
   * event loop after they are made, and the socket sends what it has before its end.
   */
  endAfterFlush(): void {
    setImmediate(() => setImmediate(() => this.#socket.end()));
    // A client may keep its half open as long as it likes. Destroying the socket at once could lose
    // written data.
    this.#timers.after(lingerMs, () => this.#socket.destroy());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /**
   * Called when the last stream has ended. The connection ends too unless another stream arrives in
   * time.
   */
  #waitForMore(): void {
    const idle = this.#idle;
    if (idle === null || this.#open.size > 0) return;
    const { arrivals } = idle;
    this.#timers.after(idle.ms, () => {
      if (this.#idle !== idle || idle.arrivals !== arrivals || this.#session.destroyed) return;
      this.#lastId = this.#admittedMax;
      this.#session.goaway(resetCodes.NO_ERROR, this.#lastId, Buffer.from(idle.debug, 'utf8'));
      this.endAfterFlush();
    });
  }

  #endWhenIdle(): void {
    for (const id of this.#open) if (id <= this.#lastId) return;
    this.endAfterFlush();
  }
}

export class Http2Exchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly #connection: Http2Connection;
  readonly #timers: Timers;

  constructor(stream: ServerHttp2Stream, connection: Http2Connection, timers: Timers) {
    this.#stream = stream;
    this.#connection = connection;
    this.#timers = timers;
  }

  respond({ status, headers, body }: Answer): void {
    if (!this.#mayAnswer()) return;
    this.#stream.respond({ ':status': status, ...headers }, { endStream: body === '' });
    if (body !== '') this.#stream.end(body);
  }

  respondSlowly(answer: Answer, delayMs: number, byteMs: number): Promise<void> {
    return this.#timers.afterwards(delayMs, () => {
      if (byteMs === 0 || answer.body === '') return this.respond(answer);
      if (!this.#mayAnswer()) return;
      this.#stream.respond({ ':status': answer.status, ...answer.headers });
      drip(this.#stream, answer.body, byteMs, this.#timers);
    });
  }

  reset(code: ResetCode): void {
    this.#stream.close(resetCodes[code]);
  }

  goaway(code: ResetCode, debug: string, answer: Answer | null): void {
    this.#connection.goaway(code, debug, this.#stream, answer !== null);
    if (answer !== null) this.respond(answer);
  }

  close(answer: Answer | null): void {
    if (answer === null) {
      this.#connection.destroy();
      return;
    }
    this.respond(answer);
    this.#stream.once('close', () => this.#connection.endAfterFlush());
  }

  allowStreams(streams: number): void {
    this.#connection.allowStreams(streams);
  }

  closeWhenIdle(idleMs: number, debug: string): void {
    this.#connection.closeWhenIdle(idleMs, debug);
  }

  #mayAnswer(): boolean {
    if (this.#stream.destroyed || this.#stream.headersSent || this.#connection.isAbandoned(this.#stream)) return false;
    this.#connection.noteAnswer(this.#stream);
    return true;
  }
}

export class Http1Exchange implements Exchange {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #timers: Timers;

  constructor(response: ServerResponse, socket: Socket, timers: Timers) {
    this.#response = response;
    this.#socket = socket;
    this.#timers = timers;
  }

  respond({ status, headers, body }: Answer): void {
    if (this.#response.destroyed || this.#response.headersSent) return;
    this.#response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
    this.#response.end(body);
  }

  respondSlowly(answer: Answer, delayMs: number, byteMs: number): Promise<void> {
    return this.#timers.afterwards(delayMs, () => {
      if (byteMs === 0 || answer.body === '') return this.respond(answer);
      if (this.#response.destroyed) return;
      this.#response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) });
      drip(this.#response, answer.body, byteMs, this.#timers);
    });
  }

  reset(): void {
    this.#socket.destroy();
  }

  /**
   * HTTP/1.1 has no GOAWAY: the answer says `Connection: close`, and requests without an answer end
   * with their socket.
   */
  goaway(_code: ResetCode, _debug: string, answer: Answer | null): void {
    this.close(answer);
  }

  close(answer: Answer | null): void {
    if (answer === null) {
      this.#socket.destroy();
      return;
    }
    this.#response.shouldKeepAlive = false;
    this.respond(answer);
  }

  /** HTTP/1.1 has one request at a time and no such setting. */
  allowStreams(): void {}

  closeWhenIdle(idleMs: number): void {
    this.#socket.setTimeout(idleMs, () => this.#socket.destroy());
  }
}

function drip(
  to: { write(chunk: Buffer): unknown; end(): unknown; readonly destroyed: boolean },
  body: string,
  byteMs: number,
  timers: Timers,
): void {
  const octets = Buffer.from(body, 'utf8');
  const next = (index: number): void => {
    if (to.destroyed) return;
    if (index === octets.length) {
      to.end();
      return;
    }
    to.write(octets.subarray(index, index + 1));
    timers.after(byteMs, () => next(index + 1));
  };
  next(0);
}
