// Google's push service on loopback: check-in and registration over http, the message stream that Chromium holds over
// TLS, and the https endpoint that senders post to. As strict as the real one; it must never deliver what it would not.
// Protocol: https://source.chromium.org/chromium/chromium/src/+/main:google_apis/gcm/

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import type { TestCertificate } from './certificate.ts';
import { EventLog } from './event-log.ts';
import { encodeFrame, encodeMessage, type Field, FrameReader, MCS_VERSION, type Message, TAG } from './gcm-wire.ts';
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
  /** The application server's VAPID key, base64url without padding: what Chromium registers as the sender. */
  sender: string;
  isGone: boolean;
}

interface McsStream {
  socket: TLSSocket;
  /** How many frames the server has sent: the client acknowledges by this number. */
  framesSent: number;
  /** Frame number → the push it carried, until it is acknowledged. */
  readonly unacknowledged: Map<number, string>;
}

/** Debian's Chromium has this host built in; the sender's connection is brought here without changing the URL. */
export const ENDPOINT_HOST = 'jmt17.google.com';
const ENDPOINT_ORIGIN = `https://${ENDPOINT_HOST}`;
const ENDPOINT_PATH = '/fcm/send/';

export class Gcm {
  readonly log = new EventLog<GcmEvent>('push service for Chromium');
  readonly #devices = new Map<string, Device>();
  readonly #registrations = new Map<string, Registration>();
  readonly #server: Server;
  readonly #mcs: TlsServer;
  readonly #sockets = new Set<TLSSocket>();
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

  /** Chromium's switches that bring check-in, registration and the message stream here. */
  get chromiumSwitches(): string[] {
    const http = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return [
      `--gcm-checkin-url=${http}/checkin`,
      `--gcm-registration-url=${http}/register`,
      `--gcm-mcs-endpoint=https://localhost:${(this.#mcs.address() as AddressInfo).port}`,
    ];
  }

  /** Where connections to ENDPOINT_HOST have to go instead. */
  get endpointPort(): number {
    return this.#endpoint?.port ?? 0;
  }

  /** Spoils the ciphertext of the next push, after it was checked and accepted. */
  corruptNext(): void {
    this.#corruptions += 1;
  }

