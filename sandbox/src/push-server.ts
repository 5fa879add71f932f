// The wire: one TLS port that speaks HTTP/2 and HTTP/1.1 as the client chooses, reads each request to its end and
// hands it to whoever plays the provider. It never refuses by itself; it stands for the network and no more.
import { once } from 'node:events';
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { type Exchange, Http1Exchange, Http2Exchange, Timers } from './exchange.ts';
import type { PushRequest } from './provider.ts';

export interface PushServerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly streamsMax: number;
  readonly protocols: readonly ('h2' | 'http/1.1')[];
  /**
   * For benchmarks: the headers of a 201 from nothing but the address and the Topic, body unread. Null, or absent: the
   * request goes to `onRequest`.
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

/** Of a larger body no more than this is kept: every vendor has refused it long before. */
const BODY_KEPT_BYTES = 64 * 1024;
/** A body without end ends here. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

/** Listens and resolves when it does. Rejects when the port is taken. */
export async function listenForPushes(options: PushServerOptions): Promise<PushServer> {
  const sockets = new Set<TLSSocket>();
  const timers = new Timers();
  let connectionId = 0;
  const identities = new WeakMap<object, { id: number; socket: TLSSocket }>();

  const http2 = createHttp2Server({ settings: { maxConcurrentStreams: options.streamsMax }, maxSessionMemory: 64 });
  const http1 = createHttp1Server({ keepAliveTimeout: 65_000, requestTimeout: 0, headersTimeout: 0 });
  const tls = createTlsServer(
    {
      key: options.keyPem,
      cert: options.certificatePem,
      ALPNCallback: ({ servername, protocols }) => choose(protocols, servername, options.protocols),
    },
    (socket) => {
      connectionId += 1;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // A client that goes away in the middle of a word is no event here.
      socket.on('error', () => socket.destroy());
      const isHttp2 = socket.alpnProtocol === 'h2';
      options.onConnection(isHttp2 ? 'h2' : 'http1');
      identities.set(socket, { id: connectionId, socket });
      if (isHttp2) {
        const identity = { id: connectionId, socket };
        const pair = (session: ServerHttp2Session): void => void identities.set(session, identity);
        // The session is announced before emit returns; never later, and then not for another socket.
        http2.once('session', pair);
        http2.emit('connection', socket);
        http2.off('session', pair);
      } else {
        http1.emit('connection', socket);
      }
    },
  );
  tls.on('tlsClientError', () => {});

  http2.on('session', (session: ServerHttp2Session) => {
    session.on('error', () => session.destroy());
    // One window for all streams: room for every stream's whole body, so that none waits for another's update.
    session.setLocalWindowSize(1 << 20);
  });
  http2.on('stream', (stream: ServerHttp2Stream, headers) => {
    const session = stream.session as ServerHttp2Session | undefined;
    const identity = session === undefined ? undefined : identities.get(session);
    stream.on('error', () => {});
    if (session === undefined || identity === undefined) return;
    const blind = options.answerBlindly?.(
      headers[':authority'] ?? '',
      headers[':path'] ?? '',
      topicOf(headers['topic']),
    );
    if (blind) {
      stream.resume();
      stream.once('end', () => stream.respond({ ':status': 201, ...blind }, { endStream: true }));
      return;
    }
    readBody(stream, (body, bodyBytes) => {
      const { ':method': method = '', ':path': path = '', ':authority': authority, ...rest } = headers;
      delete rest[':scheme'];
      const request: PushRequest = {
        protocol: 'h2',
        connectionId: identity.id,
        method,
        authority: authority ?? String(headers['host'] ?? ''),
        path,
        headers: rest,
        body,
        bodyBytes,
        at: Date.now(),
      };
      options.onRequest(request, new Http2Exchange(stream, session, identity.socket, timers));
    });
  });
  http1.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const identity = identities.get(incoming.socket);
    response.on('error', () => {});
    const blind = options.answerBlindly?.(
      incoming.headers.host ?? '',
      incoming.url ?? '',
      topicOf(incoming.headers['topic']),
    );
    if (blind) {
      incoming.resume();
      incoming.once('end', () => response.writeHead(201, { ...blind, 'content-length': 0 }).end());
      return;
    }
    readBody(incoming, (body, bodyBytes) => {
      const request: PushRequest = {
        protocol: 'http/1.1',
        connectionId: identity?.id ?? 0,
        method: incoming.method ?? '',
        authority: incoming.headers.host ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body,
        bodyBytes,
        at: Date.now(),
      };
      options.onRequest(request, new Http1Exchange(response, incoming.socket, timers));
    });
  });

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

/** WNS speaks HTTP/1.1 only; for all others the client's first wish that is on offer. */
function choose(
  wished: readonly string[],
  serverName: string,
  offered: readonly ('h2' | 'http/1.1')[],
): string | undefined {
  const isWns = serverName.endsWith('.notify.windows.com');
  return wished.find((each) => offered.some((other) => other === each) && !(isWns && each === 'h2'));
}

function topicOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : '';
}

function readBody(from: ServerHttp2Stream | IncomingMessage, onEnd: (body: Buffer, bodyBytes: number) => void): void {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  from.on('data', (chunk: Buffer) => {
    if (bodyBytes < BODY_KEPT_BYTES) chunks.push(chunk);
    bodyBytes += chunk.length;
    if (bodyBytes > BODY_BYTES_MAX) from.destroy();
  });
  from.on('end', () => onEnd(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks), bodyBytes));
}
