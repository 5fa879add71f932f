import { describe, expect, it } from 'vitest';
import { connectRaw, exchange, type RawAnswer } from '../raw-http.ts';
import { type Response, setup } from '../setup.ts';

const t = await setup({ workers: false });
const impatient = await setup({ workers: false, http: { bodyTimeoutMs: 500 } });
const kibibyte = 1024;

/** Routes that take a body, with its largest size (contract 1). */
const bodyLimits: Readonly<Record<string, number>> = {
  'POST /v1/messages': 1024 * kibibyte,
  'POST /v1/messages/:id/cancel': 256 * kibibyte,
  'POST /v1/users': 256 * kibibyte,
  'POST /v1/devices': 256 * kibibyte,
  'POST /v1/identify': 256 * kibibyte,
  'POST /v1/events': 1024 * kibibyte,
  'POST /v1/receipts': kibibyte,
  'POST /v1/segments': 1024 * kibibyte,
  'POST /v1/segments/preview': 1024 * kibibyte,
  'PUT /v1/segments/:id': 1024 * kibibyte,
};
/** The path contains everything this route needs, so a body is allowed but not required. */
const bodyless = '/v1/messages/:id/cancel';
// Rules that all routes share are tested on the routes that need no existing object.
const routesWithBody = Object.entries(bodyLimits).flatMap(([name, most]) =>
  name.startsWith('POST ') ? [{ path: name.slice('POST '.length), most }] : [],
);

const head = (method: string, path: string, headers = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${t.app.serverKey}\r\n${headers}\r\n`;
/** JSON of this many bytes with one unknown field. */
const jsonOf = (bytes: number): string => `{"x":"${'x'.repeat(bytes - 8)}"}`;
const codesOf = ({ body }: Pick<Response, 'body'>): string[] => body.issues.map(({ code }: { code: string }) => code);
const post = (path: string, raw: string | Uint8Array<ArrayBuffer>, type?: string): Promise<Response> =>
  t.request('POST', path, {
    key: t.app.serverKey,
    raw,
    headers: { 'content-type': type ?? 'application/json' },
  });

function expectRefusal(answer: RawAnswer, code: string): void {
  expect(answer).toMatchObject({ status: 400, body: { error: code, issues: [{ path: [], code }] } });
  expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
}

describe('R-70 size', () => {
  it('has a limit for every route that takes a body', () => {
    const taking = t.service.routes.filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));
    expect(taking.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(bodyLimits).sort());
  });

  it.each(routesWithBody)('$path reads a body of $most bytes and refuses one byte more', async ({ path, most }) => {
    const whole = await post(path, jsonOf(most));
    expect(whole).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(codesOf(whole)).toContain('unrecognized_keys');
    expect(await post(path, jsonOf(most + 1))).toMatchObject({ status: 400, body: { error: 'body_too_large' } });
  });

  it.each(routesWithBody)('$path refuses a too large Content-Length before the body', async ({ path, most }) => {
    const connection = await connectRaw(t.url);
    connection.send(head('POST', path, `Content-Length: ${most + 1}\r\n`));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it.each(routesWithBody)('$path refuses an endless body and ends its connection', async ({ path, most }) => {
    const connection = await connectRaw(t.url);
    connection.send(head('POST', path, 'Transfer-Encoding: chunked\r\n'));
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let sent = 0; sent <= most; sent += 0x10000) connection.send(chunk);
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it("a Content-Length beyond any machine's memory is refused like any other", async () => {
    const connection = await connectRaw(t.url);
    connection.send(head('POST', '/v1/users', 'Content-Length: 9007199254740993\r\n'));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it('an unread body ends the connection: none of its bytes is read as the next request', async () => {
    const connection = await connectRaw(t.url);
    const inside = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    connection.send(`POST /v1/users HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    const answer = await connection.answer();
    expect(answer).toMatchObject({ status: 401, headers: { connection: 'close' } });
    connection.send(inside);
    await connection.closed;
    await expect(connection.answer()).rejects.toThrow('the connection ended after 0 bytes');
  });

  it('headers over 16 KiB are refused, and the connection ends', async () => {
    const connection = await connectRaw(t.url);
    connection.send(head('GET', '/v1/channels', `X-Long: ${'x'.repeat(16 * kibibyte)}\r\n`));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it('a request target over 16 KiB is refused, too', async () => {
    const connection = await connectRaw(t.url);
    connection.send(head('GET', `/v1/users/${'x'.repeat(17 * kibibyte)}`));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });
});

