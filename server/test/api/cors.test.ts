import { describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { type RequestOptions, setup } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ workers: false, reachDatabase: (url) => gate.reach(url) });
const suspended = await t.newApp();
await updateAppSuspension(t.sql, t.clock, suspended.id, true);

const isOpen = ({ access, path }: { access: string; path: string }): boolean =>
  access !== 'server' && path.startsWith('/v1/');
const routes = t.service.routes;
const openRoutes = routes.filter(isOpen);
const closedRoutes = routes.filter((route) => !isOpen(route));
const openPaths = [...new Set(openRoutes.map(({ path }) => path))];
const closedPaths = [...new Set(routes.map(({ path }) => path))].filter((path) => !openPaths.includes(path));

const origin = 'https://shop.example';
const addressOf = (path: string): string => path.replace(/:[a-z_]+/, 'x');
const bodyOf = (method: string): RequestOptions => (method === 'POST' ? { body: {} } : {});
const ask = (method: string, address: string, options: RequestOptions = {}) =>
  t.request(method, address, { ...options, ...bodyOf(method), headers: { origin, ...options.headers } });
const corsOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

const onAnswers = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'retry-after, ratelimit, ratelimit-policy, x-request-id',
};

describe('open endpoints answer any browser origin, without credentials', () => {
  it('are the endpoints for client keys, and the public ones', () => {
    expect(openRoutes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'DELETE /v1/devices/:id',
      'GET /v1/channels',
      'GET /v1/config',
      'GET /v1/r/:token',
      'POST /v1/devices',
      'POST /v1/events',
      'POST /v1/identify',
      'POST /v1/receipts',
    ]);
  });

  it.each(openRoutes)('$method $path, on every status', async ({ method, path }) => {
    const answers = new Map<string, Headers>();
    for (const key of [null, 'sk_live_short', suspended.clientKey, t.app.clientKey, t.app.serverKey]) {
      for (const query of ['', '?unknown=1']) {
        for (const asked of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
          const { status, headers } = await ask(asked, addressOf(path) + query, { key });
          answers.set(`${asked} ${status}`, headers);
        }
      }
    }
    for (const headers of answers.values()) expect(corsOf(headers)).toEqual(onAnswers);
    // Two routes are public and know no such token, so they answer every caller with one status.
    const statuses = new Set([...answers.keys()].map((answer) => answer.split(' ')[1]));
    if (path !== '/v1/receipts' && path !== '/v1/r/:token') expect(statuses.size).toBeGreaterThan(1);
  });

  it.each([
    ['401', null, '/v1/config', 401],
    ['403', suspended.clientKey, '/v1/config', 403],
    ['400', t.app.clientKey, '/v1/config?unknown=1', 400],
    ['404', t.app.clientKey, '/v1/r/unsigned', 404],
    ['200', t.app.clientKey, '/v1/config', 200],
  ])('%s is one of them', async (_status, key, address, status) => {
    const answer = await ask('GET', address, { key });
    expect(answer.status).toBe(status);
    expect(corsOf(answer.headers)).toEqual(onAnswers);
  });

  it('also with 404 for an id that cannot be decoded, and 400 for a body that is not JSON', async () => {
    const deleted = await ask('DELETE', '/v1/devices/%zz', { key: t.app.clientKey });
    expect(deleted.status).toBe(404);
    expect(corsOf(deleted.headers)).toEqual(onAnswers);
    const posted = await t.request('POST', '/v1/devices', { key: t.app.clientKey, raw: '{', headers: { origin } });
    expect(posted.status).toBe(400);
    expect(corsOf(posted.headers)).toEqual(onAnswers);
  });

  it('also with 503 while the database is unreachable', async () => {
    const app = await t.newApp();
    await gate.shut();
    const answer = await ask('GET', '/v1/config', { key: app.clientKey });
    await gate.open();
    expect(answer.status).toBe(503);
    expect(corsOf(answer.headers)).toEqual(onAnswers);
  });

  it('an answer is the same with any origin and with none', async () => {
    for (const headers of [{}, { origin: 'null' }, { origin: 'http://localhost:3000' }]) {
      const answer = await t.request('GET', '/v1/channels', { headers });
      expect(corsOf(answer.headers)).toEqual(onAnswers);
    }
  });
});

describe('server-only endpoints and pages send no CORS headers', () => {
  it.each(closedRoutes)('$method $path, on no status', async ({ method, path }) => {
    for (const key of [null, 'sk_live_short', suspended.serverKey, t.app.clientKey, t.app.serverKey]) {
      for (const query of ['', '?unknown=1']) {
        const { headers } = await ask(method, addressOf(path) + query, { key });
        expect(corsOf(headers)).toEqual({});
      }
    }
  });

  it('an unknown route, on no method', async () => {
    for (const [method, path] of [
      ['GET', '/v1/nothing'],
      ['PUT', '/v1/devices'],
      ['GET', '/v1/users/%zz'],
      ['GET', '/'],
    ] as const) {
      expect(corsOf((await ask(method, path, { key: t.app.serverKey })).headers)).toEqual({});
    }
  });
});

describe('preflights', () => {
  const onPreflights = {
    ...onAnswers,
    'access-control-allow-methods': 'GET, POST, DELETE',
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-max-age': '7200',
  };
  const preflight = (path: string) =>
    t.request('OPTIONS', addressOf(path), {
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
      },
    });

  it('of open endpoints: 200, empty, without a key and without the database', async () => {
    await gate.shut();
    const answers = await Promise.all(openPaths.map(preflight));
    await gate.open();
    expect(openPaths).toContain('/v1/devices');
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, body: '' });
      expect(corsOf(answer.headers)).toEqual(onPreflights);
      expect(answer.headers.get('content-length')).toBe('0');
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9A-Za-z]{22}$/);
    }
  });

  it.each(closedPaths)('of %s: none', async (path) => {
    const answer = await preflight(path);
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(corsOf(answer.headers)).toEqual({});
  });
});
