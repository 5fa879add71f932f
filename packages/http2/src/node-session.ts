// The HTTP/2 session engine on `node:http2`. Errors of session and streams always have a listener,
// because an error without one would end the process. They are interpreted when the stream closes.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { CappedBody } from './capped-body.ts';
import { answerBodyLimits, type TransportError } from './result.ts';
import type {
  Asker,
  Http2Engine,
  Http2Request,
  Http2Session,
  Http2SessionEvents,
  Http2SessionOptions,
} from './session.ts';

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_FLAG_END_STREAM } = constants;

/** Milliseconds after which the socket is closed for a peer that does not close its side. */
const lingerMs = 5_000;

/**
 * Megabytes that `node:http2` may hold for one session. Bodies under way count, and with the
 * default of 10 streams fail.
 */
const sessionMemoryMb = 64;

/**
 * Fulfils the promises of `Http2Session`. After a GOAWAY with an error code `node:http2` ends all
 * streams at once.
 */
export const nodeEngine: Http2Engine = (socket, options) => new NodeSession(socket, options);

class NodeSession implements Http2Session {
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  readonly #authority: string;
  readonly #streamsCap: number;
  readonly #events: Http2SessionEvents;
  #isReady = false;
  #isLingering = false;
  #lastStreamId = Number.POSITIVE_INFINITY;
  #answers = 0;
  #error: unknown;
  inFlight = 0;
  isDraining = false;
  streamsMax = 0;

  constructor(socket: TLSSocket, { authority, streamsMax: streamsCap, events }: Http2SessionOptions) {
    this.#socket = socket;
    this.#authority = authority;
    this.#streamsCap = streamsCap;
    this.#events = events;
    // Each request names its authority; `connect` only requires some address.
    this.#session = connect('https://localhost', {
      createConnection: () => socket,
      settings: { enablePush: false },
      maxSessionMemory: sessionMemoryMb,
    });
    this.#session.on('error', (error) => {
      this.#error ??= error;
    });
    this.#session.on('remoteSettings', ({ maxConcurrentStreams }) => this.#onSettings(maxConcurrentStreams));
    this.#session.on('goaway', (code, lastStreamId) => {
      this.#lastStreamId = lastStreamId;
      this.#stopTaking(code === NGHTTP2_NO_ERROR ? undefined : new Error(`The peer said goodbye with code ${code}.`));
    });
    this.#session.once('close', () => {
      this.isDraining = true;
      events.onClose(this.#error);
    });
  }

  request(request: Http2Request, asker: Asker): void {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headersOf(request, this.#authority));
    } catch {
      // `request` throws when the session began to close in this turn: nothing was sent.
      this.#stopTaking(this.#error);
      asker.onResult({ refused: true, latencyMs: 0 });
      return;
    }
    this.#follow(stream, request.timeoutMs, asker);
    stream.end(request.body);
  }

  #follow(stream: ClientHttp2Stream, timeoutMs: number, asker: Asker): void {
    this.inFlight += 1;
    const answersBefore = this.#answers;
    const exchange = new Exchange(stream, asker);
    const timer = setTimeout(() => {
      exchange.end('timeout');
      stream.close(NGHTTP2_CANCEL);
      // No answer arrived in that time, so the connection may be dead without notice (NAT,
      // firewall).
      if (this.#answers === answersBefore) this.drain();
    }, timeoutMs);
    stream.once('response', (headers, flags) => {
      this.#answers += 1;
      exchange.begin(headers[':status'] ?? 0, headers, (flags & NGHTTP2_FLAG_END_STREAM) !== 0);
    });
    stream.on('error', () => {});
    stream.once('close', () => {
      clearTimeout(timer);
      this.inFlight -= 1;
      exchange.end(this.#isRefused(stream) ? 'refused' : 'reset');
      this.#linger();
      this.#events.onCapacity();
    });
  }

  #isRefused({ id, rstCode }: ClientHttp2Stream): boolean {
    return rstCode === NGHTTP2_REFUSED_STREAM || id === undefined || id > this.#lastStreamId;
  }

  #onSettings(maxConcurrentStreams: number | undefined): void {
    this.streamsMax = Math.min(maxConcurrentStreams ?? Number.POSITIVE_INFINITY, this.#streamsCap);
    if (this.#isReady) {
      this.#events.onCapacity();
      return;
    }
    this.#isReady = true;
    this.#events.onReady();
  }

  #stopTaking(error: unknown): void {
    if (this.isDraining) return;
    this.isDraining = true;
    this.#linger();
    this.#events.onDrain(error);
  }

  /** When no stream is left, closes the socket soon, even if the peer does not close its side. */
  #linger(): void {
    if (!this.isDraining || this.inFlight > 0 || this.#isLingering) return;
    this.#isLingering = true;
    setTimeout(() => this.#socket.destroy(), lingerMs).unref();
  }

  ping(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      const answer = (error: Error | null) => {
        clearTimeout(timer);
        resolve(error === null);
      };
      try {
        if (!this.#session.ping(answer)) answer(new Error('too many pings under way'));
      } catch {
        answer(new Error('the session is closing'));
      }
    });
  }

  drain(): void {
    this.#stopTaking(undefined);
    this.#session.close();
  }

  destroy(): void {
    this.isDraining = true;
    this.#session.destroy();
    this.#socket.destroy();
  }
}

