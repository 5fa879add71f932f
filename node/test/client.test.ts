// Tests the client against a server with scripted answers: what goes over the wire, and what is
// thrown.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { call, type Service } from '../src/call.ts';
import { Carillon, sdkVersion } from '../src/client.ts';
import { ApiError, NetworkError } from '../src/errors.ts';
import { operations } from '../src/types.gen.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** An answer, or `cut`: the connection ends without one. */
type Scripted =
  | { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | 'cut'
  | 'hang';

const received: Received[] = [];
let script: Scripted[] = [];
const sockets = new Set<Socket>();
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString();
    const { method = '', url = '', headers } = request;
    received.push({ method, url, headers, body: text === '' ? undefined : JSON.parse(text) });
    const next = script.shift() ?? {};
    if (next === 'hang') return;
    if (next === 'cut') {
      request.socket.destroy();
      return;
    }
    const { status = 200, headers: more = {}, body = {} } = next;
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
});
server.on('connection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});
beforeEach(() => {
  received.length = 0;
  script = [];
});

const apiKey = 'sk_live_none';
const carillon = new Carillon({ baseUrl, apiKey, maxRetries: 0 });
const message = { audience: { all: true }, content: { title: 'Größe' } } as const;

/** A call that does not wait but records its waits. */
function patient(more: Partial<Service> = {}) {
  const waits: number[] = [];
  const service: Service = {
    baseUrl,
    apiKey,
    timeoutMs: 5_000,
    maxRetries: 3,
    maxWaitMs: 30_000,
    userAgent: 'test',
    fetch: globalThis.fetch,
    ...more,
  };
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  const send = (options: { idempotencyKey?: string; isRepeatable: boolean; signal?: AbortSignal }) =>
    call(service, 'sendMessage', { body: message }, options, sleep);
  return { waits, send };
}

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a request', () => {
  it('goes to the URL of its endpoint, with the key, and contains only the given fields', async () => {
    await carillon.messages.send(message);
    await carillon.messages.list({ status: 'sent', limit: 5, cursor: undefined });
    await carillon.users.get('ü/ 1?#%');
    await carillon.messages.deliveries('msg_1', { channel: 'apns' });
    await carillon.segments.replace('seg_1', { name: 'Pro', filter: { field: 'country', op: 'eq', value: 'DE' } });
    await carillon.messages.cancel('msg_1');
    expect(received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v1/messages',
      'GET /v1/messages?status=sent&limit=5',
      'GET /v1/users/%C3%BC%2F%201%3F%23%25',
      'GET /v1/messages/msg_1/deliveries?channel=apns',
      'PUT /v1/segments/seg_1',
      'POST /v1/messages/msg_1/cancel',
    ]);
    const [first, second, , , , cancel] = received;
    expect(first?.body).toEqual(message);
    expect(first?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'user-agent': `carillon-node/${sdkVersion}`,
      'idempotency-key': expect.stringMatching(/^[\w-]{36}$/),
    });
    expect(second?.headers['idempotency-key']).toBeUndefined();
    expect(second?.headers['content-type']).toBeUndefined();
    expect(cancel?.body).toBeUndefined();
  });

  it('reaches a service under a path, with or without a slash at the end', async () => {
    for (const end of ['', '/', '//']) {
      await new Carillon({ baseUrl: `${baseUrl}/push${end}`, apiKey }).channels();
    }
    expect(received.map(({ url }) => url)).toEqual(['/push/v1/channels', '/push/v1/channels', '/push/v1/channels']);
  });

  it.each(['.', '..', ''])('is not sent for a user whose id would be a step in the path: %j', async (id) => {
    expect(await refusalOf((async () => carillon.users.delete(id))())).toBeInstanceOf(TypeError);
    expect(received).toEqual([]);
  });

  it('is not sent with a key that no header can carry', async () => {
    for (const idempotencyKey of ['', 'a b', 'ü', 'x'.repeat(256), 'a\nb']) {
      expect(await refusalOf(carillon.messages.send(message, { idempotencyKey }))).toBeInstanceOf(TypeError);
    }
    expect(received).toEqual([]);
  });

  it('is not sent without an address or a key, and the error prints neither', () => {
    for (const none of [
      undefined,
      '',
      'push.shop.example',
      'ftp://push.shop.example',
      'https://a:b@push.shop.example',
    ]) {
      expect(() => new Carillon({ baseUrl: none, apiKey })).toThrow(/baseUrl/);
    }
    for (const none of [undefined, '', 'sk_live_1\n'])
      expect(() => new Carillon({ baseUrl, apiKey: none })).toThrow(/sk_live_…/);
    expect(inspect(carillon, { depth: 9, showHidden: true })).not.toContain(apiKey);
    expect(JSON.stringify(carillon)).not.toContain(apiKey);
  });
});

