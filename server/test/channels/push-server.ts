// A small push service controlled by the test: a real TLS server, HTTP/2 or HTTP/1.1, that shows
// each request to the test and treats it as the test says. It knows no channel and checks nothing
// itself.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';

/** Self-signed, so it is also the authority to trust. The fixture lists its names. */
export const certificate = readFileSync(certificateFile, 'utf8');
export const certificateKey = readFileSync(keyFile, 'utf8');

export type Protocol = 'h2' | 'http/1.1';

export interface Served {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. For HTTP/2 the authority is stored as `host`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The connection's number, from 0, in the order of opening. */
  readonly connection: number;
  answer(status: number, headers?: Readonly<Record<string, string>>, body?: string | Buffer): void;
  /** Ends the connection without an answer. */
  cut(): void;
  /** Writes these raw bytes (HTTP/1.1 only) and ends the connection. */
  write(raw: string): void;
  /** Refuses the stream as not processed (HTTP/2 only). */
  refuse(): void;
  /** Sends GOAWAY: this request is the last that is processed (HTTP/2 only). */
  goAway(code?: number): void;
}

export interface PushServer {
  readonly port: number;
  /** Handles requests from now on. Default: accepts with 201. */
  handle: (request: Served) => void;
  /** Every request, in order of arrival. */
  readonly seen: readonly Served[];
  /** TCP connections that were ever made, with or without a request. */
  readonly connections: number;
  /** Waits until `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Waits until no connection is open. */
  emptied(): Promise<void>;
  close(): Promise<void>;
}

export interface PushServerOptions {
  readonly protocol: Protocol;
  readonly settings?: { readonly maxConcurrentStreams: number };
  readonly cert?: string;
  readonly key?: string;
  /** The only TLS version that the server accepts, as its maximum. */
  readonly maxVersion?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
}

export async function startPushServer(options: PushServerOptions): Promise<PushServer> {
  const seen: Served[] = [];
  const sockets = new Map<number | undefined, Socket>();
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!holds()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  let connections = 0;
  const server = listenFor(options, sockets, (request) => {
    seen.push(request);
    pushServer.handle(request);
    wake();
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.set(socket.remotePort, socket);
    const { remotePort } = socket;
    socket.once('close', () => {
      sockets.delete(remotePort);
      wake();
    });
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const pushServer: PushServer = {
    port: (server.address() as AddressInfo).port,
    handle: (request) => request.answer(201),
    seen,
    get connections() {
      return connections;
    },
    received: (count) => until(() => seen.length >= count),
    emptied: () => until(() => sockets.size === 0),
    async close() {
      if (!server.listening) return;
      for (const socket of sockets.values()) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return pushServer;
}

type Sockets = ReadonlyMap<number | undefined, Socket>;
type OnRequest = (request: Served) => void;

function listenFor(options: PushServerOptions, sockets: Sockets, onRequest: OnRequest): Server {
  const { protocol, settings, cert = certificate, key = certificateKey, maxVersion } = options;
  const numbers = new Map<object, number>();
  const numberOf = (connection: object) => {
    const number = numbers.get(connection) ?? numbers.size;
    numbers.set(connection, number);
    return number;
  };
  const tls = { cert, key, ...(maxVersion && { minVersion: maxVersion, maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }) };
  if (protocol === 'http/1.1') {
    const serve = (request: IncomingMessage, response: ServerResponse) =>
      serveHttp1(request, response, numberOf, onRequest);
    return createTlsServer(tls, serve);
  }
  const server = createSecureServer({ ...tls, ...(settings && { settings }) });
  server.on('session', (session) => {
    numberOf(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream, headers) => serveHttp2(stream, headers, { numberOf, sockets, onRequest }));
  return server;
}

function collect(stream: NodeJS.ReadableStream, onBody: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => onBody(Buffer.concat(chunks)));
  stream.on('error', () => {});
}

function textHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name === ':authority' ? 'host' : name,
    String(value),
  ]);
  return Object.fromEntries(entries);
}

const notSpoken = () => {
  throw new Error('not in this protocol');
};

function serveHttp1(
  request: IncomingMessage,
  response: ServerResponse,
  numberOf: (connection: object) => number,
  onRequest: OnRequest,
): void {
  const { method = '', url: path = '', socket } = request;
  collect(request, (body) => {
    onRequest({
      method,
      path,
      headers: textHeaders(request.headers),
      body,
      connection: numberOf(socket),
      answer: (status, headers = {}, content = '') => response.writeHead(status, headers).end(content),
      cut: () => socket.destroy(),
      write: (raw) => socket.end(raw),
      refuse: notSpoken,
      goAway: notSpoken,
    });
  });
}

const refusedStream = 7;

function serveHttp2(
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, unknown>>,
  {
    numberOf,
    sockets,
    onRequest,
  }: { numberOf: (connection: object) => number; sockets: Sockets; onRequest: OnRequest },
): void {
  const session = stream.session as ServerHttp2Session;
  collect(stream, (body) => {
    onRequest({
      method: String(headers[':method']),
      path: String(headers[':path']),
      headers: textHeaders(headers),
      body,
      connection: numberOf(session),
      answer(status, answered = {}, content = '') {
        if (stream.closed) return;
        stream.respond({ ':status': status, ...answered }, { endStream: content.length === 0 });
        if (content.length > 0) stream.end(content);
      },
      // The session's own `destroy` would send GOAWAY first.
      cut: () => sockets.get(session.socket.remotePort)?.destroy(),
      write: notSpoken,
      refuse: () => stream.close(refusedStream),
      goAway: (code = 0) => session.goaway(code, stream.id),
    });
  });
}
