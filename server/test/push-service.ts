// A web push service for the server's tests: HTTP/2 over TLS. It records every request and answers
// as the test scripts for the subscription's token. It judges nothing; the sandbox and real
// browsers do.
import { readFileSync } from 'node:fs';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { certificateFile, keyFile } from '../../rig/src/certificate.ts';

export interface PushRequest {
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Script = (request: PushRequest, response: Http2ServerResponse, count: number) => void;

export interface TestPushService {
  readonly port: number;
  readonly requests: readonly PushRequest[];
  requestsOf(token: string): readonly PushRequest[];
  /**
   * Sets the answer for a token. `count` is the number of the token's requests, this one included.
   */
  script(token: string, script: Script): void;
  /** Sets the answer for tokens without a script. The default accepts with 201 and a Location. */
  scriptAll(script: Script | undefined): void;
  /** Resolves with the first matching request, past or future. */
  waitFor(fits: (request: PushRequest) => boolean): Promise<PushRequest>;
  /** Resolves when `count` requests have come in total. */
  waitForCount(count: number): Promise<void>;
  close(): Promise<void>;
}

/** The answer of push services to an accepted push. */
export const accept: Script = ({ token }, response, count) => {
  response.writeHead(201, { location: `https://push.test.example/m/${token}-${count}`, ttl: '60' });
  response.end();
};

export async function startPushService(): Promise<TestPushService> {
  const requests: PushRequest[] = [];
  const counts = new Map<string, number>();
  const scripts = new Map<string, Script>();
  let forAll: Script = accept;
  const waiting = new Set<(request: PushRequest) => void>();
  const sockets = new Set<Socket>();

  const server: Http2SecureServer = createSecureServer({
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('sessionError', () => undefined);
  server.on('request', (incoming: Http2ServerRequest, response: Http2ServerResponse) => {
    const chunks: Buffer[] = [];
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const token = incoming.url.split('/').at(-1) ?? '';
      const headers = Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      );
      const request = { token, headers, body: Buffer.concat(chunks) };
      requests.push(request);
      const count = (counts.get(token) ?? 0) + 1;
      counts.set(token, count);
      for (const wake of waiting) wake(request);
      (scripts.get(token) ?? forAll)(request, response, count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    port: (server.address() as AddressInfo).port,
    requests,
    requestsOf: (token) => requests.filter((request) => request.token === token),
    script: (token, script) => void scripts.set(token, script),
    scriptAll: (script) => {
      forAll = script ?? accept;
    },
    waitFor: (fits) =>
      new Promise((resolve) => {
        const past = requests.find(fits);
        if (past) return resolve(past);
        const wake = (request: PushRequest): void => {
          if (!fits(request)) return;
          waiting.delete(wake);
          resolve(request);
        };
        waiting.add(wake);
      }),
    waitForCount: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) return resolve();
        const wake = (): void => {
          if (requests.length < count) return;
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
