// A customer's endpoint for proofs: real TLS, in the proof's process, so that it sees every request
// of a node. It answers each request as the proof orders, and remembers all.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { certificateFile, keyFile } from './certificate.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import type { Workbench } from './workbench.ts';

export interface EndpointRequest {
  /** The URL's path, by which webhooks that share the endpoint are told apart. */
  readonly path: string;
  readonly eventId: string;
  readonly attempt: number;
  readonly body: string;
  /** The header `service-signature`. */
  readonly signature: string;
  /** `performance.now()` when the body was complete. */
  readonly at: number;
}

export interface WebhookEndpoint {
  readonly port: number;
  readonly received: readonly EndpointRequest[];
  /** Requests that were received and not yet answered. */
  readonly inFlight: number;
  /** Answers requests from now on. Default: 200. */
  answer: (request: EndpointRequest, response: ServerResponse) => void;
  urlOf(path: string): string;
  countOf(path: string): number;
}

export async function startWebhookEndpoint(workbench: Workbench): Promise<WebhookEndpoint> {
  const received: EndpointRequest[] = [];
  const counts = new Map<string, number>();
  let inFlight = 0;
  const server = createServer(
    { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
    (request, response) => {
      inFlight++;
      response.once('close', () => inFlight--);
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('error', () => undefined);
      request.on('end', () => {
        const { 'service-id': eventId, 'service-attempt': attempt, 'service-signature': signature } = request.headers;
        const path = request.url ?? '';
        const one = {
          path,
          eventId: String(eventId),
          attempt: Number(attempt),
          body,
          signature: String(signature),
          at: performance.now(),
        };
        received.push(one);
        counts.set(path, (counts.get(path) ?? 0) + 1);
        endpoint.answer(one, response);
      });
    },
  );
  server.keepAliveTimeout = 60_000;
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  workbench.onClose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const endpoint: WebhookEndpoint = {
    port,
    received,
    get inFlight() {
      return inFlight;
    },
    answer: (_request, response) => response.writeHead(200).end(),
    urlOf: (path) => `https://localhost:${port}${path}`,
    countOf: (path) => counts.get(path) ?? 0,
  };
  return endpoint;
}

/** The settings by which a service reaches the sandbox and the endpoint. */
export async function allowEndpoint(
  directory: string,
  { environment }: Pick<SandboxProcess, 'environment'>,
  endpoint: Pick<WebhookEndpoint, 'port'>,
): Promise<Readonly<Record<string, string>>> {
  // The sandbox's authority and the endpoint's certificate in one file.
  const authorities = join(directory, 'authorities.pem');
  const known = [environment['OUTBOUND_CA_FILE'] ?? '', certificateFile];
  await writeFile(authorities, (await Promise.all(known.map((file) => readFile(file, 'utf8')))).join('\n'));
  return {
    OUTBOUND_CA_FILE: authorities,
    OUTBOUND_ALLOW_PORTS: [environment['OUTBOUND_ALLOW_PORTS'], endpoint.port].filter(Boolean).join(','),
  };
}
