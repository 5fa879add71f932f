// One HTTP/2 connection as the pool sees it: requests in, answers out. An engine behind it speaks the protocol; it keeps
// no queue, opens no connection of its own and never rejects: whatever the peer does is an answer, a failure or a refusal.
import type { TLSSocket } from 'node:tls';
import type { OutboundAnswer, OutboundFailure } from '../outbound-http.ts';

export interface Http2Request {
  /** `host`, or `host:port` where the port is not 443. */
  readonly authority: string;
  readonly path: string;
  /** Lower-case names, no pseudo-headers, no `content-length` (the engine adds it). */
  readonly headers: Readonly<Record<string, string>>;
  /** Names whose values are unique per request: not indexed, so that they do not flush the header table. */
  readonly unindexed?: readonly string[];
  readonly body: Buffer;
  /** From being handed to the session to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Asked when a stream is free for it. False: nothing is written, and the result is a `connect_error`. */
  readonly isWanted?: (() => boolean) | undefined;
}

/** The peer says it did not act on the request (REFUSED_STREAM, or above the last stream of a GOAWAY): it may be sent again. */
export interface Refused {
  readonly refused: true;
  readonly latencyMs: number;
}

export type Http2Result = OutboundAnswer | OutboundFailure | Refused;

/** What a session tells the pool. Each may come at any time, also during `request`. */
export interface Http2SessionEvents {
  /** The peer's SETTINGS are known; from now on requests may be handed over. At most once. */
  onReady(): void;
  /** A stream ended, or the peer's limit changed. */
  onCapacity(): void;
  /**
   * The peer said goodbye (GOAWAY), or `drain` was called: no further request may be handed over, those under way go on.
   * `error` when the goodbye had a cause. At most once, before `onClose`; not told when the connection is simply gone.
   */
  onDrain(error: unknown): void;
  /** The connection is gone and every request has its result. Exactly once. `error` is undefined after a proper end. */
  onClose(error: unknown): void;
}

export interface Http2Session {
  /** What the peer allows at once, at most the cap it was created with. */
  readonly streamsMax: number;
  readonly inFlight: number;
  readonly isDraining: boolean;
  /**
   * To be called only while ready, not draining and `inFlight < streamsMax`. `onResult` is told once, also during this call, and
   * before `onCapacity` tells of its stream; it must not throw. A promise would cost more than all the rest of a request.
   */
  request(request: Http2Request, onResult: (result: Http2Result) => void): void;
  /** Whether the peer answers a PING in time. */
  ping(timeoutMs: number): Promise<boolean>;
  /** Takes no further request, and closes the connection when those under way have ended. */
  drain(): void;
  /** Ends the connection now; requests under way fail. */
  destroy(): void;
}

/** Makes a session of an open, verified TLS connection whose ALPN is `h2`. */
export type Http2Engine = (
  socket: TLSSocket,
  options: { readonly streamsMax: number; readonly events: Http2SessionEvents },
) => Http2Session;
