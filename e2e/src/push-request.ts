// Checks a sender's POST as both push services do (RFC 8030, 8188, 8292), and runs their https
// server. It is as strict as the vendors, and uses Mozilla's errno where there is one.

import type { IncomingHttpHeaders } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TestCertificate } from './certificate.ts';
import { type VapidProblem, verifyVapid } from './vapid.ts';

/** A push that passed every check. */
export interface AcceptedPush {
  accepted: true;
  ttlSeconds: number;
  topic: string | null;
  urgency: string;
  /** The encrypted body; empty for a push without payload. */
  body: Buffer;
}

export interface RefusedPush {
  accepted: false;
  status: 400 | 401 | 403 | 404 | 410 | 413;
  errno: number;
  reason: string;
  /** The fault of the VAPID header, if that was the reason. */
  vapidProblem?: VapidProblem;
}

export interface PushExpectation {
  audience: string;
  applicationServerKey: string | null;
  now: number;
}

/** Mozilla stores for 30 days at most and answers with the shortened TTL. */
const ttlMaxSeconds = 2_592_000;
/** RFC 8030 section 7.2: a service must accept 4,096 bytes; the vendors accept no more. */
export const bodyBytesMax = 4096;
/**
 * RFC 8188: salt 16, record size 4, key id length 1, key id 65; then at least a delimiter and a tag
 * of 16.
 */
const codingBytesMin = 16 + 4 + 1 + 65 + 1 + 16;

export function refusePush(status: RefusedPush['status'], errno: number, reason: string): RefusedPush {
  return { accepted: false, status, errno, reason };
}

/** Judges one POST to an endpoint that exists. */
export function checkPush(
  headers: IncomingHttpHeaders,
  body: Buffer,
  expected: PushExpectation,
): AcceptedPush | RefusedPush {
  const ttl = headers['ttl'];
  if (typeof ttl !== 'string') return refusePush(400, 111, 'there is no TTL header');
  if (/^-\d+$/.test(ttl)) return refusePush(400, 114, 'the TTL is negative');
  if (!/^\d+$/.test(ttl)) return refusePush(400, 112, 'the TTL is not a whole number');
  const topic = headers['topic'];
  if (topic !== undefined && (typeof topic !== 'string' || !/^[A-Za-z0-9_-]{1,32}$/.test(topic))) {
    return refusePush(400, 113, 'the Topic is not 1 to 32 characters of the URL-safe base64 alphabet');
  }
  const urgency = headers['urgency'] ?? 'normal';
  if (typeof urgency !== 'string' || !/^(very-low|low|normal|high)$/.test(urgency)) {
    return refusePush(400, 110, 'the Urgency is not one of the four of RFC 8030');
  }
  const vapid = verifyVapid(headers.authorization, expected);
  if (!vapid.accepted) return { ...refusePush(401, 109, vapid.reason), vapidProblem: vapid.problem };
  if (body.length > bodyBytesMax) return refusePush(413, 104, `the body has ${body.length} bytes`);
  const fault = body.length === 0 ? undefined : findCodingFault(headers['content-encoding'], body, vapid.publicKey);
  if (fault !== undefined) return refusePush(400, 110, fault);
  return { accepted: true, ttlSeconds: Math.min(Number(ttl), ttlMaxSeconds), topic: topic ?? null, urgency, body };
}

function findCodingFault(encoding: string | undefined, body: Buffer, vapidKey: Buffer): string | undefined {
  if (encoding !== 'aes128gcm') return `the Content-Encoding is ${encoding ?? 'missing'}, not aes128gcm`;
  if (body.length < codingBytesMin) return 'the body is shorter than an aes128gcm header and one record';
  if (body.readUInt32BE(16) < 18) return 'the record size is below 18';
  if (body[20] !== 65 || body[21] !== 4) return 'the key id is not an uncompressed P-256 point';
  // RFC 8292 section 3.2: the encryption key must differ from the signing key.
  if (body.subarray(21, 86).equals(vapidKey)) return 'the key of the encryption is also the VAPID key';
  return undefined;
}

export interface PushEndpointRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  httpVersion: string;
}

export interface PushEndpointAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * An https server on a free loopback port with HTTP/2 and HTTP/1.1, as the vendors have. Carillon
 * uses HTTP/2, the independent sender HTTP/1.1.
 */
export async function listenForPushes(
  certificate: TestCertificate,
  answer: (request: PushEndpointRequest) => PushEndpointAnswer,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createSecureServer({ cert: certificate.cert, key: certificate.key, allowHTTP1: true });
  const closeConnections = trackConnections(server);
  server.on('request', (request, response) => {
    void readBody(request).then(
      (body) => writeAnswer(response, answer(toEndpointRequest(request, body))),
      () => response.stream?.close(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      closeConnections();
      await closed;
    },
  };
}

/**
 * Node's HTTP/2 server waits for its sessions to end by themselves; the returned function ends
 * them.
 */
function trackConnections(server: Http2SecureServer): () => void {
  const open = new Set<{ destroy(): unknown }>();
  server.on('session', (session) => {
    open.add(session);
    session.on('close', () => open.delete(session));
  });
  server.on('secureConnection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  return () => {
    for (const connection of open) connection.destroy();
  };
}

async function readBody(request: Http2ServerRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function toEndpointRequest(request: Http2ServerRequest, body: Buffer): PushEndpointRequest {
  return {
    method: request.method,
    path: request.url,
    headers: request.headers,
    body,
    httpVersion: request.httpVersion,
  };
}

function writeAnswer(response: Http2ServerResponse, answer: PushEndpointAnswer): void {
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body ?? '');
}
