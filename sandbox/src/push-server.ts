// The wire: one TLS port that speaks HTTP/2 and HTTP/1.1 as the client chooses. It reads each
// request completely and passes it to the provider. It only plays the network and refuses no
// request by itself.
import { once } from 'node:events';
import { createServer as createHttp1Server, type IncomingMessage } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { type Exchange, Http1Exchange, Http2Connection, Http2Exchange, Timers } from './exchange.ts';
import { withStrictScheme } from './loose-scheme.ts';
import type { PushRequest } from './provider.ts';

export interface PushServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** SETTINGS_MAX_CONCURRENT_STREAMS of a new connection; null: not in SETTINGS. */
  readonly streamsMax: number | null;
  /** A limit that SETTINGS do not mention: one stream more ends the connection with a GOAWAY. */
  readonly streamsCap?: { readonly streams: number; readonly debug: string };
  /** Returns a new number for each connection. */
  readonly nextConnectionId: () => number;
  readonly onConnectionEnd?: (connectionId: number) => void;
  readonly onStreamsExceeded?: () => void;
  readonly protocols: readonly ('h2' | 'http/1.1')[];
  /** Accepts the scheme "https:" for "https", as Google does. */
  readonly isSchemeLoose?: boolean;
  /**
   * For benchmarks: returns the headers of a 201 from the address and the Topic alone; the body is
   * not read. Null or absent: the request goes to `onRequest`.
   */
  readonly answerBlindly?: (authority: string, path: string, topic: string) => Record<string, string> | null;
  readonly onRequest: (request: PushRequest, exchange: Exchange) => void;
  readonly onConnection: (protocol: 'h2' | 'http1') => void;
}

export interface PushServer {
  readonly port: number;
  /** Connections open now. */
  connections(): number;
  /** Cuts every connection, as a restart of the provider does. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** The most bytes that are kept of a body. Every vendor refuses a body of this size. */
const bodyKeptBytes = 64 * 1024;
/** A body of this size ends the request, because it may never end. */
const bodyBytesMax = 16 * 1024 * 1024;

/** Takes a TLS connection whose protocol is negotiated. */
type Accept = (socket: TLSSocket, connectionId: number) => void;

/** Resolves when the server listens. Rejects when the port is taken. */
export async function listenForPushes(options: PushServerOptions): Promise<PushServer> {
  const sockets = new Set<TLSSocket>();
  const timers = new Timers();
  const acceptHttp2 = http2Acceptor(options, timers);
  const acceptHttp1 = http1Acceptor(options, timers);
  const tls = createServer(
    {
      key: options.keyPem,
      cert: options.certificatePem,
      ALPNCallback: ({ servername, protocols }) => choose(protocols, servername, options.protocols),
    },
    (socket) => {
      const connectionId = options.nextConnectionId();
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        options.onConnectionEnd?.(connectionId);
      });
      // A client that disconnects in the middle of a request is not an error here.
      socket.on('error', () => socket.destroy());
      const isHttp2 = socket.alpnProtocol === 'h2';
      options.onConnection(isHttp2 ? 'h2' : 'http1');
      (isHttp2 ? acceptHttp2 : acceptHttp1)(socket, connectionId);
    },
  );
  tls.on('tlsClientError', () => {});
  tls.listen(options.port, options.host);
  await once(tls, 'listening');

  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (tls.address() as AddressInfo).port,
    connections: () => sockets.size,
    dropConnections,
    close: () =>
      new Promise((resolve) => {
        tls.close(() => resolve());
        timers.clear();
        dropConnections();
      }),
  };
}