describe('R-103 bodies by client key', () => {
  const routes = t.service.routes
    .filter(({ access, method }) => access === 'client-or-server' && method === 'POST')
    .map(({ path }) => ({ path, most: (path === '/v1/events' ? 256 : 64) * kibibyte }));
  const key = async (): Promise<string> => (await t.newApp()).clientKey;
  const asClient = (key: string, path: string, raw: string): Promise<Response> =>
    t.request('POST', path, { key, raw, headers: { 'content-type': 'application/json' } });
  const headOf = (key: string, path: string, headers: string): string =>
    head('POST', path, headers).replace(t.app.serverKey, key);

  it('there are routes for them', () => expect(routes.length).toBeGreaterThanOrEqual(3));

  it.each(routes)('$path reads $most bytes and refuses one byte more', async ({ path, most }) => {
    const client = await key();
    expect(await asClient(client, path, jsonOf(most))).toMatchObject({ body: { error: 'validation_failed' } });
    const more = await asClient(client, path, jsonOf(most + 1));
    expect(more).toMatchObject({ status: 400, body: { error: 'body_too_large' } });
    expect(more.body.message).toBe(`The body is larger than ${most / kibibyte} KiB.`);
  });

  it.each(routes)('$path refuses a larger Content-Length before the body', async ({ path, most }) => {
    const connection = await connectRaw(t.url);
    connection.send(headOf(await key(), path, `Content-Length: ${most + 1}\r\n`));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it.each(routes)('$path ends a chunked body at its limit', async ({ path, most }) => {
    const connection = await connectRaw(t.url);
    connection.send(headOf(await key(), path, 'Transfer-Encoding: chunked\r\n'));
    for (let sent = 0; sent <= most; sent += 0x4000) connection.send(`4000\r\n${' '.repeat(0x4000)}\r\n`);
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  it('a route that takes no body takes no more of it', async () => {
    const connection = await connectRaw(t.url);
    const get = headOf(await key(), '/v1/config', `Content-Length: ${64 * kibibyte + 1}\r\n`);
    connection.send(get.replace('POST', 'GET'));
    expectRefusal(await connection.answer(), 'body_too_large');
    await connection.closed;
  });

  const full = jsonOf(256 * kibibyte);
  /** A key of an unlimited plan that has used its burst of 2 MiB, while the clock stands still. */
  const usedUp = async (): Promise<string> => {
    t.clock.hold(new Date('2026-11-21T10:15:30.000Z'));
    const client = await key();
    for (let i = 0; i < 8; i++) expect(await asClient(client, '/v1/events', full)).toMatchObject({ status: 400 });
    return client;
  };

  it('a burst of 2 MiB passes, then 1 MiB a second: waiting as told admits the next body', async () => {
    const client = await usedUp();
    for (let i = 0; i < 3; i++) {
      const refused = await asClient(client, '/v1/events', full);
      expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited', retry_after_ms: 250 } });
      expect(refused.headers.get('retry-after')).toBe('1');
      t.clock.advance(249);
      expect(await asClient(client, '/v1/events', full)).toMatchObject({ status: 429 });
      t.clock.advance(1);
      expect(await asClient(client, '/v1/events', full)).toMatchObject({ status: 400 });
    }
    t.clock.advance(60_000);
    for (let i = 0; i < 8; i++) expect(await asClient(client, '/v1/events', full)).toMatchObject({ status: 400 });
    expect(await asClient(client, '/v1/events', full)).toMatchObject({ status: 429 });
  });

  it('a chunked body counts as it arrives, and an announced one before it is read', async () => {
    const client = await usedUp();
    const chunked = await connectRaw(t.url);
    chunked.send(`${headOf(client, '/v1/events', 'Transfer-Encoding: chunked\r\n')}1\r\n{\r\n`);
    expect(await chunked.answer()).toMatchObject({ status: 429, headers: { connection: 'close' } });
    await chunked.closed;
    const announced = await connectRaw(t.url);
    announced.send(headOf(client, '/v1/devices', 'Content-Length: 1024\r\n'));
    expect(await announced.answer()).toMatchObject({ status: 429, body: { retry_after_ms: 1 } });
    await announced.closed;
  });

  it('is of each key alone: requests without a body, other keys and server keys go on', async () => {
    const client = await usedUp();
    expect(await t.request('GET', '/v1/config', { key: client })).toMatchObject({ status: 200 });
    expect(await asClient(await key(), '/v1/events', full)).toMatchObject({ status: 400 });
    for (let i = 0; i < 10; i++) expect(await post('/v1/events', full)).toMatchObject({ status: 400 });
  });
});

describe('R-70 time', () => {
  it('a body that does not arrive in time is refused on its connection, which then ends', async () => {
    const { url, app } = impatient;
    const connection = await connectRaw(url);
    const key = `Authorization: Bearer ${app.clientKey}\r\n`;
    connection.send(`POST /v1/devices HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 100\r\n\r\n{"platform":`);
    const answer = await connection.answer();
    expectRefusal(answer, 'invalid_json');
    // Scripts in browsers may read the reason.
    expect(answer.headers).toMatchObject({ connection: 'close', 'access-control-allow-origin': '*' });
    await connection.closed;
  });

  it('a slow body is refused, too: the deadline is for the whole body', async () => {
    const { url, app } = impatient;
    const connection = await connectRaw(url);
    connection.send(
      `POST /v1/devices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.clientKey}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const trickle = setInterval(() => connection.send('1\r\n \r\n'), 20);
    const answer = await connection.answer().finally(() => clearInterval(trickle));
    expectRefusal(answer, 'invalid_json');
    await connection.closed;
  });

  it.each(['GET /v1/channels HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'POST'])(
    'headers have a deadline: %j',
    async (start) => {
      const connection = await connectRaw(impatient.url);
      connection.send(start);
      expectRefusal(await connection.answer(), 'invalid_json');
      await connection.closed;
    },
  );

  it('a client that disconnects midway leaves nothing behind', async () => {
    const { url, app, request } = impatient;
    for (let i = 0; i < 20; i++) {
      const connection = await connectRaw(url);
      const key = `Authorization: Bearer ${app.clientKey}\r\n`;
      connection.send(`POST /v1/devices HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 100\r\n\r\n{`);
      connection.destroy();
    }
    expect(await request('GET', '/v1/config', { key: app.clientKey })).toMatchObject({ status: 200 });
  });
});

describe('R-70 depth', () => {
  const arrays = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

  it.each([
    ['arrays', arrays],
    ['objects', objects],
  ])('32 levels of %s are read, 33 are not', async (_what, nested) => {
    expect(await post('/v1/users', nested(32))).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(await post('/v1/users', nested(33))).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
  });

  it('a body of brackets alone is refused before it is parsed, on every route', async () => {
    for (const { path, most } of routesWithBody) {
      expect(await post(path, '['.repeat(most))).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
    }
  });

  it('brackets inside strings are text', async () => {
    const body = JSON.stringify({ external_id: '"[{'.repeat(60), first_name: `\\"${'['.repeat(40)}` });
    expect(await post('/v1/users', body)).toMatchObject({ status: 200 });
  });
});

describe('content types', () => {
  const body = JSON.stringify({ external_id: 'typed' });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"; odata=verbose',
    'APPLICATION/JSON',
    ' application/json ;',
  ])('%j is read', async (type) => {
    expect(await post('/v1/users', body, type)).toMatchObject({ status: 200 });
  });

  it('a missing content type is read as JSON', async () => {
    const request = `${head('POST', '/v1/users', `Content-Length: ${body.length}\r\n`)}${body}`;
    expect(await exchange(t.url, request)).toMatchObject({ status: 200 });
  });

  it.each([
    '',
    ';;;',
    'json',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/vnd.api+json',
    'application/octet-stream',
    'application/json, text/plain',
    '\u00ff/json',
  ])('R-70 %j is refused', async (type) => {
    const headers = `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`;
    expectRefusal(
      await exchange(t.url, Buffer.from(head('POST', '/v1/users', headers) + body, 'latin1')),
      'invalid_json',
    );
  });

  it('text/plain is read only on receipts, where a service worker sends it', async () => {
    for (const { path } of routesWithBody) {
      const answer = await post(path, '{"x":1}', 'text/plain;charset=UTF-8');
      expect(answer.body.error).toBe(path === '/v1/receipts' ? 'validation_failed' : 'invalid_json');
    }
  });

  it('bytes are UTF-8, whatever the type says', async () => {
    const bytes = Buffer.from('{"external_id":"zoé"}', 'latin1');
    expect(await post('/v1/users', new Uint8Array(bytes), 'application/json; charset=iso-8859-1')).toMatchObject({
      status: 400,
      body: { error: 'invalid_json' },
    });
  });

  it('a leading byte order mark is ignored, and a compressed body is refused', async () => {
    expect(await post('/v1/users', `\ufeff${body}`)).toMatchObject({ status: 200 });
    const twice = await post('/v1/users', `\ufeff\ufeff${body}`);
    expect(twice).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
    const headers = `Content-Encoding: gzip\r\nContent-Length: 4\r\n`;
    const gzip = Buffer.concat([Buffer.from(head('POST', '/v1/users', headers)), Buffer.from([0x1f, 0x8b, 8, 0])]);
    expectRefusal(await exchange(t.url, gzip), 'invalid_json');
  });
});

describe('the form of a body', () => {
  it.each(routesWithBody.filter(({ path }) => path !== bodyless))(
    '$path requires a body: an empty one is reported as missing, with any content type',
    async ({ path }) => {
      for (const type of ['application/json', 'text/plain', '']) {
        const answer = await exchange(t.url, head('POST', path, `Content-Type: ${type}\r\nContent-Length: 0\r\n`));
        expect(answer).toMatchObject({
          status: 400,
          body: { error: 'validation_failed', issues: [{ path: [], code: 'required' }] },
        });
      }
    },
  );

  it.each(routesWithBody)('$path refuses JSON that is not an object', async ({ path }) => {
    for (const raw of ['null', '[]', '"text"', '1', 'true']) {
      const answer = await post(path, raw);
      expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: [], code: 'invalid_type' }] } });
    }
  });

  it.each(['{', '{"a":1,}', "{'a':1}", '{"a":1} x', 'NaN', '{"a":01}', '{"a":"\n"}', '\u0000', 'undefined'])(
    '%j is not JSON',
    async (raw) => {
      expect(await post('/v1/users', raw)).toMatchObject({
        status: 400,
        body: { error: 'invalid_json', issues: [{ path: [], code: 'invalid_json' }] },
      });
    },
  );

  it('of a duplicate key the last value counts', async () => {
    const answer = await post('/v1/users', '{"external_id":"first","first_name":"A","external_id":"last"}');
    expect(answer).toMatchObject({ status: 200, body: { external_id: 'last', first_name: 'A' } });
  });

  it('GET and DELETE take no body: an empty object is allowed, and fields in it are unknown', async () => {
    const device = await t.registerDevice();
    for (const [method, path] of [
      ['GET', '/v1/messages'],
      ['GET', '/v1/channels'],
      ['DELETE', `/v1/devices/${device}`],
    ] as const) {
      const send = (raw: string) => exchange(t.url, `${head(method, path, `Content-Length: ${raw.length}\r\n`)}${raw}`);
      expect(await send('{}')).toMatchObject({ status: 200 });
      expect(await send('{"x":1}')).toMatchObject({
        status: 400,
        body: { issues: [{ path: ['x'], code: 'unrecognized_keys' }] },
      });
      expectRefusal(await send('hello'), 'invalid_json');
      const connection = await connectRaw(t.url);
      connection.send(head(method, path, `Content-Length: ${256 * kibibyte + 1}\r\n`));
      expectRefusal(await connection.answer(), 'body_too_large');
      await connection.closed;
    }
  });

  it('requests on one connection are separated by their lengths', async () => {
    const connection = await connectRaw(t.url);
    const get = head('GET', '/v1/messages', 'Content-Length: 2\r\n');
    const bad = head('POST', '/v1/users', 'Content-Length: 1\r\n');
    connection.send(`${get}{}${bad}{${head('GET', '/v1/channels')}`);
    expect(await connection.answer()).toMatchObject({ status: 200, body: { data: [] } });
    expect(await connection.answer()).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
    expect(await connection.answer()).toMatchObject({ status: 200, body: { channels: [{ id: 'webpush' }, {}, {}] } });
    connection.destroy();
  });
});

