// One request to an origin over whichever protocol it speaks: ALPN decides at the first connection and the answer is
// remembered per origin. The one door for HTTPS that wants HTTP/2 where there is some. Never rejects.
import { isIP } from 'node:net';
import { ConnectGate } from './http2/connect-gate.ts';
import { Http2Pool, type Http2PoolOptions } from './http2/pool.ts';
import type { Http2Engine, Http2Request } from './http2/session.ts';
import type { OutboundHttp, OutboundRequest, OutboundResult } from './outbound-http.ts';
import type { OutboundOrigin, OutboundSockets } from './outbound-socket.ts';

export interface TransportRequest extends OutboundRequest {
  /** Headers whose values are unique per request; HTTP/2 does not index them. */
  readonly unindexed?: readonly string[];
  /** Requests with another name here never share a connection: some peers bind one to the first key they see on it. */
  readonly pool?: string;
}

export interface OutboundTransport {
  /** Never rejects. A connection that cannot be made in time is a `connect_error`: nothing was sent. */
  request(request: TransportRequest): Promise<OutboundResult>;
  /** Lets the connections of a named pool go when what is under way on them has ended. A later request opens new ones. */
  retire(origin: OutboundOrigin, pool: string): void;
  /** Ends warm connections when what is under way has ended. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly sockets: OutboundSockets;
  readonly http1: OutboundHttp;
  readonly engine: Http2Engine;
  /** Hosts that are never spoken to in HTTP/2. */
  readonly isHttp1Only?: (host: string) => boolean;
  /** HTTP/1.1 connections at once to a host. */
  readonly http1SocketsMax?: (host: string) => number;
  readonly http2?: Partial<
    Pick<Http2PoolOptions, 'sessionsMax' | 'streamsMax' | 'connectTimeoutMs' | 'idleMs' | 'ping'>
  >;
}

/** What is known of an origin: its connections, or that it speaks no HTTP/2. */
type Peer = { readonly pool: Http2Pool; readonly authority: string } | 'http/1.1';

/** The last one that was asked for: nearly always it is the next one, too. */
interface Remembered {
  readonly host: string;
  readonly port: number;
  readonly name: string | undefined;
  readonly key: string;
  readonly peer: Exclude<Peer, 'http/1.1'>;
}

const noNames: readonly string[] = [];

/** Origins remembered. Beyond it those without a connection are forgotten, and asked again when they are needed. */
const originsMax = 1_000;

const http2Defaults = { sessionsMax: 4, streamsMax: 100, connectTimeoutMs: 10_000, idleMs: 60_000 };

export function createOutboundTransport(options: TransportOptions): OutboundTransport {
  const { sockets, http1, engine, isHttp1Only = () => false, http1SocketsMax = () => 64 } = options;
  const origins = new Map<string, Peer>();
  /** By host: its pools are many, of all apps, and knock at one door. */
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

  const peerOf = (request: TransportRequest): Remembered | 'http/1.1' => {
    const { host, port, pool: name } = request;
    if (last !== undefined && last.name === name && last.host === host && last.port === port) return last;
    const key = keyOf(request, name);
    const peer = origins.get(key) ?? meet(key, request);
    if (peer === 'http/1.1') return peer;
    last = { host, port, name, key, peer };
    return last;
  };

  const meet = (key: string, { host, port }: TransportRequest): Peer => {
    if (isHttp1Only(host)) return 'http/1.1';
    if (origins.size >= originsMax) forgetUnused(origins);
    last = undefined;
    const open = () => sockets.open({ host, port }, ['h2', 'http/1.1']);
    const gate = gateOf({ host, port });
    const pool = new Http2Pool({ ...http2Defaults, ...options.http2, open, engine, gate });
    const peer = { pool, authority: authorityOf({ host, port }) };
    origins.set(key, peer);
    return peer;
  };

  const overHttp1 = async (request: TransportRequest) => {
    const result = await http1.request({ ...request, socketsMax: http1SocketsMax(request.host) });
    // Time ran out before the connection stood: unlike a silent server, that leaves nothing unknown.
    if ('transportError' in result && result.transportError === 'timeout' && !result.written) {
      return { ...result, transportError: 'connect_error' as const };
    }
    return result;
  };

  return {
    request(request) {
      const found = peerOf(request);
      if (found === 'http/1.1') return overHttp1(request);
      const { key, peer } = found;
      const { authority, pool } = peer;
      const { path, headers, body, timeoutMs, unindexed = noNames, isWanted } = request;
      // Field by field, as this runs for every push: a spread costs a microsecond. The type says where one is missing.
      const sent = { authority, path, headers, body, timeoutMs, unindexed, isWanted } satisfies Record<
        keyof Http2Request,
        unknown
      >;
      return pool.requestOr(sent, () => {
        origins.set(key, 'http/1.1');
        last = undefined;
        return overHttp1(request);
      });
    },
    retire(origin, pool) {
      const key = keyOf(origin, pool);
      const known = origins.get(key);
      if (known === undefined || known === 'http/1.1') return;
      origins.delete(key);
      last = undefined;
      const closing = known.pool.close().finally(() => retiring.delete(closing));
      retiring.add(closing);
    },
    async close() {
      http1.close();
      await Promise.all([...origins.values()].map((known) => known !== 'http/1.1' && known.pool.close()));
      await Promise.all(retiring);
    },
  };
}

function authorityOf({ host, port }: OutboundOrigin): string {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return port === 443 ? written : `${written}:${port}`;
}

function keyOf({ host, port }: OutboundOrigin, pool = ''): string {
  return `${host} ${port} ${pool}`;
}

function forgetUnused(origins: Map<string, Peer>): void {
  for (const [key, known] of origins) if (known === 'http/1.1' || known.pool.isEmpty) origins.delete(key);
}
