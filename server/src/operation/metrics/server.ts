// Serves `/metrics` on a port of its own, and nothing else. No key is needed unless one is
// configured, because the operator restricts access to the port.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hasBearer } from '../../ground/http/bearer.ts';
import { metricsContentType } from './registry.ts';

export interface MetricsServer {
  readonly port: number;
  close(): void;
}

export interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: everybody who reaches the port may read. */
  readonly token: string | null;
  /** Returns the present text. */
  read(): Promise<string>;
}

/** Rejects when it cannot listen on the port. */
export async function startMetricsServer({ host, port, token, read }: MetricsServerOptions): Promise<MetricsServer> {
  const server: Server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const answer = (status: number, body: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(body);
    request.resume();
    if ((request.url ?? '').split('?', 1)[0] !== '/metrics') return void answer(404, 'Not found\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return void answer(405, 'GET only\n', { allow: 'GET, HEAD' });
    }
    if (token !== null && !hasBearer(request.headers.authorization, token)) {
      return void answer(401, 'A token is needed\n', { 'www-authenticate': 'Bearer' });
    }
    read().then(
      (text) => answer(200, text, { 'content-type': metricsContentType }),
      () => answer(503, 'Not available\n'),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