describe('R-71 values that would cause trouble later', () => {
  it.each([
    ['U+0000 in a value', '{"external_id":"a\\u0000b"}', ['external_id']],
    ['an unpaired surrogate in a value', '{"external_id":"a\\ud800b"}', ['external_id']],
    ['a low surrogate first', '{"external_id":"\\udc00\\ud800"}', ['external_id']],
    ['U+0000 deep inside', '{"external_id":"a","properties":{"a":{"b":["\\u0000"]}}}', ['properties', 'a', 'b', 0]],
    ['U+0000 in a key', '{"external_id":"a","properties":{"a\\u0000b":1}}', ['properties']],
    ['a surrogate in an unknown key', '{"external_id":"a","\\ud800":1}', []],
    ['a number beyond every double', '{"external_id":"a","properties":{"n":1e400}}', ['properties', 'n']],
  ])('%s', async (_what, raw, path) => {
    const { status, body } = await post('/v1/users', raw);
    expect(status).toBe(400);
    expect(body.issues[0].path).toEqual(path);
  });

  it.each(routesWithBody)('U+0000 in any field of $path is refused with the name of the field', async ({ path }) => {
    for (const field of ['token', 'external_id', 'platform', 'name', 'content', 'unknown']) {
      const { status, body } = await post(path, `{"${field}":"\\u0000"}`);
      expect(status).toBe(400);
      expect(body.issues).toEqual([
        { path: [field], code: 'invalid_format', message: 'A string holds U+0000 or an unpaired surrogate.' },
      ]);
    }
  });

  it('a surrogate pair counts as one character', async () => {
    expect(await post('/v1/users', '{"external_id":"\\ud83d\\udd14"}')).toMatchObject({
      status: 200,
      body: { external_id: '🔔' },
    });
  });

  it('minus zero is zero, and a number with many digits is the nearest double', async () => {
    const { body } = await post(
      '/v1/users',
      '{"external_id":"n","properties":{"zero":-0,"large":123456789012345678901234567890}}',
    );
    expect(Object.is(body.properties.zero, 0)).toBe(true);
    expect(body.properties.large).toBe(1.2345678901234568e29);
  });

  it.each(['-1', '0', '201', '1.5', '1e2', '99999999999999999999', '٣', ' 5', 'NaN', ''])('limit=%s', async (limit) => {
    for (const path of ['/v1/messages', '/v1/devices', '/v1/properties']) {
      const { status, body } = await t.server.get(`${path}?limit=${encodeURIComponent(limit)}`);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: ['limit'] }]);
    }
  });
});

