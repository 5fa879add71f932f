// Starts the sandbox and the service as processes on ports, with a data directory that ends with
// the demo. It talks to them over HTTP and by the command line, and reaches nothing but this
// machine.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../rig/src/ports.ts';

const serviceProgram = fileURLToPath(new URL('../server/bin/carillon.mjs', import.meta.url));
const sandboxProgram = fileURLToPath(new URL('../sandbox/bin/sandbox.mjs', import.meta.url));

const readyWithinMs = 60_000;
const answerWithinMs = 30_000;
const stopWithinMs = 30_000;
const logLinesShown = 20;

interface Addresses {
  readonly inbox: string;
  readonly push_port: number;
  readonly certificate_file: string;
  /** The variables by which Carillon reaches the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The hosts of the vendors' real push services. */
const vendorHosts = ['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com'];

export type Json = Record<string, unknown>;

export class Stage {
  readonly directory: string;
  serviceUrl = '';
  inboxUrl = '';
  readonly #children: ChildProcess[] = [];
  #environment: NodeJS.ProcessEnv = {};
  /**
   * Work that must not be interrupted: a start, and commands, which may start a database of their
   * own.
   */
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosing = false;

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'carillon-demo-'));
    // When run as root, the database uses another user, who must be able to reach its files.
    chmodSync(this.directory, 0o755);
    mkdirSync(this.dataDir);
  }

  get dataDir(): string {
    return join(this.directory, 'data');
  }

  /** The last lines of the service's log, for the person who looks into a failure. */
  tailOfLog(): string {
    const lines = (readIfThere(join(this.directory, 'service.log')) ?? '').trimEnd().split('\n');
    return `${lines.slice(-logLinesShown).join('\n')}\n`;
  }

  async startSandbox(): Promise<void> {
    this.serviceUrl = `http://127.0.0.1:${await findFreePort()}`;
    const parameters = ['--port', '0', '--push-port', '0', '--receipts', this.serviceUrl, '--json'];
    const child = this.#launch('sandbox', [
      sandboxProgram,
      ...parameters,
      '--data-dir',
      join(this.directory, 'sandbox'),
    ]);
    const addresses = JSON.parse(await firstLine(child)) as Addresses;
    this.inboxUrl = addresses.inbox;
    // Endpoints have the vendors' real hosts, because Carillon treats each vendor differently.
    // Their connections end here.
    const resolve = vendorHosts.map((host) => `${host}:443=127.0.0.1:${addresses.push_port}`);
    const phoneVariables = ['APNS_URL', 'APNS_SANDBOX_URL', 'FCM_URL', 'FCM_TOKEN_URL'];
    const phones = Object.fromEntries(
      Object.entries(addresses.environment).filter(([name]) => phoneVariables.includes(name)),
    );
    const { PATH, HOME, TMPDIR } = process.env;
    // None of an operator's own settings is inherited: no DATABASE_URL, no keys, no proxies.
    this.#environment = {
      PATH,
      ...(HOME && { HOME }),
      ...(TMPDIR && { TMPDIR }),
      ...phones,
      OUTBOUND_RESOLVE: resolve.join(','),
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_CA_FILE: addresses.certificate_file,
      DATA_DIR: this.dataDir,
      HOST: '127.0.0.1',
      PORT: new URL(this.serviceUrl).port,
      PUBLIC_URL: this.serviceUrl,
      WORKERS: '1',
      LOG_LEVEL: 'warn',
    };
  }

  startService(): Promise<void> {
    return this.#finish(this.#startService());
  }

  async #startService(): Promise<void> {
    const child = this.#launch('service', [serviceProgram, 'start']);
    const deadline = performance.now() + readyWithinMs;
    for (;;) {
      if (child.exitCode !== null) throw new Error(`Carillon ended while it started:\n${this.tailOfLog()}`);
      const response = await fetch(`${this.serviceUrl}/readyz`).catch(() => undefined);
      if (response?.status === 200) return;
      if (performance.now() > deadline) throw new Error(`Carillon was not ready in time:\n${this.tailOfLog()}`);
      await sleep(50);
    }
  }

  /** Runs `carillon …` beside the service and returns the document that it prints. */
  command(...parameters: string[]): Promise<Json> {
    if (this.#isClosing) return Promise.reject(new Error('the demo ends'));
    return this.#finish(this.#command(parameters));
  }

  async #command(parameters: readonly string[]): Promise<Json> {
    const child = spawn(process.execPath, [serviceProgram, ...parameters, '--json'], {
      cwd: this.directory,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk));
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    if (code !== 0) throw new Error(`carillon ${parameters.join(' ')}: ${errors.trim()}`);
    return JSON.parse(output) as Json;
  }

  /** Calls the service's API. Throws on anything but 200. */
  async api(key: string, method: string, path: string, body?: unknown): Promise<Json> {
    return call(this.serviceUrl, method, path, body, { authorization: `Bearer ${key}` });
  }

  /** Calls the sandbox's control port. */
  async sandbox(method: string, path: string, body?: unknown): Promise<Json> {
    return call(this.inboxUrl, method, path, body, {});
  }

  /** Stops both, waits until they are down, and deletes all of their files. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay);
    for (const child of this.#children.toReversed()) await stop(child);
    const cluster = readIfThere(join(this.dataDir, 'database'))?.trim();
    // When the database's user cannot reach the checkout, its cluster lies outside the data
    // directory, which contains its path.
    if (cluster !== undefined && isAbsolute(cluster)) rmSync(cluster, { recursive: true, force: true });
    rmSync(this.directory, { recursive: true, force: true });
  }

  #finish<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work);
    return work.finally(() => this.#underWay.delete(work));
  }

  #launch(name: 'service' | 'sandbox', parameters: string[]): ChildProcess {
    const log = openSync(join(this.directory, `${name}.log`), 'a');
    const child = spawn(process.execPath, parameters, {
      // So that no .env of the working directory is read.
      cwd: this.directory,
      env: name === 'service' ? this.#environment : process.env,
      stdio: ['ignore', name === 'service' ? log : 'pipe', log],
      // Ctrl-C reaches the demo alone, which then stops both in order.
      detached: true,
    });
    closeSync(log);
    this.#children.push(child);
    return child;
  }
}

async function call(base: string, method: string, path: string, body: unknown, headers: Record<string, string>) {
  const response = await fetch(base + path, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(answerWithinMs),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Json;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk;
      if (output.includes('\n')) resolve(output.slice(0, output.indexOf('\n')));
    });
    child.on('exit', () => reject(new Error('The sandbox ended while it started.')));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  // The same as Ctrl-C: the stop does not wait for a load balancer.
  child.kill('SIGINT');
  const late = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await ended;
  clearTimeout(late);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
