// R-38b with Node's own server: a thousand requests through each fault. Each request ends with its
// own answer and is acted upon once, or fails in a way that the fault explains.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { createRandom, type Random } from '../../../rig/src/random.ts';
import { nodeEngine } from '../src/node-session.ts';
import { ownEngine } from '../src/own-session.ts';
import { Http2Pool, type PoolResult } from '../src/pool.ts';
import type { Http2Engine } from '../src/session.ts';

const certificate = readFileSync(certificateFile, 'utf8');
const certificateKey = readFileSync(keyFile, 'utf8');

const engines: readonly (readonly [string, Http2Engine])[] = [
  ['frames of our own', ownEngine],
  ['node:http2', nodeEngine],
];

interface Incoming {
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
  readonly id: number;
  /** How many streams the server has seen, this one included. */
  readonly count: number;
  readonly random: Random;
  /** Answers with the expected answer of the request. */
  accept(): void;
}

interface Fault {
  readonly name: string;
  readonly settings?: { readonly initialWindowSize?: number; readonly maxConcurrentStreams?: number };
  /** Default: accepts. */
  readonly onStream?: (incoming: Incoming) => void;
  readonly bodyBytesMax?: number;
  /** Whether a request may end without an answer. */
  readonly mayFail?: boolean;
}

const faults: readonly Fault[] = [
  { name: 'bodies and answers of random sizes', bodyBytesMax: 100_000 },
  {
    name: 'resets of all kinds',
    mayFail: true,
    onStream({ stream, random, accept }) {
      if (random.below(3) > 0) accept();
      else stream.close([1, 2, 5, 7, 7, 7, 8, 11][random.below(8)]);
    },
  },
  {
    name: 'GOAWAY in mid-flight',
    onStream({ stream, session, count, accept }) {
      // Streams above the last stream of the GOAWAY are not acted upon.
      const last = lastStreams.get(session);
      if (last !== undefined) {
        if ((stream.id ?? 0) <= last) accept();
        return;
      }
      if (count % 40 === 0) {
        lastStreams.set(session, stream.id ?? 0);
        session.goaway(0, stream.id);
      }
      setImmediate(accept);
    },
  },
  { name: 'windows that starve', settings: { initialWindowSize: 90 }, bodyBytesMax: 4_096 },
  {
    name: 'SETTINGS that shrink and grow',
    settings: { maxConcurrentStreams: 60 },
    bodyBytesMax: 20_000,
    onStream({ session, count, random, accept }) {
      if (count % 6 === 0 && !session.destroyed) {
        session.settings({
          maxConcurrentStreams: 60 + random.below(60),
          // Never 0: with a window of 0 no request would end and the window would never open again.
          initialWindowSize: 1 + random.below(random.pick([300, 30_000])),
          headerTableSize: random.below(6_000),
        });
      }
      if (count % 6 === 3 && !session.destroyed) session.settings({ initialWindowSize: 65_535 });
      setImmediate(accept);
    },
  },
];

const lastStreams = new WeakMap<ServerHttp2Session, number>();

/** Starts the server. `acted` counts how often it acted upon each request. */
async function serve(fault: Fault, random: Random) {
  const acted = new Map<number, number>();
  const sockets = new Set<Socket>();
  const server = createSecureServer({ cert: certificate, key: certificateKey, settings: { ...fault.settings } });
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.on('session', (session) => session.on('error', () => {}));
  let count = 0;
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const id = Number(headers['x-id']);
    let bodyBytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
    });
    stream.on('end', () => {
      const session = stream.session as ServerHttp2Session | undefined;
      if (session === undefined) return;
      count += 1;
      const accept = () => {
        if (stream.destroyed) return;
        acted.set(id, (acted.get(id) ?? 0) + 1);
        const size = answerBytesOf(id);
        stream.respond({ ':status': 200, 'x-id': String(id), 'x-bytes': String(bodyBytes) }, { endStream: size === 0 });
        if (size > 0) stream.end('a'.repeat(size));
      };
      (fault.onStream ?? ((incoming) => incoming.accept()))({ stream, session, id, count, random, accept });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, acted };
}

const answerBytesOf = (id: number) => (id % 4 === 0 ? 0 : (id * 53) % 6_000);

/** A sentence about what is wrong with a result; undefined when nothing is. */
function judge(result: PoolResult, id: number, bodyBytes: number, mayFail: boolean): string | undefined {
  if (!('status' in result)) return mayFail && 'transportError' in result ? undefined : JSON.stringify(result);
  const size = answerBytesOf(id);
  const isOwn =
    result.headers['x-id'] === String(id) &&
    result.headers['x-bytes'] === String(bodyBytes) &&
    (result.body?.length ?? 0) === Math.min(size, 4_096) &&
    result.truncated === size > 4_096;
  return isOwn ? undefined : JSON.stringify({ ...result, body: result.body?.length });
}

describe.each(engines)('on %s', (_name, engine) => {
  test.each(faults)('R-38b 1,000 requests through $name: each ends once, with its own answer', async (fault) => {
    const random = createRandom(20);
    const { port, acted } = await serve(fault, createRandom(21));
    const pool = new Http2Pool({
      authority: 'localhost',
      engine,
      open: () => connect({ port, host: '127.0.0.1', ca: certificate, ALPNProtocols: ['h2'] }).setNoDelay(true),
      sessionsMax: 2,
      streamsMax: 50,
      connectTimeoutMs: 10_000,
      idleMs: 60_000,
    });
    const wrong: string[] = [];
    let next = 0;
    let answered = 0;
    const sendInTurn = async () => {
      for (let id = next++; id < 1_000; id = next++) {
        const bodyBytes = random.below(10) === 0 ? 0 : random.below(fault.bodyBytesMax ?? 2_000);
        const result = await pool.request({
          path: `/${id}`,
          headers: { 'x-id': String(id), ttl: String(random.below(5)), topic: 'a'.repeat(random.below(30)) },
          unindexed: ['x-id'],
          body: Buffer.alloc(bodyBytes),
          timeoutMs: 20_000,
        });
        const complaint = judge(result, id, bodyBytes, fault.mayFail === true);
        if (complaint !== undefined) wrong.push(`${id}: ${complaint}`);
        if ('status' in result) answered += 1;
        if ('status' in result && acted.get(id) !== 1) wrong.push(`${id} was acted upon ${acted.get(id)} times`);
      }
    };
    await Promise.all(Array.from({ length: 100 }, sendInTurn));
    expect(wrong).toEqual([]);
    expect(answered).toBeGreaterThan(fault.mayFail ? 600 : 999);
    await pool.close();
    expect(pool.isEmpty).toBe(true);
  });
});
