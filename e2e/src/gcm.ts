// Google's push service on loopback: check-in and registration over http, Chromium's message stream
// over TLS, and the https endpoint for senders. It is as strict as the real one and never delivers
// what the real one would not. Protocol:
// https://source.chromium.org/chromium/chromium/src/+/main:google_apis/gcm/

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import type { TestCertificate } from './certificate.ts';
import { EventLog } from './event-log.ts';
import { McsStream } from './gcm-stream.ts';
import { encodeMessage, type Message } from './gcm-wire.ts';
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

export type GcmEvent =
  | { type: 'checkin'; androidId: string }
  | { type: 'register'; androidId: string; app: string; sender: string; endpoint: string }
  | { type: 'unregister'; androidId: string; app: string; endpoints: string[] }
  | { type: 'login'; androidId: string; received: string[] }
  | {
      type: 'accepted';
      endpoint: string;
      messageId: string;
      topic: string | null;
      ttlSeconds: number;
      httpVersion: string;
    }
  | { type: 'refused'; endpoint: string; status: number; reason: string }
  | { type: 'replaced'; messageId: string; by: string }
  | { type: 'dropped'; messageId: string; why: 'expired' | 'not connected' }
  | { type: 'delivered'; messageId: string; androidId: string }
  | { type: 'ack'; messageId: string }
  | { type: 'closed'; androidId: string | null };

/** One Chromium profile, as check-in made it. */
interface Device {
  securityToken: bigint;
  stream: McsStream | null;
  readonly queue: PushQueue;
}

interface Registration {
  androidId: string;
  app: string;
  subtype: string;
  /**
   * The application server's VAPID key in base64url without padding, which Chromium registers as
   * the sender.
   */
  sender: string;
  isGone: boolean;
}

/**
 * The endpoint's host is built into Debian's Chromium. The sender's connection is redirected here
 * without changing the URL.
 */
export const endpointHost = 'jmt17.google.com';
const endpointOrigin = `https://${endpointHost}`;
const endpointPath = '/fcm/send/';
const keyMismatch =
  'the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.';

export class Gcm {
  readonly log = new EventLog<GcmEvent>('push service for Chromium');
  readonly #devices = new Map<string, Device>();
  readonly #registrations = new Map<string, Registration>();
  readonly #server: Server;
  readonly #mcs: TlsServer;
  readonly #streams = new Set<McsStream>();
  #endpoint: { port: number; close: () => Promise<void> } | undefined;
  #corruptions = 0;

