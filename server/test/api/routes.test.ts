import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey, revokeKey, rotateKey } from '../../src/teams/apps/manage-keys.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { connectRaw, exchange } from '../raw-http.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });
const routes = t.service.routes.map(({ method, path, access }) => ({
  name: `${method} ${path}`,
  method,
  path,
  access,
}));

interface Expectation {
  readonly access: 'server' | 'client-or-server' | 'public';
  /** An address that answers an allowed caller with `status`; made again for each request. */
  readonly address: () => Promise<string> | string;
  readonly body?: () => unknown;
  readonly status: number;
  /** The status for another app's server key; by default the same. */
  readonly foreign?: number;
}

const sendMessage = async (): Promise<string> => {
  const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
  return body.id;
};
const scheduleMessage = async (): Promise<string> => {
  const send_at = new Date(t.clock.nowMs() + 3_600_000).toISOString();
  const request = { audience: { all: true }, content: { title: 'Sale' }, send_at };
  return (await t.server.post('/v1/messages', request)).body.id;
};
let users = 0;
const makeUser = async (): Promise<string> => {
  const externalId = `u-${++users}`;
  await t.server.post('/v1/users', { external_id: externalId });
  return externalId;
};
let segments = 0;
const segmentFields = () => ({ name: `s-${++segments}`, filter: { field: 'country', op: 'eq', value: 'DE' } });
const makeSegment = async (): Promise<string> => (await t.server.post('/v1/segments', segmentFields())).body.id;
const identified = await t.registerDevice();
const unsigned = { token: 'A'.repeat(47), event: 'displayed' };

// Every route, the parameters of a good call, and its status. A route that is missing here fails
// the suite.
const expectations: Readonly<Record<string, Expectation>> = {
  'POST /v1/messages': {
    access: 'server',
    address: () => '/v1/messages',
    body: () => ({ audience: { all: true }, content: { title: 'Sale' } }),
    status: 200,
  },
  'GET /v1/messages': { access: 'server', address: () => '/v1/messages', status: 200 },
  'GET /v1/messages/:id': {
    access: 'server',
    address: async () => `/v1/messages/${await sendMessage()}`,
    status: 200,
    foreign: 404,
  },
  'GET /v1/messages/:id/deliveries': {
    access: 'server',
    address: async () => `/v1/messages/${await sendMessage()}/deliveries`,
    status: 200,
    foreign: 404,
  },
  'POST /v1/messages/:id/cancel': {
    access: 'server',
    address: async () => `/v1/messages/${await scheduleMessage()}/cancel`,
    status: 200,
    foreign: 404,
  },
  'GET /v1/explain': { access: 'server', address: () => '/v1/explain?external_id=u-matrix', status: 200 },
  'POST /v1/users': {
    access: 'server',
    address: () => '/v1/users',
    body: () => ({ external_id: 'u-matrix' }),
    status: 200,
  },
  'GET /v1/users/:external_id': {
    access: 'server',
    address: async () => `/v1/users/${await makeUser()}`,
    status: 200,
    foreign: 404,
  },
  'DELETE /v1/users/:external_id': {
    access: 'server',
    address: async () => `/v1/users/${await makeUser()}`,
    status: 200,
    foreign: 404,
  },
  'GET /v1/properties': { access: 'server', address: () => '/v1/properties', status: 200 },
  'POST /v1/segments': { access: 'server', address: () => '/v1/segments', body: segmentFields, status: 200 },
  'POST /v1/segments/preview': {
    access: 'server',
    address: () => '/v1/segments/preview',
    body: () => ({ audience: { all: true } }),
    status: 200,
  },
  'GET /v1/segments': { access: 'server', address: () => '/v1/segments', status: 200 },
  'GET /v1/segments/:id': {
    access: 'server',
    address: async () => `/v1/segments/${await makeSegment()}`,
    status: 200,
    foreign: 404,
  },
  'PUT /v1/segments/:id': {
    access: 'server',
    address: async () => `/v1/segments/${await makeSegment()}`,
    body: segmentFields,
    status: 200,
    foreign: 404,
  },
  'DELETE /v1/segments/:id': {
    access: 'server',
    address: async () => `/v1/segments/${await makeSegment()}`,
    status: 200,
    foreign: 404,
  },
  'POST /v1/devices': {
    access: 'client-or-server',
    address: () => '/v1/devices',
    body: () => ({ platform: 'web', token: t.pushSubscription() }),
    status: 200,
  },
  'POST /v1/events': {
    access: 'client-or-server',
    address: () => '/v1/events',
    body: () => ({ name: 'article_read' }),
    status: 200,
  },
  'GET /v1/devices': { access: 'server', address: () => '/v1/devices', status: 200 },
  'DELETE /v1/devices/:id': {
    access: 'client-or-server',
    address: async () => `/v1/devices/${await t.registerDevice()}`,
    status: 200,
    foreign: 404,
  },
  'POST /v1/identify': {
    access: 'client-or-server',
    address: () => '/v1/identify',
    body: () => ({ device_id: identified, external_id: 'u-matrix' }),
    status: 200,
    foreign: 404,
  },
  'GET /v1/channels': { access: 'public', address: () => '/v1/channels', status: 200 },
  ...Object.fromEntries(
    ['revenue', 'engagement', 'devices', 'events'].map((report) => [
      `GET /v1/reports/${report}`,
      {
        access: 'server' as const,
        address: () => `/v1/reports/${report}?from=2026-11-01T00:00Z&to=2026-12-01T00:00Z`,
        status: 200,
      },
    ]),
  ),
  'GET /v1/config': { access: 'client-or-server', address: () => '/v1/config', status: 200 },
  // Without a signed token these two routes treat all callers alike; test/api/receipts.test.ts has
  // the tokens.
  'POST /v1/receipts': { access: 'public', address: () => '/v1/receipts', body: () => unsigned, status: 404 },
  'GET /v1/r/:token': { access: 'public', address: () => `/v1/r/${'A'.repeat(47)}`, status: 404 },
  'GET /console-openapi.json': { access: 'public', address: () => '/console-openapi.json', status: 200 },
  'GET /openapi.json': { access: 'public', address: () => '/openapi.json', status: 200 },
  'GET /healthz': { access: 'public', address: () => '/healthz', status: 200 },
  'GET /readyz': { access: 'public', address: () => '/readyz', status: 200 },
  'GET /': { access: 'public', address: () => '/', status: 302 },
  'GET /base.css': { access: 'public', address: () => '/base.css', status: 200 },
  'GET /console': { access: 'public', address: () => '/console', status: 200 },
  'GET /console/*': { access: 'public', address: () => '/console/sign-in', status: 200 },
  // There is no app Demo here; test/api/demo.test.ts has one.
  'GET /demo': { access: 'public', address: () => '/demo', status: 404 },
  'GET /demo/:file': { access: 'public', address: () => '/demo/demo.css', status: 404 },
};

