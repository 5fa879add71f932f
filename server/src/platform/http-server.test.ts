import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRaw } from '../../test/raw-http.ts';
import { ApiError } from './api-error.ts';
import { type Access, createHttpServer, type HttpServerOptions, type Route } from './http-server.ts';
import { createLog } from './log.ts';

type Caller = { readonly name: string };
type Options = Partial<HttpServerOptions<Caller>>;

/** Something that a handler waits for until the test lets it go on. */
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
    /** Resolves when so many wait. */
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

function route(path: string, access: Access, handle: Route<Caller>['handle'], method: Route<Caller>['method'] = 'GET') {
  return { method, path, access, handle };
}

/** A server with routes of the test's own; callers are believed to be who they say. */
async function serve(routes: readonly Route<Caller>[], options: Options = {}) {
  const lines: string[] = [];
  const server = createHttpServer<Caller>({
    routes,
    authenticate: async ([authorization = '']) => ({ name: authorization }),
    admit: () => null,
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

describe('R-85 overload', () => {
  const limits = { devices: 2, servers: 4 };

  it('turns away what devices send first, then what servers ask, and health never', async () => {
    const hold = createHold();
    const t = await serve(
      [
        route('/v1/device', 'client-or-server', async () => ({ waited: await hold.wait() })),
        route('/v1/receipt', 'public', async () => ({ waited: await hold.wait() })),
        route('/v1/message', 'server', async () => ({ waited: await hold.wait() })),
        route('/healthz', 'public', async () => ({ status: 'ok' })),
      ],
      { loadLimits: limits },
    );
    const under = [t.get('/v1/device'), t.get('/v1/receipt')];
    await hold.has(2);
    for (const path of ['/v1/device', '/v1/receipt']) {
      const refused = await t.get(path);
      expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable' } });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('access-control-allow-origin')).toBe('*');
      expect(Object.keys(refused.body)).toEqual(['error', 'message', 'request_id']);
    }
    under.push(t.get('/v1/message'), t.get('/v1/message'));
    await hold.has(4);
    expect(await t.get('/v1/message')).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    expect(await t.get('/healthz')).toMatchObject({ status: 200 });
    hold.release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
    for (const path of ['/v1/device', '/v1/receipt', '/v1/message']) expect((await t.get(path)).status).toBe(200);
    // A line when it began and one when it was over, however many were turned away.
    expect(t.logged().map(({ msg, turned_away: count }) => [msg, count])).toEqual([
      ['overloaded: turning requests away', undefined],
      ['no longer overloaded', 3],
    ]);
  });

  it('counts requests whose key is being looked up', async () => {
    const hold = createHold();
    const t = await serve([route('/v1/device', 'client-or-server', async () => ({}))], {
      loadLimits: limits,
      async authenticate() {
        await hold.wait();
        return { name: 'known' };
      },
    });
    const under = [t.get('/v1/device'), t.get('/v1/device')];
    await hold.has(2);
    expect((await t.get('/v1/device')).status).toBe(503);
    hold.release();
    for (const answer of await Promise.all(under)) expect(answer.status).toBe(200);
  });

  it('does not count a request that only waits, nor a body that is still on its way', async () => {
    const hold = createHold();
    const t = await serve(
      [
        route('/v1/message', 'server', ({ aside }) => aside(async () => ({ waited: await hold.wait() }))),
        route('/v1/other', 'server', async () => ({})),
        route('/v1/device', 'client-or-server', async () => ({}), 'POST'),
      ],
      { loadLimits: { devices: 1, servers: 1 } },
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

  it('a request that fails gives its place back', async () => {
    const t = await serve(
      [
        route('/v1/fails', 'server', async () => Promise.reject(new Error('broken'))),
        route('/v1/aside', 'server', ({ aside }) => aside(() => Promise.reject(new Error('broken')))),
        route('/v1/fine', 'server', async () => ({})),
      ],
      { loadLimits: { devices: 1, servers: 1 } },
    );
    for (let i = 0; i < 5; i++) {
      expect((await t.get('/v1/fails')).status).toBe(500);
      expect((await t.get('/v1/aside')).status).toBe(500);
      expect((await t.get('/v1/fine')).status).toBe(200);
    }
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
});

describe('R-81 whatever a handler throws', () => {
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

  it('is the peer: what a stranger forwards is not believed', async () => {
    const t = await serve(routes);
    for (let i = 0; i < 3; i++) {
      expect((await t.get('/v1/who', forwarded)).body).toEqual({ address: '127.0.0.1' });
    }
    // The operator is told once: it may be a proxy that was forgotten.
    expect(t.logged()).toEqual([expect.objectContaining({ level: 40, peer: '127.0.0.1' })]);
  });

  it('is what a trusted proxy saw, and not what was put in front of it', async () => {
    const t = await serve(routes, { trustedProxies: ['127.0.0.1'] });
    expect((await t.get('/v1/who', forwarded)).body).toEqual({ address: '198.51.100.7' });
    expect(t.logged()).toEqual([]);
  });
});
