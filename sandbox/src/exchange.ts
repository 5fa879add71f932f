// One request on the wire and all the ways to treat it, alike over HTTP/2 and HTTP/1.1. It knows nothing of push;
// what cannot be done over HTTP/1.1 is done by the nearest thing that can.
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { RESET_CODES, type ResetCode } from './faults.ts';
import type { Answer } from './vendors/vendor.ts';

export interface Exchange {
  respond(answer: Answer): void;
  /** The head after `delayMs`, then the body, with `byteMs` between its octets when that is above 0. */
  respondSlowly(answer: Answer, delayMs: number, byteMs: number): void;
  reset(code: ResetCode): void;
  /** With `answer` the last thing this connection does is to give it; without, nothing from this request on is answered. */
  goaway(code: ResetCode, debug: string, answer: Answer | null): void;
  /** Ends the connection, after `answer` when there is one. */
  close(answer: Answer | null): void;
}

/** Timers that die with the server. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();

  after(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      act();
    }, delayMs);
    this.#running.add(timer);
  }

  clear(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}

export class Http2Exchange implements Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #timers: Timers;

  constructor(stream: ServerHttp2Stream, session: ServerHttp2Session, socket: Socket, timers: Timers) {
    this.#stream = stream;
    this.#session = session;
    this.#socket = socket;
    this.#timers = timers;
  }

  respond({ status, headers, body }: Answer): void {
    if (this.#stream.destroyed || this.#stream.headersSent) return;
    this.#stream.respond({ ':status': status, ...headers }, { endStream: body === '' });
    if (body !== '') this.#stream.end(body);
  }

  respondSlowly(answer: Answer, delayMs: number, byteMs: number): void {
    this.#timers.after(delayMs, () => {
      if (byteMs === 0 || answer.body === '') return this.respond(answer);
      if (this.#stream.destroyed) return;
      this.#stream.respond({ ':status': answer.status, ...answer.headers });
      drip(this.#stream, answer.body, byteMs, this.#timers);
    });
  }

  reset(code: ResetCode): void {
    this.#stream.close(RESET_CODES[code]);
  }

  goaway(code: ResetCode, debug: string, answer: Answer | null): void {
    const id = this.#stream.id ?? 1;
    // RFC 9113 section 6.8: streams above the id were not and will not be processed. Client streams are odd.
    const last = answer === null ? Math.max(0, id - 2) : id;
    this.#session.goaway(RESET_CODES[code], last, Buffer.from(debug, 'utf8'));
    if (answer !== null) {
      this.respond(answer);
      this.#session.close();
      return;
    }
    // The frame is on its way once the socket's write buffer is; then nothing more is said on this connection.
    setImmediate(() => this.#socket.end());
  }

  close(answer: Answer | null): void {
    if (answer === null) {
      this.#socket.destroy();
      return;
    }
    this.respond(answer);
    this.#stream.once('close', () => this.#socket.end());
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

  respondSlowly(answer: Answer, delayMs: number, byteMs: number): void {
    this.#timers.after(delayMs, () => {
      if (byteMs === 0 || answer.body === '') return this.respond(answer);
      if (this.#response.destroyed) return;
      this.#response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) });
      drip(this.#response, answer.body, byteMs, this.#timers);
    });
  }

  reset(): void {
    this.#socket.destroy();
  }

  /** HTTP/1.1 says goodbye with `Connection: close`; unanswered requests end with their socket. */
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
