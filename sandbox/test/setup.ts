// Shared by the tests of the sandbox: a running sandbox, an application server with a key, and a
// client for either protocol that can make any one thing wrong.
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as http2Connect, type IncomingHttpHeaders } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { onTestFinished } from 'vitest';
import webpush from 'web-push';
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox.ts';
import type { PushSubscriptionJson } from '../src/subscriptions.ts';

export type Protocol = 'h2' | 'http/1.1';
export const bothProtocols: readonly Protocol[] = ['h2', 'http/1.1'];

export interface Sent {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Overrides {
  readonly method?: string;
  readonly path?: string;
  /** Header to value; undefined leaves the header out. */
  readonly headers?: Record<string, string | undefined>;
  readonly body?: Buffer;
  /** Claims of the VAPID token; undefined leaves the claim out. */
  readonly claims?: Record<string, unknown>;
  readonly payload?: string | null;
}

/** A sandbox that ends with its test. */
export async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** One simulated browser of a sandbox. */
export function browser(sandbox: Sandbox, request: object = {}): PushSubscriptionJson {
  const [subscription] = sandbox.subscribe(request);
  if (subscription === undefined) throw new Error('the sandbox made no subscription');
  return subscription;
}

/** The token of an endpoint of any vendor. */
export function tokenOf(subscription: PushSubscriptionJson): string {
  return subscription.endpoint.split(/[/=]/).at(-1) ?? '';
}

export class ApplicationServer {
  readonly publicKey: string;
  readonly privateKey: string;
  readonly #signer: KeyObject;

  constructor() {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' });
    const point = [Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')];
    this.publicKey = Buffer.concat(point).toString('base64url');
    this.privateKey = d;
    this.#signer = createPrivateKey({ key: privateKey.export({ format: 'jwk' }), format: 'jwk' });
  }

  /** `vapid t=…, k=…` with these claims, valid or not. */
  authorization(claims: Record<string, unknown>, key = this.publicKey): string {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${part({ typ: 'JWT', alg: 'ES256' })}.${part(claims)}`;
    const signature = sign('sha256', Buffer.from(input), { key: this.#signer, dsaEncoding: 'ieee-p1363' });
    return `vapid t=${input}.${signature.toString('base64url')}, k=${key}`;
  }

  /**
   * A request that every vendor accepts, encrypted by the web-push library, with the given
   * overrides.
   */
  request(subscription: PushSubscriptionJson, overrides: Overrides = {}) {
    const payload = overrides.payload === undefined ? JSON.stringify({ title: 'Hello' }) : overrides.payload;
    const encrypted =
      payload === null
        ? Buffer.alloc(0)
        : webpush.generateRequestDetails({ ...subscription }, payload, { TTL: 60 }).body;
    const url = new URL(subscription.endpoint);
    const claims = {
      aud: url.origin,
      exp: Math.floor(Date.now() / 1000) + 3600,
      sub: 'mailto:push@example.com',
      ...overrides.claims,
    };
    const body = overrides.body ?? encrypted;
    const headers: Record<string, string | undefined> = {
      ttl: '60',
      urgency: 'normal',
      authorization: this.authorization(claims),
      'content-length': String(body.length),
      ...(body.length > 0 ? { 'content-encoding': 'aes128gcm', 'content-type': 'application/octet-stream' } : {}),
      ...overrides.headers,
    };
    const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return {
      method: overrides.method ?? 'POST',
      url,
      path: overrides.path ?? `${url.pathname}${url.search}`,
      headers: Object.fromEntries(given),
      body,
    };
  }
}

/** A client of one sandbox over one protocol. It keeps its connection between requests. */
export class Client {
  readonly protocol: Protocol;
  readonly #sandbox: Sandbox;
  readonly #agent: Agent;
  #session: ClientHttp2Session | undefined;

  constructor(sandbox: Sandbox, protocol: Protocol) {
    this.protocol = protocol;
    this.#sandbox = sandbox;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: sandbox.certificate });
    onTestFinished(() => {
      this.#agent.destroy();
      this.#session?.destroy();
    });
  }

  send(server: ApplicationServer, subscription: PushSubscriptionJson, overrides: Overrides = {}): Promise<Sent> {
    const request = server.request(subscription, overrides);
    return this.protocol === 'h2' ? this.#overHttp2(request) : this.#overHttp1(request);
  }

  /** The HTTP/2 session. A new one is opened when the last has ended. */
  session(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = http2Connect(this.#sandbox.pushOrigin, { ca: this.#sandbox.certificate });
      this.#session.on('error', () => {});
    }
    return this.#session;
  }

  async #overHttp2(request: ReturnType<ApplicationServer['request']>): Promise<Sent> {
    const stream = this.session().request({
      ':method': request.method,
      ':path': request.path,
      ':authority': request.url.host,
      ...request.headers,
    });
    stream.end(request.body);
    // A closed connection ends its streams silently. Without this the test would wait for ever.
    const closed = once(stream, 'close').then(() => {
      throw new Error(`the stream ended without an answer, code ${stream.rstCode}`);
    });
    closed.catch(() => {});
    const [headers] = (await Promise.race([once(stream, 'response'), closed])) as [
      IncomingHttpHeaders & { ':status'?: number },
    ];
    let body = '';
    stream.setEncoding('utf8');
    for await (const chunk of stream) body += chunk;
    return { status: headers[':status'] ?? 0, headers, body };
  }

  async #overHttp1(request: ReturnType<ApplicationServer['request']>): Promise<Sent> {
    const outgoing = httpsRequest({
      agent: this.#agent,
      host: 'localhost',
      port: this.#sandbox.pushPort,
      method: request.method,
      path: request.path,
      headers: { host: request.url.host, ...request.headers },
    });
    outgoing.end(request.body);
    const [response] = await once(outgoing, 'response');
    let body = '';
    response.setEncoding('utf8');
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode, headers: response.headers, body };
  }
}

/** A request to the control port. */
export async function control(sandbox: Sandbox, method: string, path: string, body?: unknown) {
  const response = await fetch(sandbox.controlUrl + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}
