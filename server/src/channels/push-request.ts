// The request of a push. Thousands wait for their answers at once, and each lives through garbage
// collections, so it asks its push by a method instead of by a function of its own.
import type { TransportRequest } from '../http2/transport.ts';
import type { OutboundOrigin } from '../outbound/socket.ts';
import type { Push } from './channel.ts';

/** The parts of a request that a channel decides about. */
export interface PushRequestParts {
  readonly path: string;
  /** Requests with different names here never share a connection. */
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** Headers whose values are unique for each request. */
  readonly unindexed?: readonly string[];
}

export class PushRequest implements TransportRequest {
  readonly host: string;
  readonly port: number;
  readonly method = 'POST';
  readonly path: string;
  readonly pool: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly timeoutMs: number;
  readonly unindexed: readonly string[];
  readonly #push: Push<unknown>;

  constructor(push: Push<unknown>, { host, port }: OutboundOrigin, parts: PushRequestParts) {
    this.host = host;
    this.port = port;
    this.path = parts.path;
    this.pool = parts.pool;
    this.headers = parts.headers;
    this.body = parts.body;
    this.timeoutMs = parts.timeoutMs;
    this.unindexed = parts.unindexed ?? none;
    this.#push = push;
  }

  isWanted(): boolean {
    return this.#push.isWanted?.() ?? true;
  }
}

const none: readonly string[] = [];