/** The kinds of caller: the key, and the answer of a route that takes keys. */
type Kind = { readonly key: string | null; readonly answer: string | ((expected: Expectation) => string) };
const kinds = new Map<string, Kind>();

beforeAll(async () => {
  const deps = { sql: t.sql, clock: t.clock, by: t.by };
  const other: TestApp = await t.newApp();
  const suspended = await t.newApp();
  await updateAppSuspension(t.sql, t.clock, suspended.id, true);
  const make = () => createKey(deps, { appId: t.app.id, scope: 'server', name: 'Backend' });
  const [revoked, expired] = [await make(), await make()];
  await revokeKey(deps, revoked.id);
  await rotateKey(deps, { id: expired.id, overlapHours: 0 });

  const { serverKey, clientKey } = t.app;
  const lastButOne = serverKey.at(-2) === 'x' ? 'y' : 'x';
  const named: Record<string, Kind> = {
    'no key': { key: null, answer: '401 missing_key' },
    'a malformed key': { key: 'sk_live_short', answer: '401 invalid_key' },
    'a key with a wrong checksum': {
      key: serverKey.slice(0, -2) + lastButOne + serverKey.slice(-1),
      answer: '401 invalid_key',
    },
    // The contract's test vectors: well-formed, and never real keys.
    'an unknown server key': {
      key: 'sk_live_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2L6EQX',
      answer: '401 invalid_key',
    },
    'an unknown client key': {
      key: 'ck_live_7cMxemzhJjkW31yzTx5H07wJF2A2uBEOEec26ubYMsJ045q4F',
      answer: '401 invalid_key',
    },
    'a revoked key': { key: revoked.text, answer: '401 invalid_key' },
    'an expired key': { key: expired.text, answer: '401 invalid_key' },
    "a suspended app's server key": { key: suspended.serverKey, answer: '403 app_suspended' },
    "a suspended app's client key": { key: suspended.clientKey, answer: '403 app_suspended' },
    'a client key': {
      key: clientKey,
      answer: ({ access, status }) => (access === 'server' ? '403 wrong_key_scope' : String(status)),
    },
    'a server key': { key: serverKey, answer: ({ status }) => String(status) },
    "another app's server key": { key: other.serverKey, answer: ({ status, foreign }) => String(foreign ?? status) },
  };
  for (const [name, kind] of Object.entries(named)) kinds.set(name, kind);
});

