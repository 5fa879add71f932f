import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expiredCertificateFile } from '../../../rig/src/certificate.ts';
import { rightClock } from '../../../rig/src/settable-clocks.ts';
import { privateAddresses, sendThroughFlips } from '../../../rig/src/webhook-flips.ts';
import {
  createAddressGuard,
  isPublicAddress,
  parseOutboundExceptions,
  type Resolver,
} from '../../src/ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../src/ground/outbound/http.ts';
import { LookupNotBegunError } from '../../src/ground/outbound/name-lookups.ts';
import { createOutboundSockets } from '../../src/ground/outbound/socket.ts';
import { type EventPost, type PostResult, postEvent } from '../../src/sending/webhooks/post-event.ts';
import { signatureOf } from '../../src/sending/webhooks/signature.ts';
import { takeEveryCertificate } from '../lax-certificates.ts';
import { certificate, certificateKey, type PushServerOptions, startPushServer } from './push-server.ts';

interface ClientSettings {
  readonly resolver?: Resolver;
  readonly allowCidrs?: readonly string[];
  readonly ca?: string | undefined;
  readonly nowMs?: () => number;
}

/** Sends as the service does, by default to receivers on this machine. */
function client(settings: ClientSettings = {}) {
  const { resolver, allowCidrs = ['127.0.0.0/8'], ca = certificate, nowMs = () => Date.now() } = settings;
  const exceptions = parseOutboundExceptions({ allowCidrs, allowPorts: '1024-65535', ca });
  const guard = createAddressGuard({ exceptions, ...(resolver && { resolver }) });
  const http = createOutboundHttp(createOutboundSockets(guard));
  onTestFinished(() => http.close());
  const clock = { ...rightClock, nowMs };
  const deps = { http, clock, rules: { exceptions, ownHosts: [] } };
  return (endpoint: string, more: Partial<EventPost> = {}): Promise<PostResult> =>
    postEvent(deps, {
      endpoint,
      pool: 'webhook-1',
      secretsAt: () => ['whsec_a'],
      event: 'message.sent',
      body: Buffer.from('{"ü":1}'),
      headers: { 'service-attempt': '1' },
      ...more,
    });
}

async function serve(options: Partial<PushServerOptions> = {}) {
  const server = await startPushServer({ protocol: 'http/1.1', ...options });
  onTestFinished(() => server.close());
  return server;
}

interface BareServer {
  readonly endpoint: string;
  readonly sockets: readonly Socket[];
}

/** A receiver below HTTP that treats each connection as the test says. */
async function serveSockets(onSocket: (socket: TLSSocket) => void): Promise<BareServer> {
  return listen((take) =>
    createTlsServer({ cert: certificate, key: certificateKey }, (socket) => {
      take(socket);
      onSocket(socket);
    }),
  );
}

/** Accepts connections and never sends a byte, not even a TLS handshake. */
async function serveSilence(): Promise<BareServer> {
  return listen((take) => createTcpServer(take));
}

