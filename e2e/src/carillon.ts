// The service under test as a process on a port with its own embedded database. It is reached over
// HTTP with the keys that its first start prints, and shares no code with these tests.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../rig/src/ports.ts';
import type { TestCertificate } from './certificate.ts';
import { untilDefined } from './deadline.ts';
import type { Run, StartedProcess } from './run.ts';

export interface CarillonOptions {
  run: Run;
  /** Maps `host:port` of push endpoints to the loopback port for their connections. */
  routes: ReadonlyMap<string, number>;
  certificate: TestCertificate;
}

export interface Content {
  title: string;
  body?: string;
  url?: string;
  collapse_key?: string;
  webpush?: Record<string, unknown>;
}

export interface SendReport {
  accepted: number;
  sent: number;
  failed: number;
  skipped: number;
  pending?: number;
}

export interface TimelineEntry {
  type: string;
  at: string;
  outcome?: string;
  action?: string | null;
  error_code?: string | null;
  provider?: { http_status: number | null; headers: Record<string, string>; body: string | null } | null;
}

export interface Delivery {
  device_id: string;
  channel: string;
  status: string;
  error_code: string | null;
  displayed_at: string | null;
  clicked_at: string | null;
  dismissed_at: string | null;
  action: string | null;
  timeline: TimelineEntry[];
}

export interface Device {
  id: string;
  platform: string;
  status: string;
  status_reason: string | null;
  token_hint: string;
}

const readyTimeoutMs = 120_000;

export class Carillon {
  readonly origin: string;
  readonly #process: StartedProcess;
  readonly #dataDir: string;
  #serverKey = '';
  #clientKey = '';
  #setupLink = '';

  private constructor(origin: string, process: StartedProcess, dataDir: string) {
    this.origin = origin;
    this.#process = process;
    this.#dataDir = dataDir;
  }

  static async start({ run, routes, certificate }: CarillonOptions): Promise<Carillon> {
    const dataDir = run.newPath('data');
    const port = await findFreePort();
    const hosts = [...routes.keys()].map((hostAndPort) => new URL(`https://${hostAndPort}`).hostname);
    const ports = [...routes.keys()].map((hostAndPort) => hostAndPort.slice(hostAndPort.lastIndexOf(':') + 1));
    const resolve = [...routes].map(([hostAndPort, target]) => `${hostAndPort}=127.0.0.1:${target}`);
    const program = fileURLToPath(new URL('../../server/bin/carillon.mjs', import.meta.url));
    const process_ = run.start(process.execPath, [program, 'start'], {
      PORT: String(port),
      PUBLIC_URL: `http://localhost:${port}`,
      DATA_DIR: dataDir,
      DEFAULT_PLAN: 'unlimited',
      WORKERS: '1',
      PUSH_HOSTS: hosts.join(','),
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_ALLOW_PORTS: ports.join(','),
      OUTBOUND_RESOLVE: resolve.join(','),
      OUTBOUND_CA_FILE: certificate.certPath,
    });
    const carillon = new Carillon(`http://localhost:${port}`, process_, dataDir);
    try {
      await untilDefined('Carillon to be ready', async () => await carillon.#isReady(), readyTimeoutMs);
      // The service listens first and writes the file of its keys then.
      await untilDefined('first-run.txt to hold the keys', () => carillon.#readKeys());
      return carillon;
    } catch (error) {
      await carillon.stop();
      throw error;
    }
  }

  /**
   * The link in the start banner. The key is in the fragment, so no request sends it to the server.
   */
  get demoUrl(): string {
    return `${this.origin}/demo#${this.#clientKey}`;
  }

  /** The link by which the first owner of the console comes in. */
  get setupLink(): string {
    return this.#setupLink;
  }

  get clientKey(): string {
    return this.#clientKey;
  }

  /** Sends now to these devices. */
  async send(deviceIds: readonly string[], content: Content): Promise<{ id: string; report: SendReport }> {
    const body = { audience: { device_ids: deviceIds }, content };
    return (await this.#call('POST', '/v1/messages', this.#serverKey, body)) as { id: string; report: SendReport };
  }

  /** The one delivery of a message to one device. */
  async findDelivery(messageId: string): Promise<Delivery | undefined> {
    const page = await this.#call('GET', `/v1/messages/${messageId}/deliveries`, this.#serverKey);
    const [delivery, ...more] = page['data'] as Delivery[];
    if (more.length > 0) throw new Error(`${messageId} has more than one delivery.`);
    return delivery;
  }

  /**
   * Waits until the delivery matches `accepts`, because the browser reports marks in its own time.
   */
  async waitForDelivery(messageId: string, what: string, accepts: (delivery: Delivery) => boolean): Promise<Delivery> {
    let last: Delivery | undefined;
    try {
      return await untilDefined(`the delivery of ${messageId} to be ${what}`, async () => {
        last = await this.findDelivery(messageId);
        return last !== undefined && accepts(last) ? last : undefined;
      });
    } catch (cause) {
      throw new Error(`Last seen: ${JSON.stringify(last)}`, { cause });
    }
  }

  async listDevices(): Promise<Device[]> {
    const page = await this.#call('GET', '/v1/devices?limit=200', this.#serverKey);
    return page['data'] as Device[];
  }

  async findDevice(id: string): Promise<Device | undefined> {
    return (await this.listDevices()).find((device) => device.id === id);
  }

  /** Registers a device as the SDK would, for subscriptions that are made without the SDK. */
  async registerDevice(token: string): Promise<Device> {
    const device = await this.#call('POST', '/v1/devices', this.#clientKey, { platform: 'web', token });
    return device as unknown as Device;
  }

  readLog(): string {
    return readFileSync(this.#process.outputPath, 'utf8');
  }

  async stop(): Promise<void> {
    // After SIGTERM the service drains for up to 25 seconds.
    await this.#process.stop(30_000);
  }

  async #isReady(): Promise<true | undefined> {
    if (this.#process.hasExited) throw new Error(`Carillon ended while it started:\n${this.readLog()}`);
    try {
      const { status } = await fetch(`${this.origin}/readyz`);
      return status === 200 ? true : undefined;
    } catch {
      return undefined;
    }
  }

  #readKeys(): true | undefined {
    const path = join(this.#dataDir, 'first-run.txt');
    const banner = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const serverKey = /sk_live_[0-9A-Za-z]{49}/.exec(banner)?.[0];
    const clientKey = /\/demo#(?<key>ck_live_[0-9A-Za-z]{49})/.exec(banner)?.groups?.['key'];
    if (serverKey === undefined || clientKey === undefined) return undefined;
    this.#serverKey = serverKey;
    this.#setupLink = /http\S+\/console\/setup#\S+/.exec(banner)?.[0] ?? '';
    this.#clientKey = clientKey;
    return true;
  }

  async #call(method: string, path: string, key: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(this.origin + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (response.status !== 200)
      throw new Error(`${method} ${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }
}
