// The process of the endpoints that customers would run. It works on bytes, so that it limits
// nobody. One endpoint answers each request at once; the other accepts everything and never
// answers. Only the event's time is read.
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { serveParent } from '../child-end.ts';
import type { EndpointCounts, EndpointPorts, ToEndpoints } from './messages.ts';

const identity = { cert: readFileSync(certificateFile), key: readFileSync(keyFile), noDelay: true };
const acknowledgement = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
const endOfHeaders = Buffer.from('\r\n\r\n');
const createdAt = Buffer.from('"created_at":"');
const instantLength = '2026-11-21T10:15:30.123Z'.length;

let counts = { healthy: 0, blackHole: 0, firstAtMs: 0, lastAtMs: 0 };
let latenciesMs: number[] = [];

function noteHealthy(body: Buffer): void {
  const nowMs = performance.timeOrigin + performance.now();
  if (counts.healthy === 0) counts.firstAtMs = nowMs;
  counts.healthy += 1;
  counts.lastAtMs = nowMs;
  const at = body.indexOf(createdAt) + createdAt.length;
  latenciesMs.push(nowMs - Date.parse(body.toString('latin1', at, at + instantLength)));
}

/** Calls back with the body of each complete request, in order. */
function readRequests(socket: TLSSocket, onRequest: (body: Buffer) => void): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    for (;;) {
      const end = held.indexOf(endOfHeaders);
      if (end === -1) return;
      const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(held.toString('latin1', 0, end)) ?? [];
      const from = end + endOfHeaders.length;
      const to = from + Number(length);
      if (held.length < to) return;
      onRequest(held.subarray(from, to));
      held = held.subarray(to);
    }
  });
}

async function listen(onSocket: (socket: TLSSocket) => void): Promise<number> {
  const server = createServer({ ...identity, ALPNProtocols: ['http/1.1'] }, onSocket);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const ports: EndpointPorts = {
  healthy: await listen((socket) => {
    readRequests(socket, (body) => {
      noteHealthy(body);
      socket.write(acknowledgement);
    });
  }),
  blackHole: await listen((socket) => {
    readRequests(socket, () => {
      counts.blackHole += 1;
    });
  }),
};

serveParent((question: ToEndpoints): EndpointPorts | EndpointCounts | readonly number[] | undefined => {
  if (question.type === 'where') return ports;
  if (question.type === 'counts') return counts;
  if (question.type === 'latencies') return latenciesMs;
  counts = { healthy: 0, blackHole: 0, firstAtMs: 0, lastAtMs: 0 };
  latenciesMs = [];
  return undefined;
});
