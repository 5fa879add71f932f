// Mozilla's push service on loopback: Firefox's WebSocket, and the https endpoint for senders. It
// keeps an accepted push until the browser acknowledges it, and must never accept what Mozilla
// would refuse. Protocol: https://mozilla-services.github.io/autopush-rs/ and
// PushServiceWebSocket.sys.mjs.

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { TestCertificate } from './certificate.ts';
import { EventLog } from './event-log.ts';
import { corruptBody, PushQueue, type StoredPush, storePush } from './push-queue.ts';
import {
  type AcceptedPush,
  checkPush,
  listenForPushes,
  type PushEndpointAnswer,
  type PushEndpointRequest,
  type RefusedPush,
  refusePush,
} from './push-request.ts';

export type AutopushEvent =
  | { type: 'hello'; uaid: string; offered: string | null }
  | { type: 'register'; uaid: string; channelId: string; endpoint: string }
  | { type: 'unregister'; uaid: string; channelId: string; code: number | null }
  | {
      type: 'accepted';
      endpoint: string;
      messageId: string;
      topic: string | null;
      ttlSeconds: number;
      httpVersion: string;
    }
  | { type: 'refused'; endpoint: string; status: number; errno: number; reason: string }
  | { type: 'replaced'; messageId: string; by: string }
  | { type: 'dropped'; messageId: string; why: 'expired' | 'not connected' }
  | { type: 'delivered'; messageId: string; uaid: string }
  | { type: 'ack'; messageId: string; code: number }
  | { type: 'nack'; messageId: string; code: number }
  | { type: 'closed'; uaid: string | null };

interface Subscription {
  uaid: string;
  channelId: string;
  applicationServerKey: string | null;
  isGone: boolean;
}

interface UserAgent {
  socket: WebSocket | null;
  readonly queue: PushQueue;
}

const endpointPath = '/wpush/v2/';
const errorNames = new Map([
  [401, 'Unauthorized'],
  [404, 'Not Found'],
  [410, 'Gone'],
  [413, 'Payload Too Large'],
]);

export class Autopush {
  readonly log = new EventLog<AutopushEvent>('push service for Firefox');
  readonly #agents = new Map<string, UserAgent>();
  /** Subscriptions by endpoint token. An ended one stays, so that it answers 410 and not 404. */
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  #endpoint: { port: number; close: () => Promise<void> } | undefined;
  #isHolding = false;
  #corruptions = 0;
  #clockOffsetMs = 0;

