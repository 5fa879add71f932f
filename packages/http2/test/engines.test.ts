// Tests the promises of an HTTP/2 session engine against servers on `node:http2` and below it, for
// every engine.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Stream,
  type Settings,
  sensitiveHeaders,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { ByteWriter } from '../src/byte-writer.ts';
import { FrameReader, frameTypes, writeFrameHeader } from '../src/frames.ts';
import { HpackEncoder } from '../src/hpack.ts';
import { nodeEngine } from '../src/node-session.ts';
import { ownEngine } from '../src/own-session.ts';
import { Http2Pool } from '../src/pool.ts';
import type { Http2Engine, Http2Request, Http2Result, Http2Session } from '../src/session.ts';

const certificate = readFileSync(certificateFile, 'utf8');
const certificateKey = readFileSync(keyFile, 'utf8');

const engines: readonly (readonly [string, Http2Engine])[] = [
  ['node:http2', nodeEngine],
  ['frames of our own', ownEngine],
];

const request = (changed: Partial<Http2Request> = {}): Http2Request => ({
  path: '/',
  headers: {},
  body: Buffer.from('body'),
  timeoutMs: 10_000,
  ...changed,
});

const ask = (session: Http2Session, asked = request()): Promise<Http2Result> =>
  new Promise((resolve) => session.request(asked, { onResult: resolve }));

const tls = { cert: certificate, key: certificateKey };

async function listen(server: Http2SecureServer | ReturnType<typeof createTlsServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function serve(onStream: (stream: ServerHttp2Stream, path: string) => void, settings: Settings = {}) {
  const server = createSecureServer({ ...tls, settings });
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    onStream(stream, String(headers[':path']));
  });
  return listen(server);
}

interface Opened {
  readonly session: Http2Session;
  /** The events in order. */
  readonly told: string[];
  readonly closed: Promise<unknown>;
}

/** Opens a session that is ready for requests. */
async function open(engine: Http2Engine, port: number, streamsMax = 100, authority = 'localhost'): Promise<Opened> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca: certificate, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  const told: string[] = [];
  let tellClosed: (error: unknown) => void = () => {};
  const closed = new Promise((resolve) => {
    tellClosed = resolve;
  });
  const session = await new Promise<Http2Session>((resolve) => {
    const made: Http2Session = engine(socket, {
      authority,
      streamsMax,
      events: {
        onReady: () => resolve(made),
        onCapacity: () => {},
        onDrain: () => told.push('drain'),
        onClose: (error) => {
          told.push('close');
          tellClosed(error);
        },
      },
    });
  });
  onTestFinished(() => session.destroy());
  return { session, told, closed };
}

const accept = (stream: ServerHttp2Stream) => {
  stream.resume();
  stream.respond({ ':status': 201 }, { endStream: true });
};

