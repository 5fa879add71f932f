import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAddressGuard, parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createOutboundHttp, type Http1Request } from '../../src/ground/outbound/http.ts';
import { createOutboundSockets } from '../../src/ground/outbound/socket.ts';
import { certificate, certificateKey, startPushServer } from './push-server.ts';

const exceptions = parseOutboundExceptions({ allowCidrs: ['127.0.0.0/8'], ca: certificate });

function client(resolver?: Parameters<typeof createAddressGuard>[0]) {
  const http = createOutboundHttp(createOutboundSockets(createAddressGuard({ exceptions, ...resolver })));
  onTestFinished(() => http.close());
  return http;
}

const post = (port: number, changed: Partial<Http1Request> = {}): Http1Request => ({
  method: 'POST',
  host: '127.0.0.1',
  port,
  path: '/hook?a=1',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{"ü":1}'),
  timeoutMs: 10_000,
  ...changed,
});

async function serve() {
  const server = await startPushServer({ protocol: 'http/1.1' });
  onTestFinished(() => server.close());
  return server;
}

/** A server below HTTP that treats each connection as the test says. */
async function serveSockets(onSocket: (socket: Socket) => void, tls: boolean) {
  const open = new Set<Socket>();
  const take = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  };
  const server = tls ? createTlsServer({ cert: certificate, key: certificateKey }, take) : createTcpServer(take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('a request that is not wanted when it comes opens no connection', async () => {
  const server = await serve();
  const result = await client().request(post(server.port, { isWanted: () => false }));
  expect(result).toMatchObject({ transportError: 'connect_error', written: false });
  expect(server.connections).toBe(0);
});

test('a request that is no longer wanted when it gets a connection is not sent', async () => {
  const server = await serve();
  server.handle = (request) => request.answer(200, {}, '');
  const http = client();
  let asked = 0;
  const result = await http.request(post(server.port, { isWanted: () => ++asked === 1 }));
  expect(result).toMatchObject({ transportError: 'connect_error', written: false });
  expect(await http.request(post(server.port, { isWanted: () => true }))).toMatchObject({ status: 200 });
  expect(server.seen).toHaveLength(1);
});

test('a request is sent as given, with its length in bytes', async () => {
  const server = await serve();
  server.handle = (request) => request.answer(200, { 'content-type': 'text/plain' }, 'thanks');
  const answer = await client().request(post(server.port));
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: 'thanks',
    truncated: false,
  });
  const [request] = server.seen;
  expect([request?.method, request?.path, request?.body.toString()]).toEqual(['POST', '/hook?a=1', '{"ü":1}']);
  expect(request?.headers).toEqual({
    'content-type': 'application/json',
    'content-length': '8',
    host: `127.0.0.1:${server.port}`,
    connection: 'keep-alive',
  });
});

describe('one deadline for everything', () => {
  const drip = (socket: Socket, text: string) => {
    let sent = 0;
    const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ''), 10);
    socket.once('close', () => clearInterval(timer));
  };

  test.each([
    ['silence', true, () => {}, true],
    ['silence in TLS', false, () => {}, false],
    ['one header byte at a time', true, (socket: Socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: y'), true],
  ])('%s is a timeout', async (_name, tls, onSocket, written) => {
    const port = await serveSockets(onSocket, tls);
    expect(await client().request(post(port, { timeoutMs: 300 }))).toMatchObject({
      transportError: 'timeout',
      written,
    });
  });

  test('a name that is never resolved causes a timeout, and nothing was written', async () => {
    const http = client({ resolver: () => new Promise(() => {}) });
    const result = await http.request(post(443, { host: 'slow.example.org', timeoutMs: 100 }));
    expect(result).toMatchObject({ transportError: 'timeout', written: false });
  });

  test('an endless body: the status counts, and the received part is kept', async () => {
    const port = await serveSockets((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
      drip(socket, 'x');
    }, true);
    const result = await client().request(post(port, { timeoutMs: 300 }));
    expect(result).toMatchObject({ status: 200, truncated: true, body: expect.stringMatching(/^x+$/) });
  });

  test('the connection of a request that timed out is not used again', async () => {
    const server = await serve();
    server.handle = () => {};
    const http = client();
    await http.request(post(server.port, { timeoutMs: 200 }));
    await server.emptied();
    server.handle = (request) => request.answer(200);
    expect(await http.request(post(server.port))).toMatchObject({ status: 200 });
    expect(server.connections).toBe(2);
  });

  test('the wait for a free connection is not included', async () => {
    const server = await serve();
    let first = true;
    server.handle = (request) => {
      if (first) first = false;
      else request.answer(200);
    };
    const http = client();
    const results = await Promise.all([
      http.request(post(server.port, { timeoutMs: 400, socketsMax: 1 })),
      http.request(post(server.port, { timeoutMs: 400, socketsMax: 1 })),
    ]);
    expect(results).toMatchObject([{ transportError: 'timeout' }, { status: 200 }]);
  });
});

