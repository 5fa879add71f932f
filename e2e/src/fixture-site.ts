// A site of our own that knows nothing of Carillon: a page and a service worker that report
// everything. Each instance is an origin of its own, so it begins without permission, worker or
// subscription.

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PushSubscription } from 'web-push';
import { EventLog } from './event-log.ts';

export type SiteEvent =
  | { type: 'ready'; path: string }
  | { type: 'subscribed'; subscription: PushSubscription }
  | { type: 'unsubscribed'; done: boolean }
  | { type: 'looked'; endpoint: string | null; notifications: { title: string; body: string; tag: string }[] }
  | { type: 'failed'; error: string }
  | { type: 'push'; text: string | null; bytes: number }
  | { type: 'shown'; title: string }
  | { type: 'clicked'; title: string; action: string; went: string }
  | { type: 'closed'; title: string }
  | { type: 'changed'; oldEndpoint: string | null; newEndpoint: string | null };

const scripts = new Map(['/page.js', '/worker.js'].map((path) => [path, readFixture(path)]));
const page = readFixture('/index.html');

export class FixtureSite {
  readonly log = new EventLog<SiteEvent>('fixture site');
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', this.origin);
      const script = scripts.get(pathname);
      if (request.method === 'POST' && pathname === '/report') {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          this.log.add(JSON.parse(String(Buffer.concat(chunks))) as SiteEvent);
          response.end();
        });
      } else if (script !== undefined) {
        response.setHeader('content-type', 'text/javascript');
        response.end(script);
      } else {
        // Every other path returns the page, so that a click can open a path that is not open yet.
        response.setHeader('content-type', 'text/html');
        response.end(page);
      }
    });
  }

  static async start(): Promise<FixtureSite> {
    const site = new FixtureSite();
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  /** localhost is a secure context, so service workers and push need no TLS there. */
  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  pageUrl(applicationServerKey: string): string {
    return `${this.origin}/?key=${applicationServerKey}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function readFixture(path: string): Buffer {
  return readFileSync(new URL(`../fixtures/site${path}`, import.meta.url));
}
