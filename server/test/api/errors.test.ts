import { openPool, type Sql } from '@carillon/postgres';
import { describe, expect, inject, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { type ApiErrorCode, apiErrors, isConsoleError } from '../../src/ground/http/api-error.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { issueCodes } from '../../src/ground/values/issue.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { untilLockWaits } from '../lock-waits.ts';
import { type Response, setup, unknownId } from '../setup.ts';

const gate = createDatabaseGate();
const lines: string[] = [];
const t = await setup({
  workers: false,
  environment: { LOG_LEVEL: 'trace' },
  logTo: { write: (line) => void lines.push(line) },
  reachDatabase: (url) => gate.reach(url),
});

/**
 * Status, `error`, and the fields of the body besides `error`, `message` and `request_id` (contract
 * 2).
 */
const table: readonly (readonly [number, string, readonly string[]])[] = [
  [400, 'validation_failed', ['issues']],
  [400, 'invalid_json', ['issues']],
  [400, 'body_too_large', ['issues']],
  [401, 'missing_key', []],
  [401, 'invalid_key', []],
  [403, 'app_suspended', []],
  [403, 'wrong_key_scope', []],
  [403, 'identity_check_failed', []],
  [404, 'not_found', []],
  [429, 'rate_limited', ['retry_after_ms']],
  [429, 'quota_exceeded', ['quota', 'upgrade']],
  [500, 'internal_error', []],
  [503, 'unavailable', []],
];

const seen = new Set<string>();

/** Checks the shape that every error has. */
function expectError({ status, headers, body }: Response, code: string): void {
  const [wantedStatus, , extra] = table.find(([, error]) => error === code) ?? [0, '', []];
  expect({ status, error: body.error }).toEqual({ status: wantedStatus, error: code });
  expect(Object.keys(body)).toEqual(['error', 'message', ...extra, 'request_id']);
  expect(body.message).toMatch(/^\S.*[^\s][.>]$/);
  expect(body.request_id).toMatch(/^req_[0-9A-Za-z]{22}$/);
  expect(headers.get('x-request-id')).toBe(body.request_id);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('retry-after')).toBe(['unavailable', 'rate_limited'].includes(code) ? '1' : null);
  seen.add(code);
  if (!body.issues) return;
  expect(body.issues.length).toBeGreaterThan(0);
  for (const issue of body.issues) {
    const { path, code: issueCode, message, allowed, limit, ...more } = issue;
    expect(more).toEqual({});
    expect(issueCodes).toContain(issueCode);
    expect(message).toMatch(/\S/);
    for (const part of path) expect(['string', 'number']).toContain(typeof part);
    if ('allowed' in issue) expect(allowed).toBeInstanceOf(Array);
    if ('limit' in issue) expect(['string', 'number']).toContain(typeof limit);
  }
}

/** The log line about a request. */
function logged(id: string): Record<string, unknown> & { err?: { message: string; stack: string } } {
  const about = lines.map((line) => JSON.parse(line)).filter((line) => line.request_id === id);
  expect(about).toHaveLength(1);
  return about[0];
}

