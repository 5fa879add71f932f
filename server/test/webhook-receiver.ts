// A customer's endpoint over TLS: accepts requests, checks the signature with an independent
// verifier, and answers as its script says.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { certificateFile, keyFile } from '../../rig/src/certificate.ts';
import { whenDone } from '../../rig/src/when-done.ts';

export interface Received {
  readonly event: string;
  readonly headers: IncomingMessage['headers'];
  readonly raw: Buffer;
  /** Any JSON. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface WebhookReceiver {
  readonly endpoint: string;
  readonly port: number;
  readonly received: Received[];
  /** The most requests that were in flight at once. */
  readonly inFlightMost: number;
  /** Answers all further requests. Default: 200. */
  answer: (request: Received, response: ServerResponse) => void;
  /** Resolves when `many` requests have come in total. */
  count(many: number): Promise<void>;
  /** Whether a request verifies under one of these secrets, at about this time. */
  verifies(request: Received, secrets: readonly string[], nowMs: number): boolean;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const waiting: { many: number; resolve: () => void }[] = [];
  let inFlight = 0;
  let inFlightMost = 0;
  const server = createServer(
    { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
    (request, response) => {
      const chunks: Buffer[] = [];
      inFlight++;
      inFlightMost = Math.max(inFlightMost, inFlight);
      response.once('close', () => inFlight--);
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const raw = Buffer.concat(chunks);
        const one = {
          event: String(request.headers['service-event']),
          headers: request.headers,
          raw,
          body: JSON.parse(raw.toString('utf8')),
        };
        received.push(one);
        receiver.answer(one, response);
        for (const each of waiting.splice(0)) {
          if (received.length >= each.many) each.resolve();
          else waiting.push(each);
        }
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  whenDone(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const receiver: WebhookReceiver = {
    endpoint: `https://localhost:${port}/hooks`,
    port,
    received,
    get inFlightMost() {
      return inFlightMost;
    },
    answer: (_request, response) => response.writeHead(200).end(),
    count: (many) =>
      received.length >= many ? Promise.resolve() : new Promise((resolve) => waiting.push({ many, resolve })),
    verifies(request, secrets, nowMs) {
      const pairs = String(request.headers['service-signature'])
        .split(',')
        .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const);
      const at = Number(pairs.find(([name]) => name === 't')?.[1]);
      if (!Number.isFinite(at) || Math.abs(nowMs / 1000 - at) > 300) return false;
      return pairs.some(
        ([name, mac]) =>
          name === 'v1' &&
          secrets.some((secret) => {
            const wanted = createHmac('sha256', secret).update(`${at}.`).update(request.raw).digest('hex');
            return mac.length === wanted.length && timingSafeEqual(Buffer.from(mac), Buffer.from(wanted));
          }),
      );
    },
  };
  return receiver;
}