describe('the body of an answer', () => {
  test("is read and kept up to the request's limits", async () => {
    const server = await serve();
    server.handle = (request) => request.answer(200, {}, 'x'.repeat(100));
    const bodyLimits = { readMax: 200, keepMax: 10 };
    const result = await client().request(post(server.port, { bodyLimits }));
    expect(result).toMatchObject({ body: 'x'.repeat(10), truncated: true });
  });

  test('is cut off when it is endless, and its connection ends', async () => {
    const port = await serveSockets((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`));
        socket.once('drain', more);
      };
      more();
    }, true);
    expect(await client().request(post(port))).toMatchObject({ status: 200, body: 'x'.repeat(4_096), truncated: true });
  });

  test('is never decompressed', async () => {
    const server = await serve();
    const bomb = gzipSync(Buffer.alloc(1_000_000, 'a'));
    server.handle = (request) => request.answer(200, { 'content-encoding': 'gzip' }, bomb);
    const result = await client().request(post(server.port));
    expect('body' in result && result.body).not.toContain('aaaa');
  });
});

describe('connections', () => {
  test('are kept and used again, also while a slow peer answers', async () => {
    const server = await serve();
    const http = client();
    for (let i = 0; i < 3; i += 1) await http.request(post(server.port));
    expect(server.connections).toBe(1);
  });

  test('R-33 are never shared between pools', async () => {
    const server = await serve();
    const http = client();
    for (const pool of ['app-1', 'app-2', 'app-1', 'app-2']) await http.request(post(server.port, { pool }));
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1, 0, 1]);
  });

  test('to one origin are no more than allowed', async () => {
    const server = await serve();
    const http = client();
    const all = Array.from({ length: 20 }, () => http.request(post(server.port, { socketsMax: 3 })));
    expect((await Promise.all(all)).every((result) => 'status' in result)).toBe(true);
    expect(server.connections).toBe(3);
  });

  test('that are idle are no more than allowed over all pools: the longest idle one is closed', async () => {
    const server = await serve();
    const http = createOutboundHttp(createOutboundSockets(createAddressGuard({ exceptions })), 2);
    onTestFinished(() => http.close());
    // Each line: the connections that these pools have used.
    for (const [pools, connections] of [
      ['a b a', [0, 1, 0]],
      ['c', [2]],
      ['a c', [0, 2]],
      ['b', [3]],
      ['c b', [2, 3]],
    ] as const) {
      const before = server.seen.length;
      for (const pool of pools.split(' ')) await http.request(post(server.port, { pool }));
      expect(server.seen.slice(before).map(({ connection }) => connection)).toEqual(connections);
    }
  });

  test('that the peer closed cause no silent repeat', async () => {
    const server = await serve();
    const http = client();
    await http.request(post(server.port));
    server.handle = (request) => request.cut();
    expect(await http.request(post(server.port))).toMatchObject({ transportError: 'reset', written: true });
    expect(server.seen).toHaveLength(2);
  });

  test('that are idle end when the pool is closed', async () => {
    const server = await serve();
    const http = client();
    await http.request(post(server.port));
    http.close();
    await server.emptied();
  });

  test("offer only HTTP/1.1 by ALPN, and send the host's name", async () => {
    const seen: unknown[] = [];
    const port = await serveSockets((socket) => {
      const { alpnProtocol, servername } = socket as TLSSocket & { servername: unknown };
      seen.push(alpnProtocol, servername);
      socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    }, true);
    const http = client({ resolver: async () => [{ address: '127.0.0.1', family: 4 }] });
    expect(await http.request(post(port, { host: 'push.test.example' }))).toMatchObject({ status: 204 });
    expect(seen).toEqual([false, 'push.test.example']);
  });
});

test.each([
  ['a path with a line break', { path: '/a\r\nx: y' }],
  ['a header with a line break', { headers: { a: 'b\r\nc: d' } }],
])('%s fails the request without an exception', async (_name, changed) => {
  const server = await serve();
  expect(await client().request(post(server.port, changed))).toMatchObject({ transportError: 'reset', written: false });
  expect(server.connections).toBe(0);
});
