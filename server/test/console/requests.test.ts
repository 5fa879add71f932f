// The request log: what callers asked lately, without a body, a token or a value of a query,
// and without a statement in any request's way (contract 19).
import { expect, it } from 'vitest';
import { setup, unknownId } from '../setup.ts';
import { signIn } from './console.ts';

const t = await setup({ workers: false });
const member = await signIn(t, 'member');
const admin = await signIn(t, 'admin');
const { body: made } = await admin.send('POST', '/apps', { name: 'Asked' });
const server = t.clientOf(made.server_key);
const client = t.clientOf(made.client_key);

interface Entry {
  readonly [field: string]: unknown;
}

async function logged(query = ''): Promise<Entry[]> {
  // An answer is noted when it has gone out, which its caller may see a moment before.
  await new Promise((resolve) => setImmediate(resolve));
  await t.service.requestLog.flush();
  const { status, body } = await member.send('GET', `/apps/${made.id}/requests${query}`);
  expect({ status, note: body.note }).toEqual({ status: 200, note: expect.stringMatching(/crash/) });
  return body.data;
}

it('names path, status, error, first issue and key of each request of its app, and nothing that it carried', async () => {
  // Another app's request, which this app's log does not have.
  await t.server.get('/v1/devices');
  await server.get('/v1/messages?limit=7');
  await server.get(`/v1/messages/${unknownId('msg')}`);
  await server.get('/v1/users/canary-person');
  await server.post('/v1/messages', { audience: { all: true }, content: { title: 'canary-title' }, canary: 'canary' });
  await client.get('/v1/segments');
  const refused = await client.post('/v1/devices', { platform: 'web', token: 'canary-token' });
  const entries = await logged();
  const shown = entries.map(({ method, path, status, error, issue }) => ({ method, path, status, error, issue }));
  expect(shown.reverse()).toEqual([
    { method: 'GET', path: '/v1/messages', status: 200, error: null, issue: null },
    { method: 'GET', path: `/v1/messages/${unknownId('msg')}`, status: 404, error: 'not_found', issue: null },
    { method: 'GET', path: '/v1/users/{external_id}', status: 404, error: 'not_found', issue: null },
    {
      method: 'POST',
      path: '/v1/messages',
      status: 400,
      error: 'validation_failed',
      issue: 'canary: unrecognized_keys',
    },
    { method: 'GET', path: '/v1/segments', status: 403, error: 'wrong_key_scope', issue: null },
    {
      method: 'POST',
      path: '/v1/devices',
      status: 400,
      error: 'validation_failed',
      issue: expect.stringMatching(/^token/),
    },
  ]);
  expect(entries[0]).toMatchObject({ request_id: refused.headers.get('x-request-id'), key_id: expect.any(String) });
  const text = JSON.stringify([...(await t.sql`SELECT entries FROM request_chunks`)]);
  for (const secret of ['canary-title', 'canary-token', 'canary-person', 'limit=7', made.server_key, made.client_key]) {
    expect(text).not.toContain(secret);
  }
});

it('is filtered by status, by the beginning of a path and by key', async () => {
  expect((await logged('?status=403')).map(({ path }) => path)).toEqual(['/v1/segments']);
  expect((await logged('?status=4xx&path=/v1/messages')).length).toBe(2);
  expect((await logged('?status=accepted')).map(({ path }) => path)).toEqual(['/v1/messages']);
  const [{ key_id: id } = {}] = await logged('?status=403');
  const ofClient = await logged(`?key=${id}`);
  expect(ofClient.map(({ path }) => path)).toEqual(['/v1/devices', '/v1/segments']);
  expect((await member.send('GET', `/apps/${made.id}/requests?status=nine`)).status).toBe(400);
});

it('keeps the last 1,000 of each kind, and a request costs no statement', async () => {
  const entry = (n: number, status: number) => ({
    at: new Date(t.clock.nowMs() + n).toISOString(),
    requestId: unknownId('msg').replace('msg', 'req'),
    method: 'GET',
    path: `/v1/flood/${n}`,
    status,
    error: null,
    issue: null,
    keyId: unknownId('key'),
    keyName: 'Flood',
    ms: 1,
  });
  const { body: other } = await admin.send('POST', '/apps', { name: 'Flooded' });
  const { decodeId } = await import('../../src/ground/values/ids.ts');
  const appId = decodeId('app', other.id) ?? '';
  const rowsOf = async (): Promise<{ refused: boolean; entries: number }[]> => [
    ...(await t.sql<{ refused: boolean; entries: number }[]>`
      SELECT refused, sum(size)::int AS entries FROM request_chunks WHERE app_id = ${appId} GROUP BY 1 ORDER BY 1`),
  ];
  for (let n = 0; n < 700; n++) t.service.requestLog.note(appId, false, () => entry(n, 200));
  for (let n = 0; n < 5; n++) t.service.requestLog.note(appId, true, () => entry(n, 404));
  // Nothing is written before the process writes it all at once.
  expect(await rowsOf()).toEqual([]);
  await t.service.requestLog.flush();
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 600; n++) t.service.requestLog.note(appId, false, () => entry(n, 200));
    await t.service.requestLog.flush();
  }
  const rows = await rowsOf();
  expect(rows.map(({ refused }) => refused)).toEqual([false, true]);
  // Chunks are deleted whole, and not at each second.
  expect(rows[0]?.entries).toBeGreaterThanOrEqual(1_000);
  expect(rows[0]?.entries).toBeLessThan(3_000);
  expect(rows[1]?.entries).toBe(5);
});