describe('R-72 names that every JavaScript object has', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf', 'length'];

  it.each(routesWithBody)('are unknown fields of $path like any other', async ({ path }) => {
    for (const name of names) {
      const { status, body } = await post(path, `{"${name}":{"polluted":1}}`);
      expect(status).toBe(400);
      expect(body.issues).toContainEqual(expect.objectContaining({ path: [name], code: 'unrecognized_keys' }));
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('are unknown query parameters like any other', async () => {
    for (const name of names) {
      const { status, body } = await t.server.get(`/v1/messages?${name}=1`);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: [name], code: 'unrecognized_keys' }]);
    }
  });

  it('are ordinary keys of properties and of metadata, stored and returned', async () => {
    const pairs = names.map((name) => `"${name}":"${name}"`).join(',');
    const properties = JSON.parse(`{${pairs}}`);
    const user = await post('/v1/users', `{"external_id":"odd","properties":{${pairs}}}`);
    expect(Object.entries(user.body.properties).sort()).toEqual(Object.entries(properties).sort());
    const message = await post(
      '/v1/messages',
      `{"audience":{"device_ids":["x"]},"content":{"title":"a"},"metadata":{${pairs}}}`,
    );
    const { body } = await t.server.get(`/v1/messages/${message.body.id}`);
    expect(Object.entries(body.metadata)).toEqual(Object.entries(properties));
  });
});