function http2Acceptor(options: PushServerOptions, timers: Timers): Accept {
  const connections = new WeakMap<Http2Session, Http2Connection>();
  const settings = options.streamsMax === null ? {} : { maxConcurrentStreams: options.streamsMax };
  const server = createHttp2Server({ settings, maxSessionMemory: 64 });
  // Node also passes the raw headers, although its types do not say so.
  server.on('stream', (stream, headers, _flags, rawHeaders?: readonly string[]) => {
    stream.on('error', () => {});
    const connection = stream.session === undefined ? undefined : connections.get(stream.session);
    if (connection === undefined) return;
    const authority = headers[':authority'] ?? String(headers['host'] ?? '');
    const path = headers[':path'] ?? '';
    const blind = options.answerBlindly?.(authority, path, topicOf(headers['topic']));
    if (blind) {
      stream.resume();
      stream.once('end', () => stream.respond({ ':status': 201, ...blind }, { endStream: true }));
      return;
    }
    if (!connection.admit(stream)) {
      stream.resume();
      return;
    }
    if (options.streamsCap !== undefined && connection.openStreams > options.streamsCap.streams) {
      options.onStreamsExceeded?.();
      connection.goaway('PROTOCOL_ERROR', options.streamsCap.debug, stream, false);
      stream.resume();
      return;
    }
    readBody(stream, (body, bodyBytes) => {
      if (connection.isAbandoned(stream)) return;
      const { ':method': method = '', ':path': _path, ':authority': _authority, ':scheme': _scheme, ...rest } = headers;
      options.onRequest(
        {
          protocol: 'h2',
          connectionId: connection.id,
          method,
          authority,
          path,
          headers: rest,
          repeatedHeaders: repeated(rawHeaders),
          body,
          bodyBytes,
          at: Date.now(),
        },
        new Http2Exchange(stream, connection, timers),
      );
    });
  });
  return (tlsSocket, connectionId) => {
    const socket = options.isSchemeLoose === true ? withStrictScheme(tlsSocket) : tlsSocket;
    const begin = (session: ServerHttp2Session): void => {
      session.on('error', () => session.destroy());
      // Room for every stream's whole body, so that no stream waits for another stream's window.
      session.setLocalWindowSize(1 << 20);
      connections.set(session, new Http2Connection(connectionId, session, socket, timers, options.streamsMax));
    };
    // The session is announced before `emit` returns. The listener is removed so that it cannot see
    // another socket's session.
    server.once('session', begin);
    server.emit('connection', socket);
    server.off('session', begin);
  };
}

function http1Acceptor(options: PushServerOptions, timers: Timers): Accept {
  const connectionIds = new WeakMap<object, number>();
  const server = createHttp1Server({ keepAliveTimeout: 65_000, requestTimeout: 0, headersTimeout: 0 });
  server.on('request', (incoming, response) => {
    response.on('error', () => {});
    const authority = incoming.headers.host ?? '';
    const path = incoming.url ?? '';
    const blind = options.answerBlindly?.(authority, path, topicOf(incoming.headers['topic']));
    if (blind) {
      incoming.resume();
      incoming.once('end', () => response.writeHead(201, { ...blind, 'content-length': 0 }).end());
      return;
    }
    readBody(incoming, (body, bodyBytes) => {
      options.onRequest(
        {
          protocol: 'http/1.1',
          connectionId: connectionIds.get(incoming.socket) ?? 0,
          method: incoming.method ?? '',
          authority,
          path,
          headers: incoming.headers,
          repeatedHeaders: [],
          body,
          bodyBytes,
          at: Date.now(),
        },
        new Http1Exchange(response, incoming.socket, timers),
      );
    });
  });
  return (socket, connectionId) => {
    connectionIds.set(socket, connectionId);
    server.emit('connection', socket);
  };
}

/** WNS speaks only HTTP/1.1. Otherwise the client's first choice that is on offer wins. */
function choose(
  wished: readonly string[],
  serverName: string | undefined,
  offered: readonly ('h2' | 'http/1.1')[],
): string | undefined {
  // A client that connects by address names no server, and Node passes undefined.
  const isWns = String(serverName).endsWith('.notify.windows.com');
  return wished.find((each) => offered.some((other) => other === each) && !(isWns && each === 'h2'));
}

/** Names that occur twice in a list of alternating names and values. */
function repeated(rawHeaders: readonly string[] = []): string[] {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  return names.filter((name, index) => names.indexOf(name) < index);
}

function topicOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

function readBody(from: ServerHttp2Stream | IncomingMessage, onEnd: (body: Buffer, bodyBytes: number) => void): void {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  from.on('data', (chunk: Buffer) => {
    if (bodyBytes < bodyKeptBytes) chunks.push(chunk);
    bodyBytes += chunk.length;
    if (bodyBytes > bodyBytesMax) from.destroy();
  });
  from.on('end', () => onEnd(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), bodyBytes));
}