describe('a refused call', () => {
  it('throws the words of the service', async () => {
    const issue = { path: ['content'], code: 'empty_content', message: 'Nothing to show.' };
    const body = { error: 'validation_failed', message: '1 field is invalid.', issues: [issue], request_id: 'req_1' };
    script = [{ status: 400, body }];
    const error = await refusalOf(carillon.messages.send(message));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 400,
      error: 'validation_failed',
      message: '1 field is invalid.',
      issues: [issue],
      requestId: 'req_1',
      retryAfterMs: null,
      quota: null,
    });
    expect(inspect(error, { depth: 9 })).not.toContain(apiKey);
  });

  it("has the quota's numbers when the month is used up, and is not repeated", async () => {
    const quota = { plan: 'free', limit: 10, used: 10, requested: 1, resets_at: '2026-12-01T00:00:00.000Z' };
    script = [
      {
        status: 429,
        body: { error: 'quota_exceeded', message: 'No more.', quota, upgrade: 'Upgrade.', request_id: 'req_1' },
      },
    ];
    const { send, waits } = patient();
    expect(await refusalOf(send({ isRepeatable: true }))).toMatchObject({ error: 'quota_exceeded', quota });
    expect(waits).toEqual([]);
  });

  it('throws an ApiError also when the answer is not Carillon’s', async () => {
    script = [
      { body: '<html>' },
      { status: 404, body: 'gone' },
      { status: 302, headers: { location: 'https://login.example/' } },
    ];
    expect(await refusalOf(carillon.channels())).toMatchObject({ status: 200, error: 'invalid_answer' });
    expect(await refusalOf(carillon.channels())).toMatchObject({ status: 404, error: 'invalid_answer' });
    expect(await refusalOf(carillon.channels())).toMatchObject({
      message: 'The answer is a redirect to https://login.example/: is baseUrl the address of the service?',
    });
    expect(received).toHaveLength(3);
  });
});