describe('query parameters', () => {
  const strict = t.service.routes.filter(({ path }) => path.startsWith('/v1/') && path !== '/v1/r/:token');
  const addressOf = (path: string): string => path.replace(/:[a-z_]+/, 'x');

  it.each(strict)('$method $path refuses one that it does not know', async ({ method, path }) => {
    const body = method === 'POST' ? { body: {} } : {};
    const range = path.startsWith('/v1/reports/') ? 'from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z&' : '';
    const person = path === '/v1/explain' ? 'external_id=ada&' : '';
    const answer = await t.request(method, `${addressOf(path)}?${range}${person}unknown=1&also`, {
      key: t.app.serverKey,
      ...body,
    });
    expect(answer.status).toBe(400);
    expect(answer.body.issues).toEqual([
      expect.objectContaining({ path: ['unknown'], code: 'unrecognized_keys' }),
      expect.objectContaining({ path: ['also'], code: 'unrecognized_keys' }),
    ]);
  });

  it.each(strict)('$method $path refuses one that is given twice', async ({ method, path }) => {
    const body = method === 'POST' ? { body: {} } : {};
    const answer = await t.request(method, `${addressOf(path)}?limit=1&limit=1`, { key: t.app.serverKey, ...body });
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ['limit'], code: 'invalid_value' }] } });
  });

  it.each([
    ['%zz', 'external_id=%zz', 'external_id'],
    ['bytes that are not UTF-8', 'external_id=%ff', 'external_id'],
    ['U+0000', 'external_id=%00', 'external_id'],
    ['a broken name', '%ff=1', '%ff'],
  ])('refuses %s', async (_what, query, name) => {
    const { status, body } = await t.server.get(`/v1/devices?${query}`);
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: [name], code: 'invalid_format' }]);
  });

  it('are form-encoded: a plus is a space, and every character can be written', async () => {
    for (const [externalId, query] of [
      ['a b', 'a+b'],
      ['a+b', 'a%2Bb'],
      ['ü&=?/\ufffd', encodeURIComponent('ü&=?/\ufffd')],
    ]) {
      const device = await t.registerDevice();
      await t.server.post('/v1/users', { external_id: externalId, device_id: device });
      const { body } = await t.server.get(`/v1/devices?&external_id=${query}&`);
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual([device]);
    }
  });
});

