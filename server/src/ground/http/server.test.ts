import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRaw } from '../../../test/raw-http.ts';
import { createLog } from '../host/log.ts';
import { ApiError } from './api-error.ts';
import { type Access, Answer, type BoundRoute, createHttpServer, type HttpServerOptions } from './server.ts';

type Caller = { readonly name: string };
type Options = Partial<HttpServerOptions<Caller>>;

/** A hold on which a handler waits until the test releases it. */
function createHold() {
  let release = (): void => undefined;
  let wake = (): void => undefined;
  let held = 0;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    wait(): Promise<void> {
      held++;
      wake();
      return released;
    },
    /** Resolves when this many handlers wait. */
    async has(count: number): Promise<void> {
      while (held < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    release: () => release(),
  };
}

function route(
  path: string,
  access: Access,
  handle: BoundRoute<Caller>['handle'],
  method: BoundRoute<Caller>['method'] = 'GET',
) {
  return { method, path, access, handle };
}

/** A server with the test's own routes, which believes every caller. */
async function serve(routes: readonly BoundRoute<Caller>[], options: Options = {}) {
  const lines: string[] = [];
  const server = createHttpServer<Caller>({
    routes,
    authenticate: async ([authorization = '']) => ({ name: authorization }),
    admit: () => null,
    appOf: ({ name }) => name,
    delayUnauthorized: async () => undefined,
    nobody: { name: 'nobody' },
    log: createLog('info', 'test', { write: (line) => void lines.push(line) }),
    ...options,
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return {
    url,
    server,
    logged: () => lines.map((line) => JSON.parse(line)),
    async get(path: string, headers: Record<string, string> = {}) {
      const response = await fetch(url + path, { headers });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
  };
}

describe.each<[string, Pick<Options, 'recognize'>]>([
  ['callers that are known already', { recognize: ([authorization = '']) => ({ name: authorization }) }],
  ['callers that must be looked up', {}],
])('R-85 overload by %s', (_of, known) => {
  // A single app gets two thirds: two requests of devices, four in all.
  const doorLimits = { devices: 3, servers: 6 };
  const key = (app: string) => ({ authorization: app });

  /** Routes that wait until the test releases them, and one for health. */
  async function serveHeld() {
    const hold = createHold();
    const wait = async () => ({ waited: await hold.wait() });
    const t = await serve(
      [
        route('/v1/device', 'client-or-server', wait),
        route('/v1/receipt', 'public', wait),
        route('/v1/message', 'server', wait),
        route('/healthz', 'public', async () => ({ status: 'ok' })),
      ],
      { doorLimits, ...known },
    );
    return { ...t, hold };
  }

  it('turns away requests of devices first, then those of servers, and never those for health', async () => {
    const t = await serveHeld();
    const under = [t.get('/v1/device', key('a')), t.get('/v1/device', key('a'))];
    await t.hold.has(2);
    const refused = await t.get('/v1/device', key('a'));
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect(Object.keys(refused.body)).toEqual(['error', 'message', 'request_id']);
    under.push(t.get('/v1/message', key('a')), t.get('/v1/message', key('a')));
    await t.hold.has(4);
    expect(await t.get('/v1/message', key('a'))).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    expect(await t.get('/v1/device', key('a'))).toMatchObject({ status: 503 });
    expect(await t.get('/healthz')).toMatchObject({ status: 200 });
    t.hold.release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
    for (const path of ['/v1/device', '/v1/receipt', '/v1/message']) {
      expect((await t.get(path, key('a'))).status).toBe(200);
    }
    // One line at the beginning and one at the end, however many requests were turned away.
    expect(t.logged().map(({ msg, turned_away: count }) => [msg, count])).toEqual([
      ['overloaded: turning requests away', undefined],
      ['no longer overloaded', 3],
    ]);
  });

  it('refuses an app that asks for everything, and keeps room for another app', async () => {
    const t = await serveHeld();
    const flood = Array.from({ length: 30 }, () => t.get('/v1/device', key('flood')));
    await t.hold.has(2);
    const calm = t.get('/v1/device', key('calm'));
    await t.hold.has(3);
    t.hold.release();
    expect((await calm).status).toBe(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(28);
  });

  it('lets all requests without a key share the room of one app', async () => {
    const t = await serveHeld();
    const flood = Array.from({ length: 30 }, () => t.get('/v1/receipt'));
    await t.hold.has(2);
    const calm = t.get('/v1/device', key('calm'));
    await t.hold.has(3);
    t.hold.release();
    expect((await calm).status).toBe(200);
    expect((await Promise.all(flood)).filter(({ status }) => status === 503)).toHaveLength(28);
  });

  it('is noticed before the rate limit counts and before a byte of the body is read', async () => {
    const hold = createHold();
    let admitted = 0;
    const t = await serve(
      [route('/v1/device', 'client-or-server', async () => ({ waited: await hold.wait() }), 'POST')],
      {
        doorLimits,
        ...known,
        admit() {
          admitted++;
          return null;
        },
      },
    );
    const post = () => fetch(`${t.url}/v1/device`, { method: 'POST' });
    const under = [post(), post()];
    await hold.has(2);
    const connection = await connectRaw(t.url);
    connection.send('POST /v1/device HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
    expect(await connection.answer()).toMatchObject({ status: 503, headers: { connection: 'close' } });
    await connection.closed;
    expect(admitted).toBe(2);
    hold.release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
  });

  it('ends every connection after its answer while the server closes', async () => {
    const t = await serveHeld();
    const under = [t.get('/v1/device', key('a')), t.get('/v1/device', key('a'))];
    await t.hold.has(2);
    expect((await t.get('/v1/device', key('a'))).status).toBe(503);
    const connection = await connectRaw(t.url);
    connection.send('GET /v1/device HTTP/1.1\r\nHost: x\r\n');
    await t.get('/healthz');
    const closed = t.server.close();
    connection.send('Authorization: a\r\n\r\n');
    expect(await connection.answer()).toMatchObject({ status: 503, headers: { connection: 'close' } });
    await connection.closed;
    t.hold.release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
    await closed;
  });

  it('does not count a request that only waits, nor a body that is still on its way', async () => {
    const hold = createHold();
    const t = await serve(
      [
        route('/v1/message', 'server', ({ aside }) => aside(async () => ({ waited: await hold.wait() }))),
        route('/v1/other', 'server', async () => ({})),
        route('/v1/device', 'client-or-server', async () => ({}), 'POST'),
      ],
      { doorLimits: { devices: 2, servers: 2 }, ...known },
    );
    const waiting = Array.from({ length: 5 }, () => t.get('/v1/message'));
    await hold.has(5);
    const slow = await Promise.all(Array.from({ length: 5 }, () => connectRaw(t.url)));
    for (const connection of slow) {
      connection.send('POST /v1/device HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
      expect((await connection.answer()).status).toBe(100);
    }
    expect((await t.get('/v1/other')).status).toBe(200);
    for (const connection of slow) {
      connection.send('{}');
      expect((await connection.answer()).status).toBe(200);
      connection.destroy();
    }
    hold.release();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
    expect(t.logged()).toEqual([]);
  });

  it('gives back the place of a request that fails', async () => {
    const t = await serve(
      [
        route('/v1/fails', 'server', async () => Promise.reject(new Error('broken'))),
        route('/v1/aside', 'server', ({ aside }) => aside(() => Promise.reject(new Error('broken')))),
        route('/v1/fine', 'server', async () => ({})),
      ],
      { doorLimits: { devices: 2, servers: 2 }, ...known },
    );
    for (let i = 0; i < 5; i++) {
      expect((await t.get('/v1/fails')).status).toBe(500);
      expect((await t.get('/v1/aside')).status).toBe(500);
      expect((await t.get('/v1/fine')).status).toBe(200);
    }
  });
});

describe('R-85 the bounds of a server', () => {
  it('bodies: an app that sends more than its half of them at once is refused, and no other', async () => {
    const t = await serve([route('/v1/device', 'client-or-server', async () => ({}), 'POST')], {
      connectionLimits: { bodyBytesMax: 100 },
    });
    const open = async (app: string, bytes: number) => {
      const connection = await connectRaw(t.url);
      const head = `POST /v1/device HTTP/1.1\r\nHost: x\r\nAuthorization: ${app}\r\nContent-Length: ${bytes}\r\n\r\n`;
      connection.send(head + ' '.repeat(bytes - 1));
      return connection;
    };
    // A refusal proves without a wait that the former body is still held: a body is held until its
    // last byte.
    const first = await open('flood', 40);
    const second = await open('flood', 40);
    const refused = await Promise.race([first.answer(), second.answer()]);
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable' }, headers: { connection: 'close' } });
    const calm = await open('calm', 20);
    calm.send('\n');
    expect((await calm.answer()).status).toBe(400);
    for (const connection of [first, second, calm]) connection.destroy();
  });

  it('public routes: a body of a kibibyte is read and a byte more is not', async () => {
    const t = await serve([route('/v1/receipt', 'public', async ({ body }) => ({ body: body !== undefined }), 'POST')]);
    const post = (bytes: number) =>
      fetch(`${t.url}/v1/receipt`, { method: 'POST', body: ' '.repeat(bytes - 2).concat('{}') });
    expect((await post(1024)).status).toBe(400);
    expect(await (await post(1025)).json()).toMatchObject({ error: 'body_too_large' });
  });

  it('connections: those above the bound are closed, and idle ones with them, so that a newcomer is served', async () => {
    const t = await serve([route('/healthz', 'public', async () => ({ status: 'ok' }))], {
      connectionLimits: { connectionsMax: 3 },
    });
    const idle = await Promise.all(Array.from({ length: 3 }, () => connectRaw(t.url)));
    for (const connection of idle) {
      connection.send('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      expect((await connection.answer()).status).toBe(200);
    }
    await (await connectRaw(t.url)).closed;
    for (const connection of idle) await connection.closed;
    expect((await t.get('/healthz')).status).toBe(200);
    expect(t.logged()).toMatchObject([{ level: 40, connections: 3 }]);
  });

  it('unread answers: their connection ends when nothing moves on it', async () => {
    const large = 'x'.repeat(32 * 1024 * 1024);
    const t = await serve([route('/v1/large', 'public', async () => ({ large }))], {
      connectionLimits: { silenceMs: 200 },
    });
    const ended = new Promise<void>((resolve) => {
      t.server.server.once('connection', (socket) => socket.once('close', () => resolve()));
    });
    const { hostname, port } = new URL(t.url);
    const deaf = connect({ host: hostname, port: Number(port) });
    onTestFinished(() => void deaf.destroy());
    deaf.pause();
    deaf.on('error', () => undefined);
    deaf.write('GET /v1/large HTTP/1.1\r\nHost: x\r\n\r\n');
    await ended;
  });
});

describe('R-87 closing', () => {
  it('answers what still arrives on a busy connection in the usual words, and then closes it', async () => {
    const [first, second] = [createHold(), createHold()];
    const t = await serve([
      route('/v1/first', 'public', async () => ({ waited: await first.wait() })),
      route('/v1/second', 'public', async () => ({ fine: (await second.wait()) === undefined })),
    ]);
    const connection = await connectRaw(t.url);
    connection.send('GET /v1/first HTTP/1.1\r\nHost: x\r\n\r\n');
    await first.has(1);
    const closed = t.server.close();
    connection.send('GET /v1/second HTTP/1.1\r\nHost: x\r\n\r\n');
    await second.has(1);
    first.release();
    second.release();
    expect(await connection.answer()).toMatchObject({ status: 200 });
    const last = await connection.answer();
    expect(last).toMatchObject({ status: 200, body: { fine: true }, headers: { connection: 'close' } });
    expect(last.headers['x-request-id']).toMatch(/^req_/);
    await connection.closed;
    await closed;
  });

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const untilClosing = async ({ server }: Awaited<ReturnType<typeof serve>>): Promise<void> => {
    while (server.server.listening) await turn();
  };

  it('ends a connection with the answer that was under way, although its client would keep it', async () => {
    const hold = createHold();
    const t = await serve([route('/v1/held', 'public', async () => ({ waited: await hold.wait() }))]);
    const connection = await connectRaw(t.url);
    connection.send('GET /v1/held HTTP/1.1\r\nHost: x\r\n\r\n');
    await hold.has(1);
    const closed = t.server.close();
    await untilClosing(t);
    hold.release();
    expect(await connection.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await connection.closed;
    await closed;
  });

  it('ends a connection whose answer had begun before, when the answer is whole', async () => {
    const body = new PassThrough();
    const headers = { 'content-type': 'text/plain', 'content-length': '10' };
    const t = await serve([route('/v1/file', 'public', async () => new Answer(200, headers, body))]);
    body.write('first');
    const response = await fetch(`${t.url}/v1/file`);
    expect(response.headers.get('connection')).toBe('keep-alive');
    const closed = t.server.close();
    await untilClosing(t);
    body.end(' last');
    expect(await response.text()).toBe('first last');
    await closed;
  });

  it('cuts off no answer that is still being read when another one ends', async () => {
    const large = 'x'.repeat(32 * 1024 * 1024);
    const [slow, quick] = [createHold(), createHold()];
    const t = await serve([
      route('/v1/large', 'public', async () => ({ large, waited: await slow.wait() })),
      route('/v1/small', 'public', async () => ({ waited: await quick.wait() })),
    ]);
    const answers: ServerResponse[] = [];
    t.server.server.on('request', (_request, response: ServerResponse) => void answers.push(response));
    const reader = connect(Number(new URL(t.url).port), '127.0.0.1');
    onTestFinished(() => void reader.destroy());
    reader.pause();
    reader.write('GET /v1/large HTTP/1.1\r\nHost: x\r\n\r\n');
    await slow.has(1);
    const small = t.get('/v1/small');
    await quick.has(1);
    const closed = t.server.close();
    await untilClosing(t);
    slow.release();
    while (!answers[0]?.writableEnded) await turn();
    quick.release();
    expect((await small).status).toBe(200);
    await turn();
    let bytes = 0;
    for await (const piece of reader) bytes += (piece as Buffer).length;
    expect(bytes).toBeGreaterThan(large.length);
    await closed;
  });
});

describe('R-81 any error of a handler', () => {
  class Odd extends Error {
    readonly code = 'SELECT secret';
  }
  it.each<[string, unknown, number]>([
    ['an error', new Error('SELECT secret'), 500],
    ['an error with a code', new Odd('secret'), 500],
    ['a string', 'secret', 500],
    ['nothing', undefined, 500],
    ['null', null, 500],
    ['an object', { statusCode: 418, message: 'secret' }, 500],
    ['an error that names a status', Object.assign(new Error('secret'), { statusCode: 302 }), 500],
    ['a lost connection', Object.assign(new Error('secret'), { code: 'CONNECTION_CLOSED' }), 503],
    ['a refused connection', Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), 503],
    ['a name that does not resolve', Object.assign(new Error('secret'), { code: 'ENOTFOUND' }), 503],
    ['a database that starts', Object.assign(new Error('secret'), { code: '57P03' }), 503],
    ['a database with too many connections', Object.assign(new Error('secret'), { code: '53300' }), 503],
    ['a statement over its time', Object.assign(new Error('secret'), { code: '57014' }), 503],
    ['a lock that another transaction held too long', Object.assign(new Error('secret'), { code: '55P03' }), 503],
    ['a statement that is wrong', Object.assign(new Error('secret'), { code: '42601' }), 500],
  ])('%s: the caller gets %3$s and not a word of it, the log has it', async (_what, thrown, status) => {
    const t = await serve([
      route('/v1/throws', 'public', async () => {
        throw thrown;
      }),
    ]);
    const answer = await t.get('/v1/throws');
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.body)).toEqual(['error', 'message', 'request_id']);
    expect(JSON.stringify([answer.body, [...answer.headers]])).not.toMatch(/secret|SELECT/);
    expect(t.logged()).toEqual([expect.objectContaining({ level: 50, request_id: answer.body.request_id })]);
    if (thrown instanceof Error) expect(t.logged()[0].err).toMatchObject({ message: thrown.message });
  });

  it('a refusal by intent is no fault and is not logged as one', async () => {
    const t = await serve([
      route('/v1/throws', 'public', async () => {
        throw new ApiError('unavailable', { retryAfterMs: 2001 });
      }),
    ]);
    const answer = await t.get('/v1/throws');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '3']);
    expect(t.logged()).toEqual([]);
  });
});

describe("the client's address", () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' };
  const routes = [route('/v1/who', 'public', async ({ address }) => ({ address }))];

  it('is the peer, because the header of a stranger is not believed', async () => {
    const t = await serve(routes);
    for (let i = 0; i < 3; i++) {
      expect((await t.get('/v1/who', forwarded)).body).toEqual({ address: '127.0.0.1' });
    }
    // The operator is told once, because the peer may be a proxy missing from the list.
    expect(t.logged()).toEqual([expect.objectContaining({ level: 40, peer: '127.0.0.1' })]);
  });

  it('is the address that a trusted proxy saw, and not one that the client wrote before it', async () => {
    const t = await serve(routes, { trustedProxies: ['127.0.0.1'] });
    expect((await t.get('/v1/who', forwarded)).body).toEqual({ address: '198.51.100.7' });
    expect(t.logged()).toEqual([]);
  });
});

describe('a server that closes', () => {
  it('does not wait for connections without a request', async () => {
    const { url, server } = await serve([route('/healthz', 'public', async () => ({ ok: true }))]);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const isClosed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    await server.close();
    await isClosed;
  });
});
