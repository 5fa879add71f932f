// Limits per second and key. The clock stands still unless a test moves it.
import { describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { createKey, revokeKey, rotateKey } from '../../src/teams/apps/manage-keys.ts';
import { updateAppPlan, updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { deleteFullBuckets } from '../../src/teams/quotas/queries.ts';
import { type Bundle, type Response, setup, type TestApp } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ workers: false, reachDatabase: (url) => gate.reach(url) });
/** Another process on the same database. */
const other = await setup({ workers: false, reachDatabase: async () => t.databaseUrl });

const begin = new Date('2026-11-21T10:15:30.000Z');
for (const { clock } of [t, other]) clock.hold(begin);
function advance(ms: number): void {
  for (const { clock } of [t, other]) clock.advance(ms);
}

const get = (key: string, of: Bundle = t, path = '/v1/config'): Promise<Response> => of.request('GET', path, { key });
const says = ({ status, body }: Response): string => `${status} ${body?.error ?? ''}`.trim();
const limitOf = ({ headers }: Response): string | null => headers.get('ratelimit');

/** Sends requests one after another and counts the answers. */
async function ask(times: number, once: (i: number) => Promise<Response>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const answer = says(await once(i));
    counts[answer] = (counts[answer] ?? 0) + 1;
  }
  return counts;
}

/** An app whose server key has used up its limit. */
async function exhausted(plan = 'free', requests = 10): Promise<TestApp> {
  const app = await t.newApp({ plan });
  await ask(requests, () => get(app.serverKey));
  return app;
}

describe('R-65 the rate', () => {
  it.each([
    ['free', 'serverKey', 10],
    ['free', 'clientKey', 50],
    ['growth', 'serverKey', 60],
    ['growth', 'clientKey', 300],
    ['pro', 'serverKey', 300],
  ] as const)('of plan %s and its %s: a burst of %i passes, and one more does not', async (plan, key, rate) => {
    const app = await t.newApp({ plan });
    expect(await ask(rate, () => get(app[key]))).toEqual({ 200: rate });
    expect(says(await get(app[key]))).toBe('429 rate_limited');
  });

  it('of a free server key: the 11th request is refused for 100 ms, and then one passes each 100 ms', async () => {
    const app = await exhausted();
    advance(99);
    expect(says(await get(app.serverKey))).toBe('429 rate_limited');
    for (let i = 0; i < 20; i++) {
      advance(i === 0 ? 1 : 100);
      expect([says(await get(app.serverKey)), says(await get(app.serverKey))]).toEqual(['200', '429 rate_limited']);
    }
  });

  it('refills to the burst of one second, and not above it', async () => {
    const app = await exhausted();
    advance(3_600_000);
    expect(await ask(12, () => get(app.serverKey))).toEqual({ 200: 10, '429 rate_limited': 2 });
  });

  it('is the same for concurrent requests', async () => {
    const app = await t.newApp({ plan: 'free' });
    const answers = await Promise.all(Array.from({ length: 100 }, () => get(app.serverKey)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
  });

  it('is shared by all processes, for sequential and for concurrent requests', async () => {
    const alternating = await t.newApp({ plan: 'free' });
    const counts = await ask(20, (i) => get(alternating.serverKey, i % 2 === 0 ? t : other));
    expect(counts).toEqual({ 200: 10, '429 rate_limited': 10 });
    const racing = await t.newApp({ plan: 'growth' });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => get(racing.serverKey, i % 2 === 0 ? t : other)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  });

  it('of one key does not affect another: of the same app, of the other scope, of another app', async () => {
    const app = await exhausted();
    const second = await createKey(t, { appId: app.id, scope: 'server', name: 'Second' });
    const elsewhere = await t.newApp({ plan: 'free' });
    for (const key of [second.text, app.clientKey, elsewhere.serverKey]) {
      expect(limitOf(await get(key))).toMatch(/r=(9|49);/);
    }
    expect(says(await get(app.serverKey))).toBe('429 rate_limited');
  });

  it('of a rotated key is separate, and the former key keeps its own', async () => {
    const app = await t.newApp({ plan: 'free' });
    const former = await createKey(t, { appId: app.id, scope: 'server', name: 'Backend' });
    await ask(10, () => get(former.text));
    const { key } = await rotateKey(t, { id: former.id, overlapHours: 1 });
    expect([says(await get(former.text)), says(await get(key.text))]).toEqual(['429 rate_limited', '200']);
  });

  it('changes with the plan within two seconds, in both directions', async () => {
    const app = await exhausted();
    await updateAppPlan(t.sql, app.id, 'growth');
    advance(2000);
    expect((await get(app.serverKey)).headers.get('ratelimit-policy')).toBe('"key";q=60;w=1');
    expect(await ask(60, () => get(app.serverKey))).toEqual({ 200: 59, '429 rate_limited': 1 });
    await updateAppPlan(t.sql, app.id, 'unlimited');
    advance(2000);
    expect(await ask(100, () => get(app.serverKey))).toEqual({ 200: 100 });
    await updateAppPlan(t.sql, app.id, 'free');
    advance(2000);
    expect(await ask(11, () => get(app.serverKey))).toEqual({ 200: 10, '429 rate_limited': 1 });
  });

  it('does not keep a revoked key alive: two seconds later it is 401, whether it was limited before or not', async () => {
    const app = await t.newApp({ plan: 'free' });
    const key = await createKey(t, { appId: app.id, scope: 'server', name: 'Backend' });
    await ask(11, () => get(key.text));
    await revokeKey(t, key.id);
    advance(2000);
    expect(says(await get(key.text))).toBe('401 invalid_key');
  });

  it('is absent on a plan without one: no header, no statement and no row', async () => {
    const app = await t.newApp({ plan: 'unlimited' });
    const { headers } = await get(app.serverKey);
    expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null]);
    await gate.shut();
    // The key is known and the query is wrong, so nothing else needs the database.
    const answer = await get(app.serverKey, t, '/v1/config?unknown=1');
    await gate.open();
    expect(says(answer)).toBe('400 validation_failed');
    expect(await t.sql`SELECT 1 FROM rate_limits WHERE app_id = ${app.id}`).toHaveLength(0);
  });
});

