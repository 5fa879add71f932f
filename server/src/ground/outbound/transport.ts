// Sends one request to an origin over the protocol that it supports: ALPN decides at the first
// connection, and the result is remembered for the origin. All HTTPS that prefers HTTP/2 goes
// through here. Never rejects.
import { isIP } from 'node:net';
import {
  ConnectGate,
  type Http2Engine,
  Http2Pool,
  type Http2PoolOptions,
  type Http2Request,
  type PoolAsker,
} from '@carillon/http2';
import type { OutboundHttp, OutboundRequest, OutboundResult } from './http.ts';
import type { OutboundOrigin, OutboundSockets } from './socket.ts';

/** A POST. */
export interface TransportRequest extends Omit<OutboundRequest, 'bodyLimits' | 'method'> {
  /** Headers whose values are unique for each request; HTTP/2 does not index them. */
  readonly unindexed?: readonly string[];
  /**
   * Requests with different names here never share a connection, because some peers bind a
   * connection to the first key that they see on it.
   */
  readonly pool?: string;
}

/** A request that takes its own result. */
export type AskingRequest = TransportRequest & PoolAsker<OutboundResult>;

export interface OutboundTransport {
  /**
   * Never rejects. A connection that cannot be made in time is a `connect_error`: nothing was sent.
   */
  request(request: TransportRequest): Promise<OutboundResult>;
  /**
   * Does the same for a caller with many requests under way. The request itself takes the result, so
   * that none needs a promise.
   */
  ask(request: AskingRequest): void;
  /**
   * Closes the connections of a named pool when the requests on them have ended. A later request
   * opens new ones.
   */
  retire(origin: OutboundOrigin, pool: string): void;
  /** Closes open connections when the requests under way have ended. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly sockets: OutboundSockets;
  readonly http1: OutboundHttp;
  readonly engine: Http2Engine;
  /** Returns whether a host never gets HTTP/2. */
  readonly isHttp1Only?: (host: string) => boolean;
  /** Concurrent HTTP/1.1 connections to a host. */
  readonly http1SocketsMax?: (host: string) => number;
  readonly http2?: Partial<
    Pick<Http2PoolOptions, 'sessionsMax' | 'streamsMax' | 'connectTimeoutMs' | 'idleMs' | 'ping'>
  >;
}

/** The known state of an origin: its connections, or that it supports no HTTP/2. */
type Peer = Http2Pool | 'http/1.1';

/** The origin of the last request. The next request nearly always has the same one. */
interface Remembered {
  readonly host: string;
  readonly port: number;
  readonly name: string | undefined;
  readonly connections: Http2Pool;
}

/**
 * Origins that are remembered. Above this number, origins without a connection are dropped; they
 * are met again when needed.
 */
const originsMax = 1_000;

const http2Defaults = { sessionsMax: 4, streamsMax: 100, connectTimeoutMs: 10_000, idleMs: 60_000 };

export function createOutboundTransport(options: TransportOptions): OutboundTransport {
  const { sockets, http1, engine, isHttp1Only = () => false, http1SocketsMax = () => 64 } = options;
  const origins = new Map<string, Peer>();
  /** By host, because the pools of all apps to one host share its gate. */
  const gates = new Map<string, ConnectGate>();
  const retiring = new Set<Promise<void>>();

  const gateOf = (origin: OutboundOrigin): ConnectGate => {
    const key = keyOf(origin);
    let gate = gates.get(key);
    if (gate === undefined) {
      if (gates.size >= originsMax) for (const [other, { isClosed }] of gates) if (!isClosed) gates.delete(other);
      gate = new ConnectGate();
      gates.set(key, gate);
    }
    return gate;
  };

  let last: Remembered | undefined;

  const peerOf = (request: TransportRequest): Peer => {
    const { host, port, pool: name } = request;
    if (last !== undefined && last.name === name && last.host === host && last.port === port) return last.connections;
    const key = keyOf(request, name);
    const peer = origins.get(key) ?? meet(key, request);
    if (peer !== 'http/1.1') last = { host, port, name, connections: peer };
    return peer;
  };

  const meet = (key: string, { host, port, pool: name }: TransportRequest): Peer => {
    if (isHttp1Only(host)) return 'http/1.1';
    if (origins.size >= originsMax) forgetUnused(origins);
    last = undefined;
    const open = () => sockets.open({ host, port }, ['h2', 'http/1.1']);
    const gate = gateOf({ host, port });
    const authority = authorityOf({ host, port });
    const otherwise = (request: Http2Request, asker: PoolAsker<OutboundResult>): void => {
      origins.set(key, 'http/1.1');
      last = undefined;
      tellLater(asker, overHttp1(request, { host, port }, name));
    };
    const peer = new Http2Pool({ ...http2Defaults, ...options.http2, open, authority, engine, gate, otherwise });
    origins.set(key, peer);
    return peer;
  };

  const overHttp1 = async (request: Http2Request, { host, port }: OutboundOrigin, pool: string | undefined) => {
    const { path, headers, body, timeoutMs } = request;
    const result = await http1.request({
      host,
      port,
      method: 'POST',
      path,
      headers,
      body,
      timeoutMs,
      isWanted: () => request.isWanted?.() ?? true,
      socketsMax: http1SocketsMax(host),
      ...(pool !== undefined && { pool }),
    });
    // The time ran out before the connection was ready, so it is certain that nothing was sent.
    if ('transportError' in result && result.transportError === 'timeout' && !result.written) {
      return { ...result, transportError: 'connect_error' as const };
    }
    return result;
  };

  const ask = (request: TransportRequest, asker: PoolAsker<OutboundResult>): void => {
    const peer = peerOf(request);
    if (peer !== 'http/1.1') peer.ask(request, asker);
    else tellLater(asker, overHttp1(request, request, request.pool));
  };

  return {
    request: (request) => new Promise((onResult) => ask(request, { onResult })),
    ask: (request) => ask(request, request),
    retire(origin, pool) {
      const key = keyOf(origin, pool);
      const known = origins.get(key);
      if (known === undefined || known === 'http/1.1') return;
      origins.delete(key);
      last = undefined;
      const closing = known.close().finally(() => retiring.delete(closing));
      retiring.add(closing);
    },
    async close() {
      http1.close();
      await Promise.all([...origins.values()].map((known) => known !== 'http/1.1' && known.close()));
      await Promise.all(retiring);
    },
  };
}

/** Reports the result of a promise. A fault of ours is reported as a lost connection. */
function tellLater(asker: PoolAsker<OutboundResult>, result: Promise<OutboundResult>): void {
  const failed = (): OutboundResult => ({ transportError: 'reset', written: true, latencyMs: 0 });
  void result.catch(failed).then((known) => asker.onResult(known));
}

function authorityOf({ host, port }: OutboundOrigin): string {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return port === 443 ? written : `${written}:${port}`;
}

function keyOf({ host, port }: OutboundOrigin, pool = ''): string {
  return `${host} ${port} ${pool}`;
}

function forgetUnused(origins: Map<string, Peer>): void {
  for (const [key, known] of origins) if (known === 'http/1.1' || known.isEmpty) origins.delete(key);
}