describe.each(engines)('the engine on %s', (_name, engine) => {
  test('R-38b 1,000 requests of all sizes: each gets its own answer, once', async () => {
    const port = await serve(
      (stream, path) => {
        let bytes = 0;
        stream.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        stream.on('end', () => {
          const size = Number(path.slice(1)) * 10;
          stream.respond(
            { ':status': 200 + (size % 100), 'x-body': String(bytes), 'x-path': path },
            { endStream: size === 0 },
          );
          if (size > 0) stream.end('a'.repeat(size));
        });
      },
      // So small that every body waits for a window to open.
      { initialWindowSize: 700 },
    );
    const { session, closed } = await open(engine, port);
    let next = 0;
    const wrong: unknown[] = [];
    const worker = async () => {
      for (let i = next++; i < 1_000; i = next++) {
        const bodyBytes = (i * 37) % 4_097;
        const result = await ask(session, request({ path: `/${i}`, body: Buffer.alloc(bodyBytes) }));
        const size = i * 10;
        const expected = {
          status: 200 + (size % 100),
          path: `/${i}`,
          body: String(bodyBytes),
          text: size === 0 ? null : 'a'.repeat(Math.min(size, 4_096)),
          truncated: size > 4_096,
        };
        const seen = 'status' in result && {
          status: result.status,
          path: result.headers['x-path'],
          body: result.headers['x-body'],
          text: result.body,
          truncated: result.truncated,
        };
        if (JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push({ seen, expected });
      }
    };
    await Promise.all(Array.from({ length: 50 }, worker));
    expect(wrong).toEqual([]);
    session.drain();
    await closed;
    expect(session.inFlight).toBe(0);
  });

  test('offers as many streams as the peer allows, up to its own cap', async () => {
    const [few, many] = [await serve(accept, { maxConcurrentStreams: 3 }), await serve(accept)];
    expect((await open(engine, few)).session.streamsMax).toBe(3);
    expect((await open(engine, many, 80)).session.streamsMax).toBe(80);
  });

  test('passes headers unchanged with the length, and an informational answer is not the answer', async () => {
    const seen: Record<string, unknown>[] = [];
    const server = createSecureServer(tls);
    server.on('stream', (stream, headers) => {
      seen.push({ ...headers });
      stream.additionalHeaders({ ':status': 103, link: '</x>' });
      accept(stream);
    });
    const { session } = await open(engine, await listen(server), 100, 'push.test.example:8443');
    const headers = { authorization: 'bearer x', 'apns-id': 'e63c', ttl: '60' };
    const result = await ask(session, request({ path: '/3/device/ab', headers, unindexed: ['apns-id'] }));
    expect(result).toMatchObject({ status: 201 });
    expect(seen[0]).toMatchObject({
      ':method': 'POST',
      ':scheme': 'https',
      ':authority': 'push.test.example:8443',
      ':path': '/3/device/ab',
      authorization: 'bearer x',
      'apns-id': 'e63c',
      ttl: '60',
      'content-length': '4',
    });
  });

  test('sends the authorization as never indexed, also in repeats', async () => {
    const server = createSecureServer(tls);
    server.on('session', (session) => session.on('error', () => {}));
    const seen: [string | undefined, boolean][] = [];
    server.on('stream', (stream, headers) => {
      // node:http2 reports which fields were sent as never indexed (RFC 7541 6.2.3).
      const secret = (headers as Record<symbol, unknown>)[sensitiveHeaders] as string[];
      seen.push([headers.authorization, secret.includes('authorization')]);
      accept(stream);
    });
    const { session } = await open(engine, await listen(server));
    const secrets = ['bearer one', 'bearer one', `bearer ${'two~'.repeat(300)}`, 'bearer one'];
    for (const authorization of secrets) await ask(session, request({ headers: { authorization, ttl: '60' } }));
    expect(seen).toEqual(secrets.map((secret) => [secret, true]));
  });

  test('handles headers larger than a frame, and trailers end an answer without being part of it', async () => {
    const large = 'a'.repeat(40_000);
    let seen: unknown;
    const server = createSecureServer(tls);
    server.on('stream', (stream, headers) => {
      seen = headers['x-large'];
      stream.resume();
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': 'late' }));
      stream.end('done');
    });
    const { session } = await open(engine, await listen(server));
    for (let i = 0; i < 2; i += 1) {
      const result = await ask(session, request({ headers: { 'x-large': large }, unindexed: ['x-large'] }));
      expect(result).toMatchObject({ status: 200, body: 'done', truncated: false });
      expect(result).not.toHaveProperty('headers.x-trailer');
      expect(seen).toBe(large);
    }
  });

  test('fails only the stream that is reset, and reports a refused one as refused', async () => {
    const port = await serve((stream, path) => {
      if (path === '/reset') stream.close(2);
      else if (path === '/refused') stream.close(7);
      else if (path === '/late') {
        stream.respond({ ':status': 200 });
        stream.write('abc', () => stream.destroy(new Error('on purpose')));
      } else accept(stream);
    });
    const { session, told } = await open(engine, port);
    const results = await Promise.all(
      ['/reset', '/refused', '/late', '/'].map((path) => ask(session, request({ path }))),
    );
    expect(results).toMatchObject([
      { transportError: 'reset', written: true },
      { refused: true },
      { status: 200, truncated: true },
      { status: 201 },
    ]);
    expect(told).toEqual([]);
  });

  test('cancels a stream at its deadline; when others are answered the session goes on', async () => {
    const cancelled: Promise<unknown>[] = [];
    const port = await serve((stream, path) => {
      if (path !== '/silent') accept(stream);
      else cancelled.push(once(stream, 'close').then(() => stream.rstCode));
    });
    const { session } = await open(engine, port);
    const silent = ask(session, request({ path: '/silent', timeoutMs: 200 }));
    expect(await ask(session)).toMatchObject({ status: 201 });
    expect(await silent).toMatchObject({ transportError: 'timeout', written: true });
    expect(await Promise.all(cancelled)).toEqual([8]);
    expect(session.isDraining).toBe(false);
    expect(await ask(session)).toMatchObject({ status: 201 });
  });

  test('accepts no further request on a session where nothing at all is answered in that time', async () => {
    const port = await serve(() => {});
    const { session, told, closed } = await open(engine, port);
    expect(await ask(session, request({ timeoutMs: 100 }))).toMatchObject({ transportError: 'timeout' });
    expect(session.isDraining).toBe(true);
    await closed;
    expect(told).toEqual(['drain', 'close']);
  });

  test('treats a body that stalls after its headers as an answer by its status', async () => {
    const port = await serve((stream) => {
      stream.respond({ ':status': 400 });
      stream.write('{"reason":');
    });
    const { session } = await open(engine, port);
    const result = await ask(session, request({ timeoutMs: 200 }));
    expect(result).toMatchObject({ status: 400, body: '{"reason":', truncated: true });
  });

  test('GOAWAY with an error: streams above its last stream are refused, the rest are answered or lost', async () => {
    const streams: ServerHttp2Stream[] = [];
    const port = await serve((stream) => {
      streams.push(stream);
      if (streams.length === 4) stream.session?.goaway(1, streams[1]?.id);
    });
    const { session, closed, told } = await open(engine, port);
    const results = await Promise.all(Array.from({ length: 4 }, () => ask(session, request({ timeoutMs: 500 }))));
    expect(results.slice(2)).toMatchObject([{ refused: true }, { refused: true }]);
    for (const covered of results.slice(0, 2)) expect(covered).not.toHaveProperty('refused');
    await closed;
    expect(told).toEqual(['drain', 'close']);
  });

  test('lets a draining session finish its requests', async () => {
    const streams: ServerHttp2Stream[] = [];
    let tellArrived = () => {};
    const arrived = new Promise<void>((resolve) => {
      tellArrived = resolve;
    });
    const port = await serve((stream) => {
      streams.push(stream);
      if (streams.length === 3) tellArrived();
    });
    const { session, told, closed } = await open(engine, port);
    const asked = Array.from({ length: 3 }, () => ask(session));
    await arrived;
    session.drain();
    for (const stream of streams) accept(stream);
    expect(await Promise.all(asked)).toMatchObject([{ status: 201 }, { status: 201 }, { status: 201 }]);
    expect(await closed).toBeUndefined();
    expect(told).toEqual(['drain', 'close']);
  });

  test('fails the requests of a destroyed session, and of a broken connection', async () => {
    for (const end of ['here', 'there'] as const) {
      let tellArrived: (stream: ServerHttp2Stream) => void = () => {};
      const arrived = new Promise<ServerHttp2Stream>((resolve) => {
        tellArrived = resolve;
      });
      const { session, told, closed } = await open(engine, await serve((stream) => tellArrived(stream)));
      const asked = ask(session);
      const stream = await arrived;
      if (end === 'here') session.destroy();
      else stream.session?.destroy();
      expect(await asked).toMatchObject({ transportError: 'reset', written: true });
      await closed;
      expect([session.isDraining, told.filter((event) => event === 'close')]).toEqual([true, ['close']]);
    }
  });

  test('a ping is answered only by a live peer', async () => {
    const { session } = await open(engine, await serve(accept));
    expect(await session.ping(5_000)).toBe(true);

    const emptySettings = Buffer.from('000000040000000000', 'hex');
    const mute = createTlsServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.write(emptySettings);
    });
    const opened = await open(engine, await listen(mute));
    expect(await opened.session.ping(50)).toBe(false);
    opened.session.destroy();
    expect(await opened.session.ping(50)).toBe(false);
  });

  test.each([
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a frame over the limit', Buffer.from('ffffff040000000000', 'hex')],
    ['SETTINGS of an impossible length', Buffer.from('0000010400000000000a', 'hex')],
    ['a window that overflows', Buffer.from('0000000400000000000000040800000000007fffffff', 'hex')],
    ['an answer to no request', Buffer.from('0000000400000000000000010104000000ff88', 'hex')],
    ['nothing', ''],
  ])('a peer that sends %s: the request has its result, and nothing remains', async (_what, bytes) => {
    const rude = createTlsServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.end(bytes);
    });
    const port = await listen(rude);
    const pool = new Http2Pool({
      engine,
      authority: 'localhost',
      open: () => connect({ port, host: '127.0.0.1', ca: certificate, ALPNProtocols: ['h2'] }),
      sessionsMax: 1,
      streamsMax: 100,
      connectTimeoutMs: 300,
      idleMs: 60_000,
    });
    expect(await pool.request(request({ timeoutMs: 300 }))).toHaveProperty('transportError');
    await pool.close();
    expect(pool.isEmpty).toBe(true);
  });
});