  /** Cuts every message stream, as a network does. Chromium comes back by itself. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
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
    // The ids are 63 bits: the client reads them as signed.
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
        endpoints.push(ENDPOINT_ORIGIN + ENDPOINT_PATH + token);
      }
      this.log.add({ type: 'unregister', androidId, app, endpoints });
      return `deleted=${app}`;
    }
    const sender = form.get('sender') ?? '';
    const token = `${randomBytes(8).toString('base64url')}:${randomBytes(100).toString('base64url')}`;
    this.#registrations.set(token, { androidId, app, subtype, sender, isGone: false });
    this.log.add({ type: 'register', androidId, app, sender, endpoint: ENDPOINT_ORIGIN + ENDPOINT_PATH + token });
    return `token=${token}`;
  }

  #serveMcs(socket: TLSSocket): void {
    const reader = new FrameReader();
    const stream: McsStream = { socket, framesSent: 0, unacknowledged: new Map() };
    let androidId: string | null = null;
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#sockets.delete(socket);
      const device = androidId === null ? undefined : this.#devices.get(androidId);
      if (device?.stream === stream) device.stream = null;
      this.log.add({ type: 'closed', androidId });
    });
    socket.on('data', (chunk) => {
      for (const { tag, message } of reader.read(chunk)) {
        if (tag === TAG.loginRequest) androidId = this.#logIn(stream, message);
        else if (tag === TAG.heartbeatPing) this.#send(stream, TAG.heartbeatAck, []);
        const acknowledged = acknowledgedFrame(tag, message);
        if (androidId !== null && acknowledged !== undefined) this.#acknowledge(androidId, stream, acknowledged);
      }
    });
  }

  #logIn(stream: McsStream, login: Message): string | null {
    const androidId = login.text(3) ?? '';
    const device = this.#devices.get(androidId);
    if (device === undefined || login.text(5) !== String(device.securityToken)) {
      stream.socket.destroy();
      return null;
    }
    stream.socket.write(Buffer.from([MCS_VERSION]));
    this.#send(stream, TAG.loginResponse, [
      [1, 'bytes', login.text(1) ?? ''],
      [6, 'varint', 1],
      [8, 'varint', Date.now()],
    ]);
    // What the client names as received was delivered over a stream that broke before its acknowledgement.
    const received = login.texts(10);
    for (const messageId of received) device.queue.remove(messageId);
    device.stream = stream;
    this.log.add({ type: 'login', androidId, received });
    for (const expired of device.queue.takeExpired(Date.now())) this.#drop(expired);
    for (const push of device.queue.list()) this.#deliver(androidId, stream, push);
    return androidId;
  }

  #acknowledge(androidId: string, stream: McsStream, lastFrame: number): void {
    for (const [frame, messageId] of stream.unacknowledged) {
      if (frame > lastFrame) continue;
      stream.unacknowledged.delete(frame);
      this.#devices.get(androidId)?.queue.remove(messageId);
      this.log.add({ type: 'ack', messageId });
    }
  }

  #send(stream: McsStream, tag: number, fields: readonly Field[]): void {
    stream.framesSent += 1;
    stream.socket.write(encodeFrame(tag, encodeMessage(fields)));
  }

  #answer(request: PushEndpointRequest): PushEndpointAnswer {
    const endpoint = ENDPOINT_ORIGIN + request.path;
    const verdict = this.#judge(request);
    if (verdict.accepted) return this.#accept(endpoint, verdict.to, verdict, request.httpVersion);
    const { status, reason } = verdict;
    this.log.add({ type: 'refused', endpoint, status, reason });
    return { status, headers: { 'content-type': 'text/plain' }, body: reason };
  }

  #judge(request: PushEndpointRequest): (AcceptedPush & { to: string }) | RefusedPush {
    // A sender that changed the URL to reach the local port shows it here.
    const host = request.headers[':authority'] ?? request.headers.host;
    if (host !== ENDPOINT_HOST) return refusePush(404, 102, `the host is ${String(host)}, not ${ENDPOINT_HOST}`);
    const to = request.path.slice(ENDPOINT_PATH.length);
    const registration = this.#registrations.get(to);
    if (request.method !== 'POST' || !request.path.startsWith(ENDPOINT_PATH)) {
      return refusePush(404, 102, 'there is no such endpoint');
    }
    if (registration === undefined || registration.isGone) return refusePush(410, 106, 'the subscription has ended');
    const verdict = checkPush(request.headers, request.body, {
      audience: ENDPOINT_ORIGIN,
      applicationServerKey: registration.sender,
      now: Date.now(),
    });
    // Google answers 403 where a proper signature belongs to another key, 401 where there is none.
    if (!verdict.accepted && verdict.status === 401 && request.headers.authorization !== undefined) {
      return { ...verdict, status: 403 };
    }
    return verdict.accepted ? { ...verdict, to } : verdict;
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
      headers: { location: `${ENDPOINT_ORIGIN}/fcm/message/${messageId}`, ttl: String(ttlSeconds) },
    };
  }

  #drop(push: StoredPush): void {
    const why = push.ttlSeconds === 0 ? 'not connected' : 'expired';
    this.log.add({ type: 'dropped', messageId: push.id, why });
  }

  #deliver(androidId: string, stream: McsStream, push: StoredPush): void {
    const registration = this.#registrations.get(push.subscription);
    if (registration === undefined) return;
    const hasPayload = push.body.length > 0;
    const appData: Field[] = [[7, 'bytes', encodePair('subtype', registration.subtype)]];
    if (hasPayload) appData.push([7, 'bytes', encodePair('content-encoding', 'aes128gcm')]);
    this.#send(stream, TAG.dataMessage, [
      [3, 'bytes', registration.sender],
      [5, 'bytes', registration.app],
      ...appData,
      [9, 'bytes', push.id],
      [17, 'varint', push.ttlSeconds],
      [18, 'varint', Date.now()],
      ...(hasPayload ? [[21, 'bytes', push.body] satisfies Field] : []),
      // immediate_ack: otherwise the client acknowledges only every tenth message.
      [24, 'varint', 1],
    ]);
    stream.unacknowledged.set(stream.framesSent, push.id);
    this.log.add({ type: 'delivered', messageId: push.id, androidId });
  }
}

function encodePair(key: string, value: string): Buffer {
  return encodeMessage([
    [1, 'bytes', key],
    [2, 'bytes', value],
  ]);
}

/** `last_stream_id_received` of the frames by which Chromium acknowledges. */
function acknowledgedFrame(tag: number, message: Message): number | undefined {
  const field = tag === TAG.iqStanza ? 10 : tag === TAG.heartbeatPing || tag === TAG.heartbeatAck ? 2 : undefined;
  const last = field === undefined ? undefined : message.integer(field);
  return last === undefined ? undefined : Number(last);
}