  private constructor(certificate: TestCertificate) {
    this.#server = createServer((request, response) => {
      void this.#serveHttp(request, response).catch(() => response.destroy());
    });
    this.#mcs = createTlsServer({ cert: certificate.cert, key: certificate.key }, (socket) => this.#serveMcs(socket));
  }

  static async start(certificate: TestCertificate): Promise<Gcm> {
    const gcm = new Gcm(certificate);
    await new Promise<void>((resolve) => gcm.#server.listen(0, '127.0.0.1', resolve));
    await new Promise<void>((resolve) => gcm.#mcs.listen(0, '127.0.0.1', resolve));
    gcm.#endpoint = await listenForPushes(certificate, (request) => gcm.#answer(request));
    return gcm;
  }

  /**
   * Chromium's switches that direct check-in, registration and the message stream to this stand-in.
   */
  get chromiumSwitches(): string[] {
    const http = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return [
      `--gcm-checkin-url=${http}/checkin`,
      `--gcm-registration-url=${http}/register`,
      `--gcm-mcs-endpoint=https://localhost:${(this.#mcs.address() as AddressInfo).port}`,
    ];
  }

  /** The port for connections to `endpointHost`. */
  get endpointPort(): number {
    return this.#endpoint?.port ?? 0;
  }

  /** Damages the ciphertext of the next push after it was checked and accepted. */
  corruptNext(): void {
    this.#corruptions += 1;
  }

  /** Cuts every message stream, as a network does. Chromium reconnects by itself. */
  dropConnections(): void {
    for (const stream of this.#streams) stream.close();
  }

  async stop(): Promise<void> {
    this.dropConnections();
    await this.#endpoint?.close();
    await new Promise<void>((resolve) => this.#mcs.close(() => resolve()));
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serveHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url === '/checkin') {
      response.setHeader('content-type', 'application/x-protobuf');
      response.end(this.#checkIn());
    } else if (request.url === '/register') {
      const answer = this.#register(request.headers.authorization, new URLSearchParams(String(Buffer.concat(chunks))));
      response.statusCode = answer.startsWith('Error=') ? 400 : 200;
      response.end(answer);
    } else {
      response.statusCode = 404;
      response.end();
    }
  }

  #checkIn(): Buffer {
    // The ids have 63 bits, because the client reads them as signed.
    const androidId = randomBytes(8).readBigUInt64BE() >> 1n;
    const securityToken = randomBytes(8).readBigUInt64BE() >> 1n;
    this.#devices.set(String(androidId), { securityToken, stream: null, queue: new PushQueue() });
    this.log.add({ type: 'checkin', androidId: String(androidId) });
    return encodeMessage([
      [1, 'varint', 1],
      [3, 'varint', Date.now()],
      [4, 'bytes', 'carillon'],
      [7, 'fixed64', androidId],
      [8, 'fixed64', securityToken],
      [9, 'varint', 0],
    ]);
  }

  #register(authorization: string | undefined, form: URLSearchParams): string {
    const androidId = form.get('device') ?? '';
    const device = this.#devices.get(androidId);
    if (device === undefined || authorization !== `AidLogin ${androidId}:${device.securityToken}`) {
      return 'Error=AUTHENTICATION_FAILED';
    }
    const app = form.get('app') ?? '';
    const subtype = form.get('X-subtype') ?? '';
    if (form.get('delete') === 'true') {
      const endpoints: string[] = [];
      for (const [token, registration] of this.#registrations) {
        if (registration.androidId !== androidId || registration.subtype !== subtype || registration.isGone) continue;
        registration.isGone = true;
        device.queue.removeSubscription(token);
        endpoints.push(endpointOrigin + endpointPath + token);
      }
      this.log.add({ type: 'unregister', androidId, app, endpoints });
      return `deleted=${app}`;
    }
    const sender = form.get('sender') ?? '';
    const token = `${randomBytes(8).toString('base64url')}:${randomBytes(100).toString('base64url')}`;
    this.#registrations.set(token, { androidId, app, subtype, sender, isGone: false });
    this.log.add({ type: 'register', androidId, app, sender, endpoint: endpointOrigin + endpointPath + token });
    return `token=${token}`;
  }

  #serveMcs(socket: TLSSocket): void {
    let androidId: string | null = null;
    const stream = new McsStream(socket, {
      onLogin: (login) => {
        androidId = this.#logIn(stream, login);
      },
      onAcknowledged: (messageId) => {
        this.#devices.get(androidId ?? '')?.queue.remove(messageId);
        this.log.add({ type: 'ack', messageId });
      },
      onClosed: () => {
        this.#streams.delete(stream);
        const device = this.#devices.get(androidId ?? '');
        if (device?.stream === stream) device.stream = null;
        this.log.add({ type: 'closed', androidId });
      },
    });
    this.#streams.add(stream);
  }

  #logIn(stream: McsStream, login: Message): string | null {
    const androidId = login.text(3) ?? '';
    const device = this.#devices.get(androidId);
    if (device === undefined || login.text(5) !== String(device.securityToken)) {
      stream.close();
      return null;
    }
    stream.acceptLogin(login);
    // The client names pushes that it received before a stream broke; they were delivered but not
    // acknowledged.
    const received = login.texts(10);
    for (const messageId of received) device.queue.remove(messageId);
    device.stream = stream;
    this.log.add({ type: 'login', androidId, received });
    for (const expired of device.queue.takeExpired(Date.now())) this.#drop(expired);
    for (const push of device.queue.list()) this.#deliver(androidId, stream, push);
    return androidId;
  }

  #answer(request: PushEndpointRequest): PushEndpointAnswer {
    const endpoint = endpointOrigin + request.path;
    const verdict = this.#judge(request);
    if (verdict.accepted) return this.#accept(endpoint, verdict.to, verdict, request.httpVersion);
    const { status, reason } = verdict;
    this.log.add({ type: 'refused', endpoint, status, reason });
    return { status, headers: { 'content-type': 'text/plain' }, body: reason };
  }

  #judge(request: PushEndpointRequest): (AcceptedPush & { to: string }) | RefusedPush {
    // A sender that changed the URL to reach the local port is detected here.
    const host = request.headers[':authority'] ?? request.headers.host;
    if (host !== endpointHost) return refusePush(404, 102, `the host is ${String(host)}, not ${endpointHost}`);
    const to = request.path.slice(endpointPath.length);
    const registration = this.#registrations.get(to);
    if (request.method !== 'POST' || !request.path.startsWith(endpointPath)) {
      return refusePush(404, 102, 'there is no such endpoint');
    }
    if (registration === undefined || registration.isGone) return refusePush(410, 106, 'the subscription has ended');
    const verdict = checkPush(request.headers, request.body, {
      audience: endpointOrigin,
      applicationServerKey: registration.sender,
      now: Date.now(),
    });
    if (verdict.accepted) return { ...verdict, to };
    // Google answers 401 only when there is no signature at all. The sentences are Google's.
    if (verdict.vapidProblem === 'key mismatch') return { ...verdict, status: 403, reason: keyMismatch };
    if (verdict.vapidProblem === 'invalid') return { ...verdict, status: 403, reason: 'invalid JWT provided' };
    return verdict;
  }

  #accept(endpoint: string, token: string, push: AcceptedPush, httpVersion: string): PushEndpointAnswer {
    const stored = storePush(`0:${Date.now()}%${randomUUID()}`, token, push, Date.now());
    if (this.#corruptions > 0) {
      this.#corruptions -= 1;
      stored.body = corruptBody(stored.body);
    }
    const { id: messageId, topic, ttlSeconds } = stored;
    this.log.add({ type: 'accepted', endpoint, messageId, topic, ttlSeconds, httpVersion });
    const androidId = this.#registrations.get(token)?.androidId ?? '';
    const device = this.#devices.get(androidId);
    const replaced = device?.queue.add(stored);
    if (replaced !== undefined) this.log.add({ type: 'replaced', messageId: replaced.id, by: messageId });
    if (device?.stream) this.#deliver(androidId, device.stream, stored);
    else for (const gone of device?.queue.takeExpired(Date.now()) ?? []) this.#drop(gone);
    return {
      status: 201,
      headers: { location: `${endpointOrigin}/fcm/message/${messageId}`, ttl: String(ttlSeconds) },
    };
  }

  #drop(push: StoredPush): void {
    const why = push.ttlSeconds === 0 ? 'not connected' : 'expired';
    this.log.add({ type: 'dropped', messageId: push.id, why });
  }

  #deliver(androidId: string, stream: McsStream, push: StoredPush): void {
    const registration = this.#registrations.get(push.subscription);
    if (registration === undefined) return;
    stream.deliver(push, registration);
    this.log.add({ type: 'delivered', messageId: push.id, androidId });
  }
}
