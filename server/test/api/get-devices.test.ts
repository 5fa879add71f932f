import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

// An app of its own for each question about lists.
async function listOf() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  return {
    app,
    server,
    register: async (platform: 'web' | 'ios' | 'android' = 'android', fields: object = {}): Promise<string> => {
      const token = platform === 'web' ? t.pushSubscription() : randomBytes(32).toString('hex');
      const { body } = await server.post('/v1/devices', { platform, token, ...fields });
      return body.id;
    },
    ids: async (query = ''): Promise<string[]> => {
      const { body } = await server.get(`/v1/devices${query}`);
      return body.data.map((device: { id: string }) => device.id);
    },
  };
}

function issueCodes(response: Awaited<ReturnType<typeof t.request>>): string[] {
  return response.body.issues.map(
    (issue: { path: unknown[]; code: string }) => `${issue.path.join('.')} ${issue.code}`,
  );
}

describe('200', () => {
  it('returns an empty page when there is no device', async () => {
    const { server } = await listOf();
    expect(await server.get('/v1/devices')).toMatchObject({
      status: 200,
      body: { data: [], has_more: false, next_cursor: null },
    });
  });

  it('shows a device in the shape of the contract', async () => {
    const { server } = await listOf();
    const token = t.pushSubscription();
    const { body: registered } = await server.post('/v1/devices', {
      platform: 'web',
      token,
      locale: 'de-DE',
      timezone: 'Europe/Berlin',
      app_version: '4.2.0',
      sdk: 'web/1',
      os: 'Windows',
      os_version: '11',
      model: 'PC',
      properties: { topic: 'sport' },
    });
    await server.post('/v1/users', { external_id: 'u-42', properties: { topic: 'art' }, device_id: registered.id });
    const { body } = await server.get('/v1/devices');
    expect(body.data).toEqual([
      {
        id: registered.id,
        platform: 'web',
        channel: 'webpush',
        token_hint: `…${token.endpoint.slice(-6)}`,
        locale: 'de-DE',
        timezone: 'Europe/Berlin',
        app_version: '4.2.0',
        sdk: 'web/1',
        os: 'Windows',
        os_version: '11',
        model: 'PC',
        environment: null,
        status: 'active',
        status_reason: null,
        external_id: 'u-42',
        // The device's own properties, and never its user's.
        properties: { topic: 'sport' },
        created_at: registered.created_at,
        last_seen_at: registered.last_seen_at,
      },
    ]);
    expect(Object.keys(body.data[0])).toEqual([
      ...[
        'id',
        'platform',
        'channel',
        'token_hint',
        'locale',
        'timezone',
        'app_version',
        'sdk',
        'os',
        'os_version',
        'model',
      ],
      ...['environment', 'status', 'status_reason', 'external_id', 'properties', 'created_at', 'last_seen_at'],
    ]);
  });

  it('lists the newest first, and returns each device once over its pages', async () => {
    const { server, register } = await listOf();
    const registered: string[] = [];
    for (let i = 0; i < 7; i++) registered.push(await register());
    const walked: string[] = [];
    let path: string | null = '/v1/devices?limit=3';
    const sizes: number[] = [];
    while (path !== null) {
      const { body } = await server.get(path);
      walked.push(...body.data.map((device: { id: string }) => device.id));
      sizes.push(body.data.length);
      expect(body.has_more).toBe(body.next_cursor !== null);
      path = body.next_cursor === null ? null : `/v1/devices?limit=3&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    expect(sizes).toEqual([3, 3, 1]);
    expect(walked).toEqual(registered.toReversed());
  });

  it('shows each device once in a walk during which others register', async () => {
    const { server, register } = await listOf();
    const registered = await Promise.all(Array.from({ length: 6 }, () => register()));
    const walked: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await server.get(`/v1/devices?limit=2${query}`);
      walked.push(...body.data.map((device: { id: string }) => device.id));
      cursor = body.next_cursor;
      await register();
    }
    expect(walked.toSorted()).toEqual(registered.toSorted());
  });

  it('filters by platform, status and external_id, alone and together', async () => {
    const { server, register, ids } = await listOf();
    const web = await register('web');
    const ios = await register('ios');
    const android = await register();
    const gone = await register();
    await server.delete(`/v1/devices/${gone}`);
    await server.post('/v1/users', { external_id: 'ann', device_id: web });
    await server.post('/v1/users', { external_id: 'ann', device_id: ios });
    const moved = await register('android');
    const { body: keeper } = await server.post('/v1/devices', { platform: 'android', token: 'moved-token' });
    await server.post('/v1/devices', { platform: 'android', token: 'moved-token', device_id: moved });
    expect(await ids()).toEqual([keeper.id, moved, gone, android, ios, web]);
    expect(await ids('?platform=android')).toEqual([keeper.id, moved, gone, android]);
    expect(await ids('?status=active')).toEqual([moved, android, ios, web]);
    expect(await ids('?status=unsubscribed')).toEqual([gone]);
    expect(await ids('?status=invalid')).toEqual([keeper.id]);
    expect(await ids('?external_id=ann')).toEqual([ios, web]);
    expect(await ids('?external_id=ann&platform=ios')).toEqual([ios]);
    expect(await ids('?external_id=nobody')).toEqual([]);
    expect(await ids('?external_id=ann&status=unsubscribed')).toEqual([]);
  });

  it("R-60 shows no device of another app, not even by its user's external_id", async () => {
    const mine = await listOf();
    const theirs = await listOf();
    const foreign = await theirs.register();
    await theirs.server.post('/v1/users', { external_id: 'ann', device_id: foreign });
    expect(await mine.ids()).toEqual([]);
    expect(await mine.ids('?external_id=ann')).toEqual([]);
  });

  it('answers HEAD with the same status and no body', async () => {
    const response = await t.request('HEAD', '/v1/devices', { key: t.app.serverKey });
    expect(response.status).toBe(200);
    expect(response.body).toBe('');
  });
});

describe('400', () => {
  it.each([
    ['limit=0', 'limit too_small'],
    ['limit=201', 'limit too_big'],
    ['limit=-1', 'limit invalid_format'],
    ['limit=1.5', 'limit invalid_format'],
    ['limit=ten', 'limit invalid_format'],
    ['limit=', 'limit invalid_format'],
    ['limit=99999999999999999999', 'limit invalid_format'],
    ['platform=windows', 'platform invalid_value'],
    ['status=gone', 'status invalid_value'],
    ['channel=webpush', 'channel unrecognized_keys'],
    ['limit=1&limit=2', 'limit invalid_value'],
    ['cursor=abc', 'cursor invalid_value'],
    ['cursor=abc.def', 'cursor invalid_value'],
    ['cursor=', 'cursor invalid_value'],
    ['external_id=%00', 'external_id invalid_format'],
  ])('refuses ?%s', async (query, issue) => {
    const response = await t.server.get(`/v1/devices?${query}`);
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual([issue]);
  });

  it('lists the allowed values of an enumerated filter', async () => {
    const { body } = await t.server.get('/v1/devices?status=gone');
    expect(body.issues[0].allowed).toEqual(['active', 'invalid', 'unsubscribed']);
  });

  it('refuses a cursor that was altered, of another app, or from other filters', async () => {
    const { server, register } = await listOf();
    const other = await listOf();
    for (let i = 0; i < 2; i++) await register();
    const { body } = await server.get('/v1/devices?limit=1');
    const cursor = encodeURIComponent(body.next_cursor);
    expect((await server.get(`/v1/devices?limit=1&cursor=${cursor}`)).status).toBe(200);
    expect((await server.get(`/v1/devices?cursor=${cursor}`)).status).toBe(200);
    expect((await server.get(`/v1/devices?limit=1&platform=web&cursor=${cursor}`)).status).toBe(400);
    expect((await other.server.get(`/v1/devices?limit=1&cursor=${cursor}`)).status).toBe(400);
    expect((await server.get(`/v1/properties?cursor=${cursor}`)).status).toBe(400);
    const altered = encodeURIComponent(body.next_cursor.replace(/^./, (first: string) => (first === 'W' ? 'X' : 'W')));
    expect((await server.get(`/v1/devices?limit=1&cursor=${altered}`)).status).toBe(400);
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect(await t.request('GET', '/v1/devices')).toMatchObject({ status: 401, body: { error: 'missing_key' } });
  });
});

describe('403', () => {
  it('R-47 with a client key: it cannot list devices, and gets no CORS headers here', async () => {
    const response = await t.client.get('/v1/devices');
    expect(response).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('while the app is suspended', async () => {
    const app = await t.newApp();
    await t.sql`UPDATE apps SET suspended_at = now() WHERE id = ${app.id}`;
    expect(await t.clientOf(app.serverKey).get('/v1/devices')).toMatchObject({
      status: 403,
      body: { error: 'app_suspended' },
    });
  });
});