describe('R-66 what a caller is told', () => {
  it('every answer has the limit, what is left of it, and when it is full again', async () => {
    const app = await t.newApp({ plan: 'free' });
    for (let left = 9; left >= 0; left--) {
      const { headers } = await get(app.serverKey);
      expect(headers.get('ratelimit-policy')).toBe('"key";q=10;w=1');
      expect(headers.get('ratelimit')).toBe(`"key";r=${left};t=1`);
      expect(headers.get('retry-after')).toBeNull();
    }
    advance(450);
    expect(limitOf(await get(app.serverKey))).toBe('"key";r=3;t=1');
  });

  it('the remaining number includes the requests that this process has leased on a fast plan', async () => {
    const app = await t.newApp({ plan: 'pro' });
    for (let left = 299; left >= 280; left--) {
      expect(limitOf(await get(app.serverKey))).toBe(`"key";r=${left};t=1`);
    }
  });

  it('a refusal says how long to wait, and in its message which limit it was', async () => {
    const { headers, body, status } = await get((await exhausted()).serverKey);
    expect({ status, body }).toEqual({
      status: 429,
      body: {
        error: 'rate_limited',
        message: 'Rate limit of 10 requests per second exceeded.',
        retry_after_ms: 100,
        request_id: headers.get('x-request-id'),
      },
    });
    expect(Object.fromEntries(headers)).toMatchObject({
      'retry-after': '1',
      'ratelimit-policy': '"key";q=10;w=1',
      ratelimit: '"key";r=0;t=1',
    });
  });

  it('the wait is always long enough (100 of 100 times), in a process that knows the key and in one that does not', async () => {
    for (const [plan, rate] of [
      ['free', 10],
      ['growth', 60],
      ['pro', 300],
    ] as const) {
      const app = await exhausted(plan, rate);
      for (let waits = 0; waits < 100; ) {
        // The clock advances less than one request's share each time.
        advance(waits % 3);
        const refused = await get(app.serverKey, waits % 2 === 0 ? t : other);
        if (refused.status === 200) continue;
        expect(refused.body.retry_after_ms).toBeGreaterThan(0);
        expect(Number(refused.headers.get('retry-after'))).toBe(Math.ceil(refused.body.retry_after_ms / 1000));
        advance(refused.body.retry_after_ms);
        expect(says(await get(app.serverKey, waits % 3 === 0 ? t : other))).toBe('200');
        waits++;
      }
    }
  });

  it('a millisecond less is not long enough', async () => {
    const app = await exhausted();
    for (let i = 0; i < 20; i++) {
      const { body } = await get(app.serverKey);
      advance(body.retry_after_ms - 1);
      expect(says(await get(app.serverKey))).toBe('429 rate_limited');
      advance(1);
      expect(says(await get(app.serverKey))).toBe('200');
    }
  });

  it("the quota's 429 differs from the rate's, so that they cannot be confused", async () => {
    const app = await t.newApp({ plan: 'free' });
    await t.registerDevice({}, app);
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, '2026-11-01', 10000)`;
    const message = { audience: { all: true }, content: { title: 'Sale' } };
    const { body, headers } = await t.clientOf(app.serverKey).post('/v1/messages', message);
    expect(body).toMatchObject({ error: 'quota_exceeded', quota: { resets_at: '2026-12-01T00:00:00.000Z' } });
    expect(body.retry_after_ms).toBeUndefined();
    expect(headers.get('retry-after')).toBeNull();
    expect(headers.get('ratelimit')).toMatch(/^"key";r=\d;t=1$/);
  });
});

describe('requests that count', () => {
  const left = async (key: string): Promise<number> => Number(/r=(\d+)/.exec(limitOf(await get(key)) ?? '')?.[1]);

  it('are all with a good key and scope, even if they fail later, and HEAD', async () => {
    const app = await t.newApp({ plan: 'free' });
    const asked = [
      await t.request('POST', '/v1/users', { key: app.serverKey, raw: '{' }),
      await t.request('POST', '/v1/users', { key: app.serverKey, body: {} }),
      await t.request('POST', '/v1/users', { key: app.serverKey, raw: 'x'.repeat(300 * 1024) }),
      await get(app.serverKey, t, '/v1/messages/msg_unknown'),
      await get(app.serverKey, t, '/v1/messages?unknown=1'),
      await t.request('HEAD', '/v1/messages', { key: app.serverKey }),
    ];
    expect(asked.map(({ status }) => status)).toEqual([400, 400, 400, 404, 400, 200]);
    expect(asked.map((answer) => limitOf(answer))).toEqual([9, 8, 7, 6, 5, 4].map((r) => `"key";r=${r};t=1`));
    expect(await left(app.serverKey)).toBe(3);
  });

  it('are not those refused before, and not a preflight', async () => {
    const app = await t.newApp({ plan: 'free' });
    for (const answer of [
      await get(app.serverKey, t, '/v1/nothing'),
      await t.request('PUT', '/v1/messages', { key: app.serverKey }),
      await get(app.clientKey, t, '/v1/messages'),
      await t.request('OPTIONS', '/v1/config', { key: app.serverKey }),
      await get(app.serverKey, t, '/v1/channels'),
    ]) {
      expect(limitOf(answer)).toBeNull();
    }
    expect(await left(app.serverKey)).toBe(9);
    expect(await left(app.clientKey)).toBe(49);
  });
});

describe('the order of checks', () => {
  it('key, suspension and scope come before the limit', async () => {
    const app = await t.newApp({ plan: 'free' });
    await ask(50, () => get(app.clientKey));
    expect(says(await get(app.clientKey))).toBe('429 rate_limited');
    expect(says(await get(app.clientKey, t, '/v1/messages'))).toBe('403 wrong_key_scope');
    await updateAppSuspension(t.sql, t.clock, app.id, true);
    // The other process does not know the key yet, and the limit is the same there.
    expect(says(await get(app.clientKey, other))).toBe('403 app_suspended');
  });

  it('the limit comes before body, query and resource', async () => {
    const { serverKey: key } = await exhausted();
    for (const answer of [
      await t.request('POST', '/v1/users', { key, raw: '{' }),
      await t.request('POST', '/v1/users', { key, raw: 'x'.repeat(300 * 1024) }),
      await get(key, t, '/v1/messages?unknown=1'),
      await get(key, t, '/v1/users/nobody'),
    ]) {
      expect(says(answer)).toBe('429 rate_limited');
    }
  });

  it('R-13 a replay is refused like any other request, and does not use its key up', async () => {
    const app = await t.newApp({ plan: 'free' });
    const message = { audience: { all: true }, content: { title: 'Sale' } };
    const send = (key: string) => t.clientOf(app.serverKey).post('/v1/messages', message, { 'idempotency-key': key });
    const first = await send('first');
    await ask(9, () => get(app.serverKey));
    expect([says(await send('first')), says(await send('second'))]).toEqual(['429 rate_limited', '429 rate_limited']);
    advance(200);
    expect((await send('first')).body).toMatchObject({ id: first.body.id, replayed: true });
    expect((await send('second')).body).toMatchObject({ replayed: false });
  });
});

describe('every keyed route', () => {
  const keyed = t.service.routes.filter(({ access }) => access !== 'public');
  const addressOf = (path: string): string => path.replace(/:[a-z_]+/, 'unknown');

  it.each(keyed)('$method $path is limited and says so', async ({ method, path }) => {
    const app = await t.newApp({ plan: 'free' });
    const once = (asked = method) =>
      t.request(asked, addressOf(path), { key: app.serverKey, ...(method === 'POST' && { body: {} }) });
    for (let left = 9; left >= 0; left--) {
      const asked = method === 'GET' && left % 2 === 0 ? 'HEAD' : method;
      const answer = await once(asked as typeof method);
      expect([200, 400, 404]).toContain(answer.status);
      expect(answer.headers.get('ratelimit-policy')).toBe('"key";q=10;w=1');
      expect(limitOf(answer)).toBe(`"key";r=${left};t=1`);
    }
    const refused = await once();
    expect(says(refused)).toBe('429 rate_limited');
    expect(limitOf(refused)).toBe('"key";r=0;t=1');
  });

  it('browsers may read the limit and the reason of a refusal', async () => {
    const app = await t.newApp({ plan: 'free' });
    await ask(50, () => get(app.clientKey));
    const { status, headers } = await get(app.clientKey);
    expect(status).toBe(429);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? [];
    expect(exposed.filter((name) => headers.has(name))).toEqual(exposed);
  });

  it('no public route has this limit', async () => {
    const app = await exhausted();
    for (const { method, path } of t.service.routes.filter(({ access }) => access === 'public')) {
      const answer = await t.request(method, addressOf(path), {
        key: app.serverKey,
        ...(method === 'POST' && { body: {} }),
      });
      expect(answer.status).not.toBe(429);
      expect(limitOf(answer)).toBeNull();
    }
  });
});

describe('the database and the rate limit', () => {
  it('an unreachable database gives 503, as everywhere', async () => {
    const app = await t.newApp({ plan: 'free' });
    await get(app.serverKey);
    await gate.shut();
    const answer = await get(app.serverKey);
    await gate.open();
    expect(answer).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    expect(limitOf(answer)).toBeNull();
  });

  it('callers that retry too soon cause no statement', async () => {
    const app = await exhausted();
    await gate.shut();
    const counts = await ask(50, () => get(app.serverKey));
    await gate.open();
    expect(counts).toEqual({ '429 rate_limited': 50 });
  });

  it('a key that was idle for a minute loses its row, and others keep theirs', async () => {
    const [idle, busy] = [await exhausted(), await exhausted()];
    advance(61_001);
    await ask(10, () => get(busy.serverKey));
    await deleteFullBuckets(t.sql, t.clock);
    const rows = await t.sql<{ appId: string }[]>`SELECT app_id FROM rate_limits`;
    expect(rows.map(({ appId }) => appId)).toEqual([busy.id]);
    expect(says(await get(busy.serverKey, other))).toBe('429 rate_limited');
    expect(await ask(11, () => get(idle.serverKey))).toEqual({ 200: 10, '429 rate_limited': 1 });
  });

  it('after the table was lost in a crash a burst passes, and a clock that was set back locks nobody out', async () => {
    const app = await exhausted();
    await t.sql`DELETE FROM rate_limits`;
    expect(says(await get(app.serverKey, other))).toBe('200');
    await t.sql`UPDATE rate_limits SET full_at = full_at + interval '1 hour'`;
    expect(says(await get(app.serverKey, other))).toBe('200');
  });

  it('the table is unlogged and need not survive a crash', async () => {
    const [table] = await t.sql`SELECT relpersistence AS kept FROM pg_class WHERE relname = 'rate_limits'`;
    expect(table?.['kept']).toBe('u');
  });
});