/** One request on its stream, until its one result. */
class Exchange {
  readonly #stream: ClientHttp2Stream;
  readonly #asker: Asker;
  readonly #startedAt = performance.now();
  #isSettled = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: CappedBody | undefined;

  constructor(stream: ClientHttp2Stream, asker: Asker) {
    this.#stream = stream;
    this.#asker = asker;
  }

  /** The final headers have arrived. The answer is complete when no body follows. */
  begin(status: number, headers: IncomingHttpHeaders, isWhole: boolean): void {
    this.#status = status;
    this.#headers = headers;
    if (isWhole) {
      this.#answer(null, false);
      return;
    }
    const body = new CappedBody(answerBodyLimits);
    this.#body = body;
    this.#stream.on('data', (chunk: Buffer) => {
      if (body.push(chunk)) return;
      this.end('reset');
      this.#stream.close(NGHTTP2_CANCEL);
    });
    this.#stream.once('end', () => {
      body.isCut ||= this.#stream.rstCode !== NGHTTP2_NO_ERROR;
      if (!this.#isSettled) this.#answer(body.text(), body.isCut);
    });
  }

  /**
   * Ends the request: with the answer so far, because a known status counts, or without an answer
   * for this reason.
   */
  end(reason: TransportError | 'refused'): void {
    if (this.#isSettled) return;
    if (this.#body !== undefined) {
      this.#body.isCut = true;
      this.#answer(this.#body.text(), true);
    } else {
      this.#isSettled = true;
      const latencyMs = this.#latencyMs;
      if (reason === 'refused') this.#asker.onResult({ refused: true, latencyMs });
      else this.#asker.onResult({ transportError: reason, written: true, latencyMs });
    }
  }

  get #latencyMs(): number {
    return performance.now() - this.#startedAt;
  }

  #answer(body: string | null, truncated: boolean): void {
    this.#isSettled = true;
    const latencyMs = this.#latencyMs;
    this.#asker.onResult({ status: this.#status, headers: this.#headers, body, truncated, latencyMs });
  }
}

function headersOf({ path, headers, body, unindexed }: Http2Request, authority: string): OutgoingHttpHeaders {
  return {
    ':method': 'POST',
    ':scheme': 'https',
    ':authority': authority,
    ':path': path,
    ...headers,
    'content-length': body.length,
    ...(unindexed && { [sensitiveHeaders]: unindexed }),
  };
}