describe('our own engine', () => {
  test('after a GOAWAY with an error still ends the covered streams with their own answers', async () => {
    const streams: ServerHttp2Stream[] = [];
    const port = await serve((stream) => {
      stream.resume();
      streams.push(stream);
      if (streams.length < 4) return;
      stream.session?.goaway(11, streams[1]?.id);
      for (const [i, each] of streams.slice(0, 2).entries()) {
        setImmediate(() => each.respond({ ':status': 200 + i }, { endStream: true }));
      }
    });
    const { session, closed, told } = await open(ownEngine, port);
    const results = await Promise.all(Array.from({ length: 4 }, () => ask(session)));
    expect(results).toMatchObject([{ status: 200 }, { status: 201 }, { refused: true }, { refused: true }]);
    await closed;
    expect(told).toEqual(['drain', 'close']);
  });

  test('sends all requests of one turn in one write', async () => {
    const port = await serve(accept);
    const socket = connect({ port, host: '127.0.0.1', ca: certificate, ALPNProtocols: ['h2'] });
    await once(socket, 'secureConnect');
    const session = await new Promise<Http2Session>((resolve) => {
      const events = { onReady: () => resolve(made), onCapacity() {}, onDrain() {}, onClose() {} };
      const made: Http2Session = ownEngine(socket, { authority: 'localhost', streamsMax: 100, events });
    });
    onTestFinished(() => session.destroy());
    const write = vi.spyOn(socket, 'write');
    const asked = Array.from({ length: 50 }, () => ask(session));
    expect(write).not.toHaveBeenCalled();
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(write).toHaveBeenCalledTimes(1);
    for (const result of await Promise.all(asked)) expect(result).toMatchObject({ status: 201 });
  });

  test('reports requests that had not left when the connection broke as refused, so that they may be sent elsewhere', async () => {
    const { session, closed } = await open(ownEngine, await serve(accept));
    const asked = ask(session);
    session.destroy();
    expect(await asked).toMatchObject({ refused: true });
    await closed;
  });

  test.each([
    ['the process is stopped', performance, 'now'],
    ['the host sleeps', Date, 'now'],
  ] as const)('R-04 sends nothing of a turn in which %s, and reports it as refused', async (_name, clock, read) => {
    const paths: string[] = [];
    const port = await serve((stream, path) => {
      paths.push(path);
      accept(stream);
    });
    const { session, closed } = await open(ownEngine, port);
    const now = vi.spyOn(clock as { now(): number }, read);
    onTestFinished(() => now.mockRestore());
    expect(await ask(session, request({ path: '/before' }))).toMatchObject({ status: 201 });
    const asked = ask(session, request({ path: '/beside' }));
    const readAt = clock.now();
    now.mockReturnValue(readAt + 20_000);
    expect(await asked).toMatchObject({ refused: true });
    expect(await closed).toMatchObject({ message: 'The process was stopped before it wrote.' });
    expect(paths).toEqual(['/before']);
  });

  test('R-38b does not take a peer for a flood that returns its windows byte by byte, of the stream and of all', async () => {
    const server = createTlsServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      // SETTINGS with an initial window of one byte.
      socket.write(Buffer.from('000006040000000000000400000001', 'hex'));
      const windowUpdates = Buffer.from('0000040800000000010000000100000408000000000000000001', 'hex');
      const reader = new FrameReader((type, flags) => {
        if (type !== frameTypes.data) return;
        socket.write((flags & 1) === 0 ? windowUpdates : Buffer.from('00000101050000000188', 'hex'));
      });
      let skipped = 0;
      socket.on('data', (chunk: Buffer) => {
        const rest = chunk.subarray(Math.min(chunk.length, 24 - skipped));
        skipped += chunk.length - rest.length;
        reader.push(rest);
      });
    });
    const { session } = await open(ownEngine, await listen(server));
    expect(await ask(session, request({ body: Buffer.alloc(4_000) }))).toMatchObject({ status: 200 });
    session.destroy();
  });

  test.each([
    ['a malformed answer', { ':status': 200, connection: 'close' }],
    ['an answer without a status that is one', { ':status': 1000 }],
  ])('%s fails its own request and no other', async (_what, headers) => {
    const server = createTlsServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {});
      socket.write(Buffer.from('000000040000000000', 'hex'));
      const encoder = new HpackEncoder();
      const out = new ByteWriter();
      for (const [name, value] of Object.entries(headers)) encoder.write(out, name, String(value), 'plain');
      const block = Buffer.from(out.bytes.subarray(0, out.length));
      // Answers the second request correctly once both have arrived.
      let count = 0;
      const reader = new FrameReader((type) => {
        if (type !== frameTypes.headers) return;
        count += 1;
        if (count < 2) return;
        const [bad, good] = [new ByteWriter(), new ByteWriter()];
        writeFrameHeader(bad, block.length, frameTypes.headers, 5, 1);
        writeFrameHeader(good, 1, frameTypes.headers, 5, 3);
        socket.write(Buffer.concat([bad.bytes.subarray(0, 9), block, good.bytes.subarray(0, 9), Buffer.from([0x88])]));
      });
      let skipped = 0;
      socket.on('data', (chunk: Buffer) => {
        const rest = chunk.subarray(Math.min(chunk.length, 24 - skipped));
        skipped += chunk.length - rest.length;
        reader.push(rest);
      });
    });
    const { session } = await open(ownEngine, await listen(server));
    const results = await Promise.all([ask(session), ask(session)]);
    expect(results).toMatchObject([{ transportError: 'reset', written: true }, { status: 200 }]);
    expect(session.isDraining).toBe(false);
  });
});
