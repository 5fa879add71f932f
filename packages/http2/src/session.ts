// One HTTP/2 connection as the pool sees it. An engine implements the protocol. A session has no
// queue, opens no further connection and never rejects: whatever the peer does becomes an answer, a
// failure or a refusal.
import type { TLSSocket } from 'node:tls';
import type { HttpAnswer, HttpFailure } from './result.ts';

export interface Http2Request {
  readonly path: string;
  /** Lower-case names, no pseudo-headers, and no `content-length`, which the engine adds. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Names of fields whose values are unique for each request. They are not indexed, because they
   * would flush the header table.
   */
  readonly unindexed?: readonly string[];
  readonly body: Buffer;
  /** Milliseconds from the call of `request` to the last byte of the answer. */
  readonly timeoutMs: number;
  /**
   * Asked when a stream is free for the request. False: nothing is written, and the result is a
   * `connect_error`.
   */
  isWanted?(): boolean;
}

/**
 * The peer says that it did not act on the request (REFUSED_STREAM, or a stream above the last one
 * of a GOAWAY), so the request may be sent again.
 */
export interface Refused {
  readonly refused: true;
  readonly latencyMs: number;
}

export type Http2Result = HttpAnswer | HttpFailure | Refused;

/**
 * The object that made a request and takes its result. A function or a promise for each request
 * would cost memory.
 */
export interface Asker {
  /** Takes the one result of the request. Must not throw. */
  onResult(result: Http2Result): void;
}

/** Events of a session for the pool. Each may come at any time, also during `request`. */
export interface Http2SessionEvents {
  /** The peer's SETTINGS have arrived, and requests are accepted from now on. At most once. */
  onReady(): void;
  /** A stream ended, or the peer's limit changed. */
  onCapacity(): void;
  /**
   * The peer sent a GOAWAY, or `drain` was called: no further request is accepted, and those under
   * way continue. `error` is set when the GOAWAY had a cause. At most once and before `onClose`;
   * not called when the connection is simply lost.
   */
  onDrain(error: unknown): void;
  /**
   * The connection is closed and every request has its result. Exactly once. `error` is undefined
   * after a regular end.
   */
  onClose(error: unknown): void;
}

export interface Http2Session {
  /** Concurrent streams that the peer allows, at most the maximum given at creation. */
  readonly streamsMax: number;
  readonly inFlight: number;
  readonly isDraining: boolean;
  /**
   * Call it only while the session is ready, not draining and `inFlight < streamsMax`. The asker
   * gets one result, possibly during this call, and before `onCapacity` reports its stream.
   */
  request(request: Http2Request, asker: Asker): void;
  /** Resolves with whether the peer answers a PING in time. */
  ping(timeoutMs: number): Promise<boolean>;
  /** Accepts no further request, and closes the connection when those under way have ended. */
  drain(): void;
  /** Closes the connection now; requests under way fail. */
  destroy(): void;
}

export interface Http2SessionOptions {
  /** The authority of every request: `host`, or `host:port` when the port is not 443. */
  readonly authority: string;
  readonly streamsMax: number;
  readonly events: Http2SessionEvents;
}

/** Creates a session on an open, verified TLS connection whose ALPN is `h2`. */
export type Http2Engine = (socket: TLSSocket, options: Http2SessionOptions) => Http2Session;
