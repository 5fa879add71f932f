// A sender that shares no code with Carillon: the `web-push` library. It proves a stand-in before
// the stand-in judges Carillon. A test's routes redirect its connections.

import { Agent, type RequestOptions as ConnectionOptions, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import webPush, { type PushSubscription, type RequestOptions, type VapidKeys } from 'web-push';

export interface SenderAnswer {
  status: number;
  body: string;
  headers: Record<string, unknown>;
}

export interface SendOptions extends Pick<RequestOptions, 'TTL' | 'topic' | 'urgency'> {
  /** Damages the ciphertext after it was made; the headers stay valid. */
  corrupt?: boolean;
  /** Changes the headers just before they are sent; undefined removes one. */
  headers?: Record<string, string | undefined>;
}

export class IndependentSender {
  readonly #agent: Agent;

  /**
   * `routes` maps `host:port` of a URL to a loopback port. Host name, SNI and URL stay unchanged.
   */
  constructor(certificate: Buffer, routes: ReadonlyMap<string, number>) {
    this.#agent = new RoutedAgent(certificate, routes);
  }

  static newKeys(): VapidKeys {
    return webPush.generateVAPIDKeys();
  }

  async send(
    subscription: PushSubscription,
    keys: VapidKeys,
    payload: string | Buffer | null,
    { corrupt = false, headers = {}, ...more }: SendOptions = {},
  ): Promise<SenderAnswer> {
    const vapidDetails = { subject: 'mailto:ops@carillon.test', ...keys };
    const details = webPush.generateRequestDetails(subscription, payload ?? undefined, { vapidDetails, ...more });
    const body = Buffer.from(details.body ?? '');
    if (corrupt) body.writeUInt8(body.readUInt8(body.length - 1) ^ 1, body.length - 1);
    const merged = Object.entries({ ...details.headers, ...headers }).filter(([, value]) => value !== undefined);
    return await this.#post(details.endpoint, Object.fromEntries(merged) as Record<string, string>, body);
  }

  async #post(url: string, headers: Record<string, string>, body: Buffer): Promise<SenderAnswer> {
    return await new Promise((resolve, reject) => {
      const post = request(url, { method: 'POST', headers, agent: this.#agent, timeout: 10_000 }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: String(Buffer.concat(chunks)), headers: response.headers });
        });
      });
      post.on('timeout', () => post.destroy(new Error('The push service did not answer within 10 s.')));
      post.on('error', reject);
      post.end(body);
    });
  }
}

class RoutedAgent extends Agent {
  readonly #certificate: Buffer;
  readonly #routes: ReadonlyMap<string, number>;

  constructor(certificate: Buffer, routes: ReadonlyMap<string, number>) {
    super({ keepAlive: false });
    this.#certificate = certificate;
    this.#routes = routes;
  }

  override createConnection({ host, port }: ConnectionOptions): TLSSocket {
    const servername = String(host);
    const routed = this.#routes.get(`${servername}:${port}`) ?? Number(port);
    return connect({ host: '127.0.0.1', port: routed, servername, ca: this.#certificate });
  }
}