  private constructor() {
    this.#server = createServer();
    this.#sockets = new WebSocketServer({
      server: this.#server,
      handleProtocols: (protocols) => (protocols.has('push-notification') ? 'push-notification' : false),
      // While held, the service refuses the handshake; Firefox backs off and tries again.
      verifyClient: () => !this.#isHolding,
    });
    this.#sockets.on('connection', (socket) => this.#serve(socket));
  }

  static async start(certificate: TestCertificate): Promise<Autopush> {
    const autopush = new Autopush();
    await new Promise<void>((resolve) => autopush.#server.listen(0, '127.0.0.1', resolve));
    autopush.#endpoint = await listenForPushes(certificate, (request) => autopush.#answer(request));
    return autopush;
  }

  /** The value for Firefox's `dom.push.serverURL`. */
  get socketUrl(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  get endpointPort(): number {
    return this.#endpoint?.port ?? 0;
  }

  get origin(): string {
    return `https://localhost:${this.endpointPort}`;
  }

  /** Cuts every connection, as a network does. Firefox reconnects by itself. */
  dropConnections(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  /** Cuts every connection and refuses new ones until `release`. */
  hold(): void {
    this.#isHolding = true;
    this.dropConnections();
  }

  release(): void {
    this.#isHolding = false;
  }

  /**
   * Deletes all browsers: their endpoints answer 410, and each gets a new uaid at its next hello.
   */
  forgetBrowsers(): void {
    for (const subscription of this.#subscriptions.values()) subscription.isGone = true;
    this.#agents.clear();
    this.dropConnections();
  }

  /** Damages the ciphertext of the next push after it was checked and accepted. */
  corruptNext(): void {
    this.#corruptions += 1;
  }

  /** Moves the service's clock forward, so that stored pushes expire. */
  passTime(ms: number): void {
    this.#clockOffsetMs += ms;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await this.#endpoint?.close();
    await new Promise<void>((resolve) => this.#sockets.close(() => resolve()));
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #now(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  #serve(socket: WebSocket): void {
    let uaid: string | null = null;
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      const agent = uaid === null ? undefined : this.#agents.get(uaid);
      if (agent?.socket === socket) agent.socket = null;
      this.log.add({ type: 'closed', uaid });
    });
    socket.on('message', (data) => {
      const text = String(data);
      if (text === '{}') {
        socket.send('{}');
        return;
      }
      const message = JSON.parse(text) as Record<string, unknown>;
      if (message['messageType'] === 'hello') uaid = this.#greet(socket, message);
      else if (uaid === null) socket.close(1002, 'hello comes first');
      else this.#obey(uaid, socket, message);
    });
  }

  #greet(socket: WebSocket, message: Record<string, unknown>): string {
    const offered = typeof message['uaid'] === 'string' ? message['uaid'] : null;
    const uaid = offered !== null && this.#agents.has(offered) ? offered : randomUUID().replaceAll('-', '');
    const agent = this.#agents.get(uaid) ?? { socket: null, queue: new PushQueue() };
    agent.socket = socket;
    this.#agents.set(uaid, agent);
    // Without use_webpush Firefox makes no keys and accepts no data.
    socket.send(JSON.stringify({ messageType: 'hello', status: 200, uaid, use_webpush: true, broadcasts: {} }));
    this.log.add({ type: 'hello', uaid, offered });
    for (const expired of agent.queue.takeExpired(this.#now())) this.#drop(expired);
    for (const push of agent.queue.list()) this.#deliver(uaid, socket, push);
    return uaid;
  }

  #obey(uaid: string, socket: WebSocket, message: Record<string, unknown>): void {
    switch (message['messageType']) {
      case 'register':
        this.#register(uaid, socket, message);
        return;
      case 'unregister':
        this.#unregister(uaid, socket, message);
        return;
      case 'ack':
        for (const { version, code } of message['updates'] as { version: string; code: number }[]) {
          this.#agents.get(uaid)?.queue.remove(version);
          this.log.add({ type: 'ack', messageId: version, code });
        }
        return;
      case 'nack':
        this.log.add({ type: 'nack', messageId: String(message['version']), code: Number(message['code']) });
        return;
      default:
      // broadcast_subscribe and later message types need no answer.
    }
  }

  #register(uaid: string, socket: WebSocket, message: Record<string, unknown>): void {
    const channelId = String(message['channelID']);
    const key = message['key'];
    const token = randomBytes(32).toString('base64url');
    this.#subscriptions.set(token, {
      uaid,
      channelId,
      applicationServerKey: typeof key === 'string' ? key.replace(/(?<!=)=+$/, '') : null,
      isGone: false,
    });
    const endpoint = `${this.origin}${endpointPath}${token}`;
    socket.send(JSON.stringify({ messageType: 'register', status: 200, channelID: channelId, pushEndpoint: endpoint }));
    this.log.add({ type: 'register', uaid, channelId, endpoint });
  }

  #unregister(uaid: string, socket: WebSocket, message: Record<string, unknown>): void {
    const channelId = String(message['channelID']);
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.uaid === uaid && subscription.channelId === channelId) subscription.isGone = true;
    }
    this.#agents.get(uaid)?.queue.removeSubscription(channelId);
    socket.send(JSON.stringify({ messageType: 'unregister', status: 200, channelID: channelId }));
    const code = typeof message['code'] === 'number' ? message['code'] : null;
    this.log.add({ type: 'unregister', uaid, channelId, code });
  }

  #answer(request: PushEndpointRequest): PushEndpointAnswer {
    const endpoint = this.origin + request.path;
    const verdict = this.#judge(request);
    if (verdict.accepted) return this.#accept(endpoint, verdict.to, verdict, request.httpVersion);
    const { status, errno, reason, vapidProblem } = verdict;
    this.log.add({ type: 'refused', endpoint, status, errno, reason });
    const message = vapidProblem === 'key mismatch' ? 'VAPID public key mismatch' : reason;
    return {
      status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: status, errno, error: errorNames.get(status) ?? 'Bad Request', message }),
    };
  }

  #judge(request: PushEndpointRequest): (AcceptedPush & { to: Subscription }) | RefusedPush {
    const to = this.#subscriptions.get(request.path.slice(endpointPath.length));
    if (request.method !== 'POST' || !request.path.startsWith(endpointPath) || to === undefined) {
      return refusePush(404, 102, 'there is no such endpoint');
    }
    if (to.isGone) return refusePush(410, 106, 'the subscription has ended');
    const { applicationServerKey } = to;
    const expected = { audience: this.origin, applicationServerKey, now: this.#now() };
    const verdict = checkPush(request.headers, request.body, expected);
    return verdict.accepted ? { ...verdict, to } : verdict;
  }

  #accept(endpoint: string, to: Subscription, push: AcceptedPush, httpVersion: string): PushEndpointAnswer {
    const stored = storePush(randomUUID(), to.channelId, push, this.#now());
    if (this.#corruptions > 0) {
      this.#corruptions -= 1;
      stored.body = corruptBody(stored.body);
    }
    const { id: messageId, topic, ttlSeconds } = stored;
    this.log.add({ type: 'accepted', endpoint, messageId, topic, ttlSeconds, httpVersion });
    const agent = this.#agents.get(to.uaid);
    const replaced = agent?.queue.add(stored);
    if (replaced !== undefined) this.log.add({ type: 'replaced', messageId: replaced.id, by: messageId });
    if (agent?.socket) this.#deliver(to.uaid, agent.socket, stored);
    else for (const gone of agent?.queue.takeExpired(this.#now()) ?? []) this.#drop(gone);
    return { status: 201, headers: { location: `${this.origin}/m/${messageId}`, ttl: String(ttlSeconds) } };
  }

  #drop(push: StoredPush): void {
    const why = push.ttlSeconds === 0 ? 'not connected' : 'expired';
    this.log.add({ type: 'dropped', messageId: push.id, why });
  }

  #deliver(uaid: string, socket: WebSocket, push: StoredPush): void {
    const data = push.body.length > 0 && {
      data: push.body.toString('base64url'),
      headers: { encoding: 'aes128gcm' },
    };
    const { id: version, subscription: channelID, ttlSeconds: ttl } = push;
    socket.send(JSON.stringify({ messageType: 'notification', channelID, version, ttl, ...data }));
    this.log.add({ type: 'delivered', messageId: version, uaid });
  }
}