async function listen(create: (take: (socket: Socket) => void) => ReturnType<typeof createTcpServer>) {
  const sockets: Socket[] = [];
  const server = create((socket) => {
    sockets.push(socket);
    // Data must be read, because otherwise the end would not be seen.
    socket.on('error', () => undefined).resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { endpoint: `https://localhost:${(server.address() as AddressInfo).port}/hooks`, sockets };
}

/** Resolves when the other side is gone in any way. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });
}

/** Runs `work` once the request has arrived. */
const onceAsked = (work: (socket: TLSSocket) => void) => (socket: TLSSocket) => {
  socket.once('data', () => work(socket));
};

/** Writes a byte at a time until the connection closes. */
function drip(socket: TLSSocket, everyMs: number): void {
  const timer = setInterval(() => socket.write('x'), everyMs);
  socket.once('close', () => clearInterval(timer));
}

const answeringWith = (head: string, then: (socket: TLSSocket) => void = () => undefined) =>
  onceAsked((socket) => {
    socket.write(head);
    then(socket);
  });

describe('R-20 the signature', () => {
  test('is made when the request is written, however long its lookup took, with the secrets of that moment', async () => {
    const server = await serve();
    let nowMs = 1_000_000_000_000;
    const resolver: Resolver = async () => {
      await new Promise(setImmediate);
      nowMs += 4_000;
      return [{ address: '127.0.0.1', family: 4 }];
    };
    const send = client({ resolver, nowMs: () => nowMs });
    const more = { body: Buffer.from('{}'), secretsAt: (ms: number) => [`whsec_${ms}`] };
    await send(`https://localhost:${server.port}/hooks`, more);
    // Over the connection that was kept.
    nowMs += 60_000;
    await send(`https://localhost:${server.port}/hooks`, more);
    expect(server.connections).toBe(1);
    expect(server.seen.map(({ headers }) => headers['service-signature'])).toEqual([
      signatureOf(['whsec_1000000004000'], 1_000_000_004, more.body),
      signatureOf(['whsec_1000000064000'], 1_000_000_064, more.body),
    ]);
  });
});

describe('R-27 a lookup that got no place because others held all', () => {
  test('is distinguished from a failed one', async () => {
    const notBegun = client({ resolver: () => Promise.reject(new LookupNotBegunError()) });
    const failed = client({ resolver: () => Promise.reject(Object.assign(new Error('no'), { code: 'EAI_AGAIN' })) });
    const endpoint = 'https://hooks.shop.example/push';
    expect(await notBegun(endpoint)).toMatchObject({ statusCode: null, error: 'dns_error', isUntried: true });
    expect(await failed(endpoint)).not.toHaveProperty('isUntried');
  });
});

describe('R-21 five seconds in total, whatever the endpoint does', () => {
  test('each of these ends in time, and a 2xx counts as soon as its headers arrive', async () => {
    const send = client();
    const silent = await serveSilence();
    const noAnswer = await serveSockets(() => undefined);
    const slowHeaders = await serveSockets(answeringWith('HTTP/1.1 200 OK\r\nx-slow: ', (socket) => drip(socket, 250)));
    const onlyInformed = await serveSockets(answeringWith('HTTP/1.1 103 Early Hints\r\n\r\n'));
    const slowBody = await serveSockets(
      answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n', (socket) => drip(socket, 250)),
    );
    const neverResolved = client({ resolver: () => new Promise(() => undefined) });
    const results = await Promise.all([
      ...[silent, noAnswer, slowHeaders, onlyInformed].map(({ endpoint }) => send(endpoint)),
      neverResolved('https://hooks.shop.example/push'),
      send(slowBody.endpoint),
    ]);
    expect(results.map(({ error }) => error)).toEqual(['timeout', 'timeout', 'timeout', 'timeout', 'timeout', null]);
    // No connection outlives its request.
    for (const { sockets } of [silent, noAnswer, slowHeaders, onlyInformed, slowBody]) {
      const [socket] = sockets;
      if (socket) await closed(socket);
      expect(sockets).toHaveLength(1);
    }
  });
});

describe('R-22 a body is read up to 16 KB, and never decompressed', () => {
  test('an endless body ends with its connection', async () => {
    let written = 0;
    const endless = await serveSockets(
      answeringWith('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', (socket) => {
        const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) written += 65_536;
          socket.once('drain', more);
        };
        more();
      }),
    );
    expect(await client()(endless.endpoint)).toMatchObject({ statusCode: 200, error: null });
    const [socket] = endless.sockets;
    if (socket) await closed(socket);
    // At most what the buffers of both sides hold.
    expect(written).toBeLessThan(20_000_000);
  });

  test('a body marked as compressed is read as its raw bytes', async () => {
    const server = await serve();
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    server.handle = (request) => request.answer(200, { 'content-encoding': 'gzip' }, bomb);
    const before = process.memoryUsage().arrayBuffers;
    expect(await client()(`https://localhost:${server.port}/hooks`)).toMatchObject({ statusCode: 200, error: null });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    expect(server.seen[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('a request is sent once, even when its connection breaks', async () => {
    const server = await serve();
    server.handle = (request) => request.cut();
    expect(await client()(`https://localhost:${server.port}/hooks`)).toMatchObject({ error: 'reset' });
    expect(server.seen).toHaveLength(1);
  });
});

describe('R-23 acknowledgements', () => {
  test.each([200, 201, 202, 204, 226, 299])('%i is', async (status) => {
    const server = await serve();
    server.handle = (request) => request.answer(status);
    expect(await client()(`https://localhost:${server.port}/`)).toMatchObject({ statusCode: status, error: null });
  });

  test.each([300, 304, 400, 401, 404, 409, 410, 429, 500, 503, 599])('%i is not', async (status) => {
    const server = await serve();
    server.handle = (request) => request.answer(status);
    const result = await client()(`https://localhost:${server.port}/`);
    expect(result).toMatchObject({ statusCode: status, error: 'http_status' });
  });

  test('informational statuses before the final one do not count', async () => {
    const early = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n';
    const fine = await serveSockets(answeringWith(`${early}HTTP/1.1 204 No Content\r\n\r\n`));
    expect(await client()(fine.endpoint)).toMatchObject({ statusCode: 204, error: null });
    const broken = await serveSockets(answeringWith(early, (socket) => socket.end()));
    expect(await client()(broken.endpoint)).toMatchObject({ statusCode: null, error: 'reset' });
  });
});

describe('R-32 a redirect is not followed', () => {
  test.each([301, 302, 303, 307, 308])('%i', async (status) => {
    const target = await serve();
    const server = await serve();
    const locations = [`https://127.0.0.1:${target.port}/inside`, `http://127.0.0.1:${target.port}/`, '//localhost/'];
    const send = client();
    for (const location of locations) {
      server.handle = (request) => request.answer(status, { location });
      const result = await send(`https://localhost:${server.port}/hooks`);
      expect(result).toMatchObject({ statusCode: status, error: 'redirect' });
    }
    expect(target.connections).toBe(0);
    expect(server.seen).toHaveLength(locations.length);
  });
});

describe('R-33 a kept connection', () => {
  test('serves only the webhook that opened it', async () => {
    const server = await serve();
    server.handle = (request) => request.answer(200, {}, 'ok');
    const send = client();
    const endpoint = `https://localhost:${server.port}/hooks`;
    for (const pool of ['webhook-1', 'webhook-1', 'webhook-2', 'webhook-2', 'webhook-1'])
      await send(endpoint, { pool });
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1, 1, 0]);
    expect(server.connections).toBe(2);
  });
});

describe('R-34 a certificate is always verified', () => {
  const expired = readFileSync(expiredCertificateFile, 'utf8');
  const toThisMachine: Resolver = async () => [{ address: '127.0.0.1', family: 4 }];

  test.each([
    ['self-signed', 'localhost', {}, { ca: expired }],
    ['for another name', 'hooks.shop.example', {}, {}],
    ['expired', 'localhost', { cert: expired }, { ca: expired }],
    ['TLS 1.1', 'localhost', { maxVersion: 'TLSv1.1' }, {}],
  ] as const)('%s', async (_name, host, options, settings) => {
    takeEveryCertificate();
    const server = await serve(options);
    const result = await client({ ...settings, resolver: toThisMachine })(`https://${host}:${server.port}/hooks`);
    expect(result).toMatchObject({ statusCode: null, error: 'tls_error' });
    expect(server.seen).toEqual([]);
  });
});

describe('R-31 the address of a name is checked at every connection', () => {
  const answering = (...addresses: string[]): Resolver => {
    return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  const endpoint = 'https://hooks.shop.example/push';

  test.each([...privateAddresses, '127.0.0.1'])('%s, alone or beside a public one, is refused', async (address) => {
    expect(isPublicAddress(address)).toBe(false);
    for (const resolver of [answering(address), answering('1.1.1.1', address), answering(address, '2606:4700::1111')]) {
      const result = await client({ resolver, allowCidrs: [] })(endpoint);
      expect(result).toMatchObject({ statusCode: null, error: 'blocked_address' });
    }
  });

  test('500 addresses are refused as a whole when the last one is private', async () => {
    const resolver = answering(...Array<string>(499).fill('1.1.1.1'), '10.0.0.1');
    expect(await client({ resolver, allowCidrs: [] })(endpoint)).toMatchObject({ error: 'blocked_address' });
  });

  test('R-35 an unknown name, and a resolver that fails in any way, are failed attempts', async () => {
    const failing: Resolver[] = [
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
      () => Promise.reject(new Error('bug')),
      () => {
        throw new Error('bug');
      },
      answering(),
      (async () => undefined) as unknown as Resolver,
      (async () => [{ address: 17 }]) as unknown as Resolver,
    ];
    const errors: unknown[] = [];
    for (const resolver of failing) errors.push((await client({ resolver, allowCidrs: [] })(endpoint)).error);
    expect(errors.slice(0, 5)).toEqual(Array(5).fill('dns_error'));
    expect(['dns_error', 'blocked_address']).toContain(errors[5]);
  });

  test('a name whose address changes at every question: only the receiver is connected to', async () => {
    const flips = await sendThroughFlips({ sends: 400, seed: 31 });
    expect(flips).toMatchObject({ attempted: [], arrivedAt: [], others: [] });
    expect(flips.acknowledged + flips.blocked + flips.unresolved).toBe(400);
    expect(flips.received).toBe(flips.acknowledged);
    expect(flips.lookups).toBeGreaterThanOrEqual(400);
    expect(Math.min(flips.acknowledged, flips.blocked, flips.unresolved)).toBeGreaterThan(0);
  });
});
