import { describe, expect, it } from 'vitest';
import { type Client, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup();
const content = { title: 'Sale', body: 'Now on', url: 'https://shop.example/sale' };
const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const id = /^msg_[0-9A-Za-z]{22}$/;

const messageKeys = [
  'id',
  'status',
  'status_reason',
  'name',
  'metadata',
  'created_by',
  'audience',
  'audience_unmatched',
  'content',
  'idempotency_key',
  'run_at',
  'created_at',
  'started_at',
  'finished_at',
  'expires_at',
  'report',
  'by_channel',
  'error_counts',
  'engagement',
];

async function send(server: Client, fields: Record<string, unknown> = {}): Promise<string> {
  const { body } = await server.post('/v1/messages', { audience: { device_ids: ['x'] }, content, ...fields });
  return body.id;
}

async function newApp(): Promise<{ app: TestApp; server: Client }> {
  const app = await t.newApp();
  return { app, server: t.clientOf(app.serverKey) };
}

/** Every id of a list, page by page. `between` runs after each page. */
async function walk(server: Client, query: string, between?: () => Promise<unknown>): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | null = null;
  do {
    const { status, body } = await server.get(`/v1/messages?${query}${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['data', 'has_more', 'next_cursor']);
    expect(body.has_more).toBe(body.next_cursor !== null);
    pages.push(body.data.map((message: { id: string }) => message.id));
    cursor = body.next_cursor;
    await between?.();
  } while (cursor !== null);
  return pages;
}

describe('GET /v1/messages/{id}', () => {
  it('returns the whole message, with all fields in the order of the contract', async () => {
    const { app, server } = await newApp();
    await t.registerDevice({ token: t.pushSubscription('alive') }, app);
    await t.registerDevice({ token: t.pushSubscription('gone') }, app);
    await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) }, app);
    t.push.script('gone', (_request, response) => {
      response.writeHead(410);
      response.end();
    });
    const metadata = { zeta: 'autumn-26', alpha: 1, b: true };
    const message = {
      name: 'Autumn sale',
      metadata,
      audience: { all: true },
      content: { ...content, webpush: { ttl: 120 } },
    };
    const sent = await server.post('/v1/messages', message, { 'idempotency-key': 'sale-2026-11-21' });
    const { status, body } = await server.get(`/v1/messages/${sent.body.id}`);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(messageKeys);
    expect(body).toEqual({
      id: sent.body.id,
      status: 'sent',
      status_reason: null,
      name: 'Autumn sale',
      metadata,
      created_by: { type: 'key', id: expect.stringMatching(/^key_[0-9A-Za-z]{22}$/), name: 'Server key' },
      audience: { all: true },
      audience_unmatched: 0,
      content: message.content,
      idempotency_key: 'sale-2026-11-21',
      run_at: null,
      created_at: expect.stringMatching(instant),
      started_at: expect.stringMatching(instant),
      finished_at: expect.stringMatching(instant),
      expires_at: expect.stringMatching(instant),
      report: { accepted: 3, sent: 1, failed: 1, skipped: 1 },
      by_channel: {
        webpush: { accepted: 2, sent: 1, failed: 1, skipped: 0 },
        apns: { accepted: 1, sent: 0, failed: 0, skipped: 1 },
        fcm: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
      },
      error_counts: { unregistered: 1, not_configured: 1 },
      engagement: { displayed: 0, clicked: 0, dismissed: 0 },
    });
    // Inside the answer, the caller's objects keep their own order, and the service's objects have
    // the contract's.
    expect(Object.keys(body.metadata)).toEqual(['zeta', 'alpha', 'b']);
    expect(Object.keys(body.created_by)).toEqual(['type', 'id', 'name']);
    expect(Object.keys(body.content)).toEqual(['title', 'body', 'url', 'webpush']);
    expect(Object.keys(body.report)).toEqual(['accepted', 'sent', 'failed', 'skipped']);
    expect(Object.keys(body.by_channel)).toEqual(['webpush', 'apns', 'fcm']);
    expect(Object.keys(body.by_channel.webpush)).toEqual(['accepted', 'sent', 'failed', 'skipped']);
    expect(Object.keys(body.engagement)).toEqual(['displayed', 'clicked', 'dismissed']);
    const window = Date.parse(body.expires_at) - Date.parse(body.created_at);
    // The default ttl is the longest of the channels' defaults, 3 days; the window takes at most 24
    // hours of it.
    expect(window).toBe(24 * 3600_000);
  });

  it('returns null for fields that were not given', async () => {
    const { server } = await newApp();
    const { body } = await server.get(`/v1/messages/${await send(server)}`);
    expect(body).toMatchObject({
      name: null,
      metadata: null,
      idempotency_key: null,
      run_at: null,
      status_reason: null,
    });
    expect(body).toMatchObject({ audience_unmatched: 1, error_counts: {}, audience: { device_ids: ['x'] } });
  });

  it('counts open deliveries as pending, and has the status sending', async () => {
    const { app, server } = await newApp();
    await t.registerDevice({ token: t.pushSubscription('held') }, app);
    let release = (): void => undefined;
    t.push.script('held', (_request, response) => {
      release = () => {
        response.writeHead(201, { location: 'https://push.test.example/m/held' });
        response.end();
      };
    });
    const answer = server.post('/v1/messages', { audience: { all: true }, content });
    await t.push.waitFor(({ token }) => token === 'held');
    const [listed] = (await server.get('/v1/messages?status=sending')).body.data;
    const { body } = await server.get(`/v1/messages/${listed.id}`);
    expect(body).toMatchObject({ status: 'sending', finished_at: null });
    expect(Object.entries(body.report)).toEqual([
      ['accepted', 1],
      ['sent', 0],
      ['failed', 0],
      ['skipped', 0],
      ['pending', 1],
    ]);
    release();
    expect((await answer).body.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
    expect((await server.get('/v1/messages?status=sending')).body.data).toEqual([]);
  });

  it('counts the marks that devices report', async () => {
    const { app, server } = await newApp();
    const device = await t.registerDevice({ token: t.pushSubscription('reader') }, app);
    const messageId = await send(server, { audience: { device_ids: [device] } });
    await t.sql`UPDATE batches SET displayed = 3, clicked = 2, dismissed = 1 WHERE app_id = ${app.id}`;
    const { body } = await server.get(`/v1/messages/${messageId}`);
    expect(body.engagement).toEqual({ displayed: 3, clicked: 2, dismissed: 1 });
  });

  it.each(['msg_nonsense', 'nonsense', `dev_${'0'.repeat(22)}`, `msg_${'z'.repeat(22)}`, unknownId('msg')])(
    '%s is 404',
    async (unknown) => {
      expect(await t.server.get(`/v1/messages/${unknown}`)).toMatchObject({
        status: 404,
        body: { error: 'not_found' },
      });
    },
  );
});

describe('GET /v1/messages', () => {
  it('lists messages without audience and content, with their title', async () => {
    const { server } = await newApp();
    const titled = await send(server, { content: { title: 'Hi {{first_name}}', body: 'x' } });
    const bare = await send(server, { content: { body: 'x' }, name: 'Bare' });
    const { body } = await server.get('/v1/messages');
    const [second, first] = body.data;
    const listed = messageKeys.filter((key) => key !== 'audience' && key !== 'content');
    expect(Object.keys(first)).toEqual([...listed, 'title']);
    expect([first.id, first.title]).toEqual([titled, 'Hi {{first_name}}']);
    expect([second.id, second.title, second.name]).toEqual([bare, null, 'Bare']);
    const { audience: _audience, content: _content, ...one } = (await server.get(`/v1/messages/${titled}`)).body;
    expect(first).toEqual({ ...one, title: 'Hi {{first_name}}' });
  });

  it('an app without messages has an empty list', async () => {
    const { server } = await newApp();
    expect((await server.get('/v1/messages')).body).toEqual({ data: [], has_more: false, next_cursor: null });
  });

  it('has the newest first, and 50 per page by default', async () => {
    const { server } = await newApp();
    const sent: string[] = [];
    for (let i = 0; i < 52; i++) sent.push(await send(server));
    const pages = await walk(server, '');
    expect(pages.map((page) => page.length)).toEqual([50, 2]);
    expect(pages.flat()).toEqual([...sent].reverse());
    for (const one of pages.flat()) expect(one).toMatch(id);
  });

  it.each([1, 2, 3, 7, 200])('shows each message once in pages of %i, despite sends meanwhile', async (limit) => {
    const { app, server } = await newApp();
    const sent: string[] = [];
    for (let i = 0; i < 7; i++) sent.push(await send(server));
    // Many messages have the same instant, so the id decides their order.
    await t.sql`UPDATE messages SET created_at = date_trunc('hour', now()) WHERE app_id = ${app.id}`;
    const pages = await walk(server, `limit=${limit}`, () => send(server));
    expect(pages.flat()).toEqual([...sent].sort().reverse());
    for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit);
  });

  it('distinguishes instants that differ by less than a millisecond', async () => {
    const { app, server } = await newApp();
    const sent: string[] = [];
    for (let i = 0; i < 6; i++) sent.push(await send(server));
    await t.sql`
      UPDATE messages m SET created_at = date_trunc('hour', now()) - n.number * interval '1 microsecond'
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM messages WHERE app_id = ${app.id}) n
      WHERE m.app_id = ${app.id} AND m.id = n.id`;
    expect((await walk(server, 'limit=1')).flat()).toEqual([...sent].sort());
  });

  it('can be filtered by status, page by page', async () => {
    const { app, server } = await newApp();
    const all = new Map<string, string[]>();
    for (const status of ['sent', 'failed', 'canceled', 'sent', 'failed', 'sent']) {
      const messageId = await send(server);
      all.set(status, [messageId, ...(all.get(status) ?? [])]);
      const [stored] =
        await t.sql`SELECT id FROM messages WHERE app_id = ${app.id} ORDER BY created_at DESC, id DESC LIMIT 1`;
      await t.sql`UPDATE messages SET status = ${status} WHERE app_id = ${app.id} AND id = ${stored?.['id']}`;
    }
    for (const [status, ids] of all) expect((await walk(server, `status=${status}&limit=1`)).flat()).toEqual(ids);
    expect((await walk(server, 'status=scheduled')).flat()).toEqual([]);
  });
});

describe('400', () => {
  it.each([
    ['limit=0', 'limit', 'too_small'],
    ['limit=201', 'limit', 'too_big'],
    ['limit=-5', 'limit', 'invalid_format'],
    ['limit=1.0', 'limit', 'invalid_format'],
    ['status=lost', 'status', 'invalid_value'],
    ['status=', 'status', 'invalid_value'],
    ['q=sale', 'q', 'unrecognized_keys'],
    ['offset=10', 'offset', 'unrecognized_keys'],
    ['cursor=', 'cursor', 'invalid_value'],
    ['cursor=nonsense', 'cursor', 'invalid_value'],
    ['cursor=a.b', 'cursor', 'invalid_value'],
  ])('%s', async (query, path, code) => {
    const { status, body } = await t.server.get(`/v1/messages?${query}`);
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: [path], code }]);
  });

  it('names the allowed statuses', async () => {
    const { body } = await t.server.get('/v1/messages?status=lost');
    expect(body.issues[0].allowed).toEqual(['scheduled', 'sending', 'sent', 'failed', 'canceled']);
  });

  it('R-61 a cursor that is altered, of other filters, of another endpoint or of another app', async () => {
    const { server, app } = await newApp();
    for (let i = 0; i < 3; i++) {
      await send(server);
      await t.registerDevice({}, app);
    }
    const cursorOf = async (path: string): Promise<string> => (await server.get(path)).body.next_cursor;
    const cursor = await cursorOf('/v1/messages?limit=1');
    const refused = { status: 400, body: { issues: [{ path: ['cursor'], code: 'invalid_value' }] } };
    // A change of any character makes the cursor invalid, and so does a character added at any
    // place.
    for (let i = 0; i < cursor.length; i++) {
      const other = cursor[i] === 'A' ? 'B' : 'A';
      const altered = cursor.slice(0, i) + other + cursor.slice(i + 1);
      expect(await server.get(`/v1/messages?cursor=${altered}`)).toMatchObject(refused);
    }
    for (const altered of [
      `${cursor}A`,
      `A${cursor}`,
      `${cursor}=`,
      `${cursor}.`,
      cursor.replace('.', '..'),
      `${cursor}%0A`,
    ]) {
      expect(await server.get(`/v1/messages?cursor=${altered}`)).toMatchObject(refused);
    }
    const stranger = t.clientOf((await t.newApp()).serverKey);
    expect(await stranger.get(`/v1/messages?cursor=${cursor}`)).toMatchObject(refused);
    expect(await server.get(`/v1/messages?status=sent&cursor=${cursor}`)).toMatchObject(refused);
    expect(await server.get(`/v1/devices?cursor=${cursor}`)).toMatchObject(refused);
    expect(await server.get(`/v1/messages?cursor=${await cursorOf('/v1/devices?limit=1')}`)).toMatchObject(refused);
    expect(await server.get(`/v1/messages?cursor=${await cursorOf('/v1/messages?limit=1&status=sent')}`)).toMatchObject(
      refused,
    );
    // The same filters with another page size are the same list, and a cursor works on every
    // server.
    expect((await server.get(`/v1/messages?limit=2&cursor=${cursor}`)).body.data).toHaveLength(2);
  });

  it('a cursor reveals nothing that the page did not show', async () => {
    const { server } = await newApp();
    await send(server);
    await send(server);
    const { body } = await server.get('/v1/messages?limit=1');
    const [payload = ''] = body.next_cursor.split('.');
    expect(Buffer.from(payload, 'base64url').toString()).not.toMatch(/app_|sk_live|SELECT/);
    expect(body.next_cursor).toMatch(/^[A-Za-z0-9_.-]+$/);
  });
});

describe('403', () => {
  it.each(['/v1/messages', `/v1/messages/${unknownId('msg')}`])('a client key is refused on %s', async (path) => {
    expect(await t.client.get(path)).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
  });
});