describe('a call that failed for a reason that may pass', () => {
  it('is repeated with the same key and the same bytes after the requested wait', async () => {
    script = [
      {
        status: 429,
        headers: { 'retry-after': '1' },
        body: { error: 'rate_limited', message: '', retry_after_ms: 100 },
      },
      { status: 503, headers: { 'retry-after': '2' }, body: { error: 'unavailable', message: '' } },
      'cut',
      { body: { id: 'msg_1', status: 'sent', replayed: true } },
    ];
    const { send, waits } = patient();
    expect(await send({ idempotencyKey: 'order-1', isRepeatable: true })).toMatchObject({
      id: 'msg_1',
      replayed: true,
    });
    expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual([
      'order-1',
      'order-1',
      'order-1',
      'order-1',
    ]);
    expect(new Set(received.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const [first = 0, second = 0, third = 0] = waits;
    expect(first).toBeGreaterThanOrEqual(100);
    expect(first).toBeLessThan(1000);
    expect(second).toBeGreaterThanOrEqual(2000);
    expect(third).toBeLessThanOrEqual(2000);
  });

  it('is given up after the last try, and throws the last refusal', async () => {
    script = Array.from(
      { length: 9 },
      (): Scripted => ({ status: 503, body: { error: 'unavailable', message: 'Away.' } }),
    );
    expect(await refusalOf(patient().send({ isRepeatable: true }))).toMatchObject({ status: 503, message: 'Away.' });
    expect(received).toHaveLength(4);
  });

  it('is not repeated when a repeat could act twice, unless the request was never sent', async () => {
    script = ['cut'];
    expect(await refusalOf(patient().send({ isRepeatable: false }))).toMatchObject({
      name: 'NetworkError',
      wasNotSent: false,
    });
    expect(received).toHaveLength(1);
    const refused = patient({ baseUrl: 'http://127.0.0.1:1', fetch: () => Promise.reject(connectionRefused()) });
    expect(await refusalOf(refused.send({ isRepeatable: false }))).toMatchObject({ wasNotSent: true });
    expect(refused.waits).toHaveLength(3);
  });

  it('throws a NetworkError that says so when it is too slow', async () => {
    script = ['hang'];
    const error = await refusalOf(carillon.channels({ timeoutMs: 50 }));
    expect(error).toMatchObject({
      name: 'NetworkError',
      message: `No answer from ${baseUrl} within 50 ms.`,
      wasNotSent: false,
    });
  });

  it('ends with its caller’s signal, during a request and during a wait', async () => {
    script = ['hang', { status: 429, body: { error: 'rate_limited', message: '', retry_after_ms: 20_000 } }];
    const reason = new Error('the shop closes');
    for (let i = 0; i < 2; i++) {
      const stop = new AbortController();
      const call = refusalOf(new Carillon({ baseUrl, apiKey }).channels({ signal: stop.signal }));
      while (received.length <= i) await new Promise((resolve) => setImmediate(resolve));
      stop.abort(reason);
      expect(await call).toBe(reason);
    }
    expect(received).toHaveLength(2);
  });
});

function connectionRefused(): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
}

describe('calls that must not act twice', () => {
  it('each send has a key of its own, and each event an id', async () => {
    await carillon.messages.send(message);
    await carillon.messages.send(message);
    await carillon.events.track({ name: 'install' });
    await carillon.events.track([
      { name: 'install' },
      { name: 'purchase', id: 'order-1' },
      { name: 'install', id: null },
    ]);
    const [one, two, single, batch] = received;
    expect(one?.headers['idempotency-key']).not.toBe(two?.headers['idempotency-key']);
    expect(single?.body).toMatchObject({ name: 'install', id: expect.stringMatching(/^[\w-]{36}$/) });
    const { events } = Object(batch?.body) as { readonly events: readonly { readonly id: string }[] };
    const ids = events.map(({ id }) => id);
    expect(ids[1]).toBe('order-1');
    expect(new Set(ids).size).toBe(3);
  });

  it('a segment is not created again after an unknown result; all other calls are repeated', async () => {
    const eager = new Carillon({ baseUrl, apiKey });
    script = ['cut'];
    expect(await refusalOf(eager.segments.create({ name: 'Pro', filter: {} }))).toBeInstanceOf(NetworkError);
    script = ['cut', 'cut', {}, 'cut', {}];
    await eager.events.track({ name: 'install' });
    await eager.users.upsert({ external_id: 'u-1' });
    script = ['cut'];
    expect(await refusalOf(eager.request('trackEvents', { body: { name: 'install' } }))).toBeInstanceOf(NetworkError);
    expect(received).toHaveLength(1 + 3 + 2 + 1);
  });
});

describe('a walk', () => {
  it('fetches each page when the one before it is used up', async () => {
    const page = (data: object[], next: string | null) => ({
      body: { data, has_more: next !== null, next_cursor: next },
    });
    script = [page([{ id: 1 }, { id: 2 }], 'c1'), page([], 'c2'), page([{ id: 3 }], null)];
    const seen: unknown[] = [];
    for await (const device of carillon.devices.all({ platform: 'web' })) {
      if (seen.length === 0) expect(received).toHaveLength(1);
      seen.push(device);
    }
    expect(seen).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(received.map(({ url }) => url)).toEqual([
      '/v1/devices?limit=200&platform=web',
      '/v1/devices?limit=200&platform=web&cursor=c1',
      '/v1/devices?limit=200&platform=web&cursor=c2',
    ]);
  });

  it('sends no request after its loop is left', async () => {
    script = [{ body: { data: [{ id: 1 }, { id: 2 }], has_more: true, next_cursor: 'c1' } }];
    for await (const _message of carillon.messages.all()) break;
    expect(received).toHaveLength(1);
  });
});

it('every endpoint of the description can be called by its name', async () => {
  const names = Object.keys(operations) as (keyof typeof operations)[];
  const params = { id: 'x', external_id: 'x', token: 'x' };
  for (const name of names) {
    const given = operations[name].method === 'GET' ? { params } : { params, body: {} };
    await Reflect.apply(carillon.request, carillon, [name, given]);
  }
  expect(received.map(({ method }) => method)).toEqual(names.map((name) => operations[name].method));
  expect(received.filter(({ url }) => /[{}]/.test(url))).toEqual([]);
});

it('the version is that of the package', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(sdkVersion).toBe(version);
});