describe('R-81 every error has the same form', () => {
  const content = { title: 'Sale' };
  const oversize = 'x'.repeat(300 * 1024);

  it('400', async () => {
    expectError(await t.server.get('/v1/messages?limit=0'), 'validation_failed');
    expectError(await t.server.post('/v1/messages', { audience: {}, content: {}, name: 5 }), 'validation_failed');
    expectError(await t.request('POST', '/v1/users', { key: t.app.serverKey, raw: '{' }), 'invalid_json');
    expectError(await t.request('POST', '/v1/users', { key: t.app.serverKey, raw: oversize }), 'body_too_large');
    const headers = { 'x-long': 'x'.repeat(17 * 1024) };
    expectError(await t.request('GET', '/v1/channels', { headers }), 'body_too_large');
  });

  it('401 and 403', async () => {
    expectError(await t.request('GET', '/v1/messages'), 'missing_key');
    expectError(await t.request('GET', '/v1/messages', { key: 'nonsense' }), 'invalid_key');
    expectError(await t.client.get('/v1/messages'), 'wrong_key_scope');
    const app = await t.newApp();
    await updateAppSuspension(t.sql, t.clock, app.id, true);
    expectError(await t.clientOf(app.serverKey).get('/v1/messages'), 'app_suspended');
    const proving = await t.newApp();
    await rotateIdentifySecret({ ...t, seal: createSeal(t.masterKey) }, proving.id);
    const unproven = { device_id: await t.registerDevice({}, proving), external_id: 'ada' };
    expectError(await t.clientOf(proving.clientKey).post('/v1/identify', unproven), 'identity_check_failed');
  });

  it('404', async () => {
    expectError(await t.request('GET', '/v1/nothing'), 'not_found');
    expectError(await t.request('DELETE', '/v1/devices/%zz'), 'not_found');
    expectError(await t.server.get(`/v1/messages/${unknownId('msg')}`), 'not_found');
    expectError(await t.client.delete(`/v1/devices/${unknownId('dev')}`), 'not_found');
    expectError(await t.request('POST', '/v1/receipts', { body: { token: 'x', event: 'clicked' } }), 'not_found');
  });

  it('429 for the rate', async () => {
    const { serverKey } = await t.newApp({ plan: 'free' });
    const answers = await Promise.all(Array.from({ length: 40 }, () => t.clientOf(serverKey).get('/v1/messages')));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) expectError(answer, 'rate_limited');
  });

  it('429 for the quota, with the upgrade note', async () => {
    const app = await t.newApp({ plan: 'free' });
    await t.registerDevice({}, app);
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, date_trunc('month', now()), 10000)`;
    const answer = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    expectError(answer, 'quota_exceeded');
    expect(Object.keys(answer.body.quota)).toEqual(['plan', 'limit', 'used', 'requested', 'resets_at']);
    expect(answer.body.upgrade).toMatch(/\S/);
  });

  it('at most 50 issues are listed, and the message says that there may be more', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`unknown_${i}`, i]));
    const answer = await t.server.post('/v1/users', { external_id: 'ada', ...unknown });
    expectError(answer, 'validation_failed');
    expect(answer.body.issues).toHaveLength(50);
    expect(answer.body.message).toBe('At least 50 fields are invalid.');
  });

  it('no mistake of a caller is logged as a fault of the service', () => {
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });
});

describe('R-81 a fault of the service', () => {
  /**
   * Renames a table while `work` runs. This file has a database of its own, where nobody else needs
   * the table.
   */
  async function without<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    await t.sql.unsafe(`ALTER TABLE ${name} RENAME TO ${name}_away`);
    try {
      return await work();
    } finally {
      await t.sql.unsafe(`ALTER TABLE ${name}_away RENAME TO ${name}`);
    }
  }

  it('is a 500 without details, and a log line with all details', async () => {
    const answer = await without('messages', () => t.server.get('/v1/messages'));
    expectError(answer, 'internal_error');
    expect(JSON.stringify([answer.body, Object.fromEntries(answer.headers)])).not.toMatch(
      /messages|relation|SELECT|postgres|node_modules|\.ts\b|fastify|stack|cause/i,
    );
    const line = logged(answer.body.request_id);
    expect(line).toMatchObject({ level: 50, err: { code: '42P01' } });
    expect(line.err?.message).toContain('relation "messages" does not exist');
    expect(line.err?.stack).toContain('listMessages');
    expect((await t.server.get('/v1/messages')).status).toBe(200);
  });

  it('while keys cannot be read is never a 401: no good key is called bad', async () => {
    const app = await t.newApp();
    const answer = await without('keys', () => t.clientOf(app.serverKey).get('/v1/messages'));
    expectError(answer, 'internal_error');
    expect((await t.clientOf(app.serverKey).get('/v1/messages')).status).toBe(200);
  });

  it('inside a transaction leaves nothing of it stored', async () => {
    const request = { audience: { all: true }, content: { title: 'Sale' } };
    const headers = { 'idempotency-key': 'broken' };
    await t.registerDevice();
    const answer = await without('batches', () => t.server.post('/v1/messages', request, headers));
    expectError(answer, 'internal_error');
    expect((await t.server.get('/v1/messages')).body.data).toEqual([]);
    // A 5xx may be repeated with the same key (contract 16, rule 8).
    expect((await t.server.post('/v1/messages', request, headers)).body).toMatchObject({ replayed: false });
  });

  it('that quotes a stored row does not put the row into the log', async () => {
    await t.sql`ALTER TABLE users ADD CONSTRAINT never CHECK (external_id <> 'never') NOT VALID`;
    const answer = await t.server.post('/v1/users', { external_id: 'never', first_name: 'Quoted by the database' });
    await t.sql`ALTER TABLE users DROP CONSTRAINT never`;
    expectError(answer, 'internal_error');
    expect(logged(answer.body.request_id)).toMatchObject({ err: { code: '23514', constraint: 'never' } });
    expect(lines.join('')).not.toContain('Quoted by the database');
  });

  it('a log entry is one line, whatever its text contains', async () => {
    await t.sql`CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION E'a\\r\\nb\\u001b[31mred\\u2028c'; END $$`;
    await t.sql`CREATE TRIGGER odd BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION odd()`;
    const answer = await t.server.post('/v1/users', { external_id: 'odd' });
    await t.sql`DROP TRIGGER odd ON users`;
    expectError(answer, 'internal_error');
    expect(logged(answer.body.request_id).err?.message).toContain('\u001b[31mred');
    for (const line of lines) {
      expect(line.endsWith('\n')).toBe(true);
      // The only control character is the newline at the end.
      expect(line.slice(0, -1)).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe('R-81 an outage of the database', () => {
  const keyed = t.service.routes.filter(({ access }) => access !== 'public');
  const addressOf = (path: string): string =>
    path.replace(':id', unknownId(path.startsWith('/v1/segments') ? 'seg' : 'msg')).replace(':external_id', 'ada') +
    (path.startsWith('/v1/reports/') ? '?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z' : '') +
    (path === '/v1/explain' ? '?external_id=ada' : '');
  const bodies: Record<string, unknown> = {
    '/v1/messages': { audience: { all: true }, content: { title: 'Sale' } },
    '/v1/users': { external_id: 'ada' },
    '/v1/devices': { platform: 'web', token: t.pushSubscription() },
    '/v1/identify': { device_id: unknownId('dev'), external_id: 'ada' },
    '/v1/events': { name: 'opened', external_id: 'ada' },
    '/v1/segments': { name: 'All', filter: { event: 'x' } },
    '/v1/segments/preview': { audience: { all: true } },
    '/v1/segments/:id': { name: 'Another', filter: { event: 'x' } },
  };
  const askAll = () =>
    Promise.all(
      keyed.map(({ method, path }) =>
        t.request(method, addressOf(path), {
          key: t.app.serverKey,
          ...(['POST', 'PUT'].includes(method) && { body: bodies[path] }),
        }),
      ),
    );

  it('is 503 on every keyed route, never 401, 403 or 404, and ends when the database is back', async () => {
    t.clock.advance(2000);
    await gate.shut();
    for (const answer of await askAll()) expectError(answer, 'unavailable');
    expect((await t.request('GET', '/v1/channels')).status).toBe(200);
    await gate.open();
    await untilAnswered(() => t.server.get('/v1/messages'));
    // Each pool has connections of its own to open again.
    const stillOut = async () => (await askAll()).filter(({ status }) => status !== 200 && status !== 404);
    await expect.poll(stillOut).toEqual([]);
  });

  it('is 503 as well for a key that was found good just before', async () => {
    expect((await t.server.get('/v1/messages')).status).toBe(200);
    await gate.shut();
    for (const answer of await askAll()) expectError(answer, 'unavailable');
    await gate.open();
    await untilAnswered(() => t.server.get('/v1/messages'));
  });

  it('does not affect answers that need no database: malformed keys, unknown routes, bad tokens', async () => {
    await gate.shut();
    expectError(await t.request('GET', '/v1/messages', { key: 'nonsense' }), 'invalid_key');
    expectError(await t.request('GET', '/v1/nothing'), 'not_found');
    expectError(await t.request('GET', `/v1/r/${'A'.repeat(47)}`), 'not_found');
    await gate.open();
    await untilAnswered(() => t.server.get('/v1/messages'));
  });

  it('that ends all connections at once causes at most 503', async () => {
    const during = Array.from({ length: 20 }, () => t.server.get('/v1/messages'));
    await endConnections(t.sql);
    for (const answer of await Promise.all(during)) {
      if (answer.status !== 200) expectError(answer, 'unavailable');
    }
    await untilAnswered(() => t.server.get('/v1/messages'));
  });

  it('that refuses all connections is an outage, too', async () => {
    const admin = openPool({ url: inject('serverUrl'), connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
    const [row] = await t.sql`SELECT current_database() AS name`;
    const allow = (allows: boolean) =>
      admin.unsafe(`ALTER DATABASE ${String(row?.['name'])} WITH ALLOW_CONNECTIONS ${allows}`);
    await allow(false);
    await endConnections(t.sql);
    const answers = await askAll();
    await allow(true);
    await admin.end();
    for (const answer of answers) expectError(answer, 'unavailable');
    await untilAnswered(() => t.server.get('/v1/messages'));
  });

  it('a statement that the database cancels gives 503', async () => {
    const answer = await t.sql.begin(async (tx) => {
      await tx`LOCK TABLE messages IN ACCESS EXCLUSIVE MODE`;
      const asked = t.server.get('/v1/messages');
      const [pid = 0] = await untilLockWaits(tx, 1, { name: 'carillon reads' });
      await tx`SELECT pg_cancel_backend(${pid})`;
      return asked;
    });
    expectError(answer, 'unavailable');
    expect(logged(answer.body.request_id)).toMatchObject({ level: 50, err: { code: '57014' } });
  });
});

it('R-81 the tests above produced every error', () => {
  const ofV1 = Object.entries(apiErrors).filter(([code]) => !isConsoleError(code as ApiErrorCode));
  expect([...seen].sort()).toEqual(ofV1.map(([code]) => code).sort());
  expect(table.map(([status, error]) => [error, status]).sort()).toEqual(
    ofV1.map(([error, { status }]) => [error, status]).sort(),
  );
});

/**
 * Repeats a request until the service has found its database again. A test that waits forever fails
 * by its time limit.
 */
async function untilAnswered(ask: () => Promise<Response>): Promise<void> {
  const { status } = await ask();
  if (status !== 200) await untilAnswered(ask);
}

/** Ends the service's connections to this file's database. */
async function endConnections(sql: Sql): Promise<void> {
  await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'carillon%'`;
}