describe('requests that are hardly HTTP', () => {
  it.each([
    ['two lengths', `POST /v1/receipts HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    [
      'a length and chunks',
      `POST /v1/receipts HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
    ['a negative length', `POST /v1/receipts HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}`],
    ['a length that is no number', `POST /v1/receipts HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n{}`],
    ['an unknown transfer coding', `POST /v1/receipts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}`],
    ['an unknown method', 'FETCH /v1/channels HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/3.7', 'GET /v1/channels HTTP/3.7\r\nHost: x\r\n\r\n'],
    ['TLS', Buffer.from('160301020001', 'hex')],
    ['a space in the address', 'GET /v1/ channels HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['bytes in the address', Buffer.from('GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n', 'latin1')],
    ['a header without a name', 'GET /v1/channels HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['a control character in a header', 'GET /v1/channels HTTP/1.1\r\nHost: x\r\nX-Odd: a\u0000b\r\n\r\n'],
  ])('%s is refused, and the connection ends', async (_what, bytes) => {
    const connection = await connectRaw(t.url);
    connection.send(bytes);
    expectRefusal(await connection.answer(), 'invalid_json');
    await connection.closed;
  });

  it('a chunk without a length is refused while the body is read', async () => {
    const connection = await connectRaw(t.url);
    connection.send('POST /v1/receipts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n');
    expectRefusal(await connection.answer(), 'invalid_json');
    await connection.closed;
  });

  it.each([
    ['no Host', 'GET /v1/channels HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET /v1/channels HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ])('%s: RFC 9112 requires exactly one', async (_what, request) => {
    expectRefusal(await exchange(t.url, request), 'invalid_json');
  });

  it.each([
    ['HTTP/1.0', 'GET /v1/channels HTTP/1.0\r\n\r\n'],
    ['the absolute form of the address', 'GET http://x/v1/channels HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an encoded letter in the address', 'GET /v1/chan%6eels HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'an upgrade that nobody offers',
      'GET /v1/channels HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['an expectation that nobody knows', 'GET /v1/channels HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n'],
  ])('%s is served', async (_what, request) => {
    const answer = await exchange(t.url, request);
    expect(answer).toMatchObject({ status: 200, body: { channels: [{ id: 'webpush' }, {}, {}] } });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*' });
  });

  it('a client that waits for 100 Continue gets it', async () => {
    const connection = await connectRaw(t.url);
    const body = '{"external_id":"patient"}';
    connection.send(head('POST', '/v1/users', `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n`));
    expect(await connection.answer()).toMatchObject({ status: 100 });
    connection.send(body);
    expect(await connection.answer()).toMatchObject({ status: 200, body: { external_id: 'patient' } });
    connection.destroy();
  });
});