describe('R-42 the scope matrix', () => {
  it('has an entry for every route, and for nothing else', () => {
    expect(routes.map(({ name, access }) => [name, access]).sort()).toEqual(
      Object.entries(expectations)
        .map(([name, { access }]) => [name, access])
        .sort(),
    );
  });

  it('covers everything that is served: routes, their HEADs and their preflights', () => {
    const expected = new Set(routes.map(({ name }) => name));
    for (const { method, path, access } of routes) {
      if (method === 'GET') expected.add(`HEAD ${path}`);
      if (access !== 'server' && path.startsWith('/v1/')) expected.add(`OPTIONS ${path}`);
    }
    // The routes of the console's API have a matrix of their own (test/console/roles.test.ts), and
    // the metrics, which take no key, a test of their own (test/console/metrics.test.ts).
    const served = registeredRoutes(t.service.server.printRoutes({ commonPrefix: false }))
      .filter((name) => !/ \/(?:console\/api\/|metrics$)/.test(name))
      // Fastify prints a wildcard without the slash before it.
      .map((name) => name.replace(/ \/console\*$/, ' /console/*'));
    expect(served.sort()).toEqual([...expected].sort());
  });

  it.each(routes)('$name answers each kind of key as its access says', async ({ name, method }) => {
    const expected = expectations[name];
    if (!expected) throw new Error(`no expectation for ${name}`);
    const wanted: Record<string, string> = {};
    const answered: Record<string, string> = {};
    for (const [kind, { key, answer }] of kinds) {
      const isOpen = expected.access === 'public';
      const status = typeof answer === 'string' ? answer : answer(expected);
      wanted[kind] = isOpen ? String(expected.status) : status;
      for (const asked of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
        const response = await t.request(asked, await expected.address(), {
          key,
          ...(expected.body && { body: expected.body() }),
        });
        const error = response.body?.error;
        const isKeyError = response.status === 401 || response.status === 403;
        // The answer to HEAD has no body for the code, so only the status is compared.
        const code = isKeyError && asked !== 'HEAD' ? ` ${error}` : '';
        if (asked === 'HEAD') expect(`HEAD ${response.status}`).toBe(`HEAD ${wanted[kind].slice(0, 3)}`);
        else answered[kind] = `${response.status}${code}`;
      }
    }
    expect(answered).toEqual(wanted);
  });
});

describe('R-42 the forms of a key', () => {
  const { serverKey } = t.app;
  /** The forms of a good server key, and whether a route that takes keys accepts each. */
  const forms: readonly (readonly [form: string, headers: string, query: string, isAccepted: boolean])[] = [
    ['in the usual form', `Authorization: Bearer ${serverKey}\r\n`, '', true],
    ['with a lowercase bearer', `Authorization: bearer ${serverKey}\r\n`, '', true],
    ['with two spaces', `Authorization: Bearer  ${serverKey}\r\n`, '', false],
    ['in two headers', `Authorization: Bearer ${serverKey}\r\n`.repeat(2), '', false],
    ['as Basic', `Authorization: Basic ${Buffer.from(`${serverKey}:`).toString('base64')}\r\n`, '', false],
    ['in the query', '', `key=${serverKey}`, false],
    ['in a cookie', `Cookie: key=${serverKey}\r\n`, '', false],
  ];

  it.each(routes)('$name accepts only a header with Bearer, a space and the key', async ({ name, method, access }) => {
    const expected = expectations[name];
    if (!expected) throw new Error(`no expectation for ${name}`);
    const wanted: Record<string, string> = {};
    const answered: Record<string, string> = {};
    for (const [form, headers, query, isAccepted] of forms) {
      const address = await expected.address();
      const target = query === '' ? address : `${address}${address.includes('?') ? '&' : '?'}${query}`;
      const body = expected.body ? JSON.stringify(expected.body()) : '';
      const length = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
      const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers}${body === '' ? '' : length}`;
      const answer = await exchange(t.url, `${head}\r\n${body}`);
      answered[form] = answer.status === 401 ? `401 ${answer.body.error}` : String(answer.status);
      // On a public route, a key in the query is a parameter that some routes do not know.
      const isUnknownParameter = access === 'public' && query !== '' && answer.status === 400;
      if (isUnknownParameter) expect(answer.body.issues).toMatchObject([{ path: ['key'], code: 'unrecognized_keys' }]);
      const isRefused = access !== 'public' && !isAccepted;
      wanted[form] = isRefused ? '401 missing_key' : isUnknownParameter ? '400' : String(expected.status);
    }
    expect(answered).toEqual(wanted);
  });

  afterAll(() => {
    const cells = `${routes.length * kinds.size} cells of keys, ${routes.length * forms.length} of forms`;
    process.stdout.write(`R-42: ${routes.length} routes, ${cells}\n`);
  });
});

describe('404 for unknown routes', () => {
  const words =
    /^(?:There is no path \S+ here|This path takes [A-Z]+(?:, [A-Z]+)*, and no [A-Z]+|There is no such resource)\.$/;
  it.each([
    ['an unknown path', 'GET', '/v1/nothing'],
    ['a path below a route', 'GET', '/v1/channels/webpush'],
    ['another letter case', 'GET', '/V1/channels'],
    ['a doubled slash', 'GET', '//v1/channels'],
    ['a trailing slash', 'GET', '/v1/channels/'],
    ['a semicolon', 'GET', '/v1/channels;a=1'],
    ['a wrong method of a public path', 'POST', '/v1/channels'],
    ['a wrong method of a keyed path', 'PUT', '/v1/messages'],
    ['a method that only an open path of the same form has', 'DELETE', '/v1/messages/msg_02y9GVDsTuJUi2BOoCH5G3'],
    ['PATCH', 'PATCH', '/v1/devices'],
    ['a preflight of a server-only path', 'OPTIONS', '/v1/messages'],
    ['a method of WebDAV', 'PROPFIND', '/v1/messages'],
    ['broken percent-encoding', 'GET', '/v1/users/%zz'],
    ['percent-encoding that is not UTF-8', 'GET', '/v1/users/%ff'],
    ['a path of 15,000 characters', 'GET', `/v1/${'x'.repeat(15_000)}`],
  ])('%s, before any key is looked at', async (_what, method, path) => {
    for (const key of [null, 'sk_live_short', t.app.clientKey, t.app.serverKey]) {
      const { status, headers, body } = await t.request(method, path, { key });
      expect({ status, body: { ...body, request_id: '' } }).toEqual({
        status: 404,
        body: { error: 'not_found', message: expect.stringMatching(words), request_id: '' },
      });
      expect(body.request_id).toBe(headers.get('x-request-id'));
    }
  });

  // fetch refuses to send these methods; a socket does not.
  it.each(['TRACE', 'CONNECT'])('%s', async (method) => {
    const answer = await exchange(t.url, `${method} /v1/channels HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });

  it('and 404 for an identifier of any length or alphabet, with a good key', async () => {
    const ids = [
      'x'.repeat(10_000),
      '%00',
      '%E2%82%AC'.repeat(256),
      'msg_%2F..%2F',
      '%20',
      'msg_',
      '..%2f..%2fhealthz',
    ];
    for (const id of ids) {
      for (const path of [`/v1/messages/${id}`, `/v1/messages/${id}/deliveries`, `/v1/users/${id}`]) {
        expect(await t.server.get(path)).toMatchObject({ status: 404, body: { error: 'not_found' } });
        expect(await t.request('GET', path)).toMatchObject({ status: 401 });
      }
      expect(await t.client.delete(`/v1/devices/${id}`)).toMatchObject({ status: 404 });
    }
  });
});

describe('HEAD', () => {
  it.each(routes.filter(({ method }) => method === 'GET'))(
    '$path answers like GET, without a body',
    async ({ name }) => {
      const expected = expectations[name];
      if (!expected) throw new Error(`no expectation for ${name}`);
      const address = await expected.address();
      const request = `${address} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${t.app.serverKey}\r\n\r\n`;
      const connection = await connectRaw(t.url);
      connection.send(`HEAD ${request}`);
      const head = await connection.answer({ isHead: true });
      // On the same connection: an extra byte would be read as the beginning of this answer.
      connection.send(`GET ${request}`);
      const get = await connection.answer();
      connection.destroy();
      expect(head.status).toBe(get.status);
      expect(comparable(head.headers)).toEqual(comparable(get.headers));
      expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(get.text));
    },
  );
});

function comparable(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { 'x-request-id': id, date: _date, ...rest } = headers;
  expect(id).toMatch(/^req_[0-9A-Za-z]{22}$/);
  return rest;
}

/** `GET /path` for every line of Fastify's tree, which indents four characters per level. */
function registeredRoutes(tree: string): string[] {
  const found: string[] = [];
  const stack: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^([│ ]*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line);
    if (!match) continue;
    const [, indent = '', part = '', methods] = match;
    const depth = indent.length / 4;
    stack.length = depth;
    stack.push((stack[depth - 1] ?? '') + part);
    for (const method of methods?.split(', ') ?? []) found.push(`${method} ${stack[depth]}`);
  }
  return found.sort();
}
