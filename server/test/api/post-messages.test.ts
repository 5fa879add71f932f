import { describe, expect, it } from 'vitest';
import { setup, unknownId } from '../setup.ts';

const t = await setup();
const content = { title: 'Sale', body: 'Now on', url: 'https://shop.example/sale' };
const issuesOf = (body: { issues: { path: unknown[]; code: string }[] }) =>
  body.issues.map(({ path, code }) => [path, code]);

describe('200', () => {
  it('an immediate message reaches its device and reports it', async () => {
    const subscription = t.pushSubscription();
    const device = await t.registerDevice({ token: subscription });
    const answer = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'sent', replayed: false, report: { accepted: 1, sent: 1, failed: 0, skipped: 0 } },
    });
    expect(Object.keys(answer.body)).toEqual(['id', 'status', 'replayed', 'report']);
    expect(Object.keys(answer.body.report)).toEqual(['accepted', 'sent', 'failed', 'skipped']);
    expect(answer.body.id).toMatch(/^msg_[0-9A-Za-z]{22}$/);
    const [pushed, ...more] = t.push.requestsOf(subscription.endpoint.split('/').at(-1) ?? '');
    expect(more).toEqual([]);
    expect(pushed?.headers).toMatchObject({ ttl: '259200', urgency: 'high', 'content-encoding': 'aes128gcm' });
    expect(pushed?.headers['topic']).toBe(answer.body.id);
  });

  it('an empty audience is a message with zeros', async () => {
    const app = await t.newApp();
    const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    expect(body.report).toEqual({ accepted: 0, sent: 0, failed: 0, skipped: 0 });
    const message = await t.clientOf(app.serverKey).get(`/v1/messages/${body.id}`);
    expect(message.body).toMatchObject({ status: 'sent', report: { accepted: 0 } });
    expect(message.body.finished_at).not.toBeNull();
  });

  it('R-16 a device listed twice is one delivery, and foreign, unknown and malformed ids are only counted', async () => {
    const device = await t.registerDevice();
    const foreign = await t.registerDevice({}, await t.newApp());
    const audience = { device_ids: [device, device, foreign, unknownId('dev'), 'nonsense', ''] };
    const { body } = await t.server.post('/v1/messages', { audience, content });
    expect(body.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
    const message = await t.server.get(`/v1/messages/${body.id}`);
    expect(message.body.audience_unmatched).toBe(4);
  });

  it('external ids reach all active devices of those users, and no others', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const devices = [await t.registerDevice({}, app), await t.registerDevice({}, app), await t.registerDevice({}, app)];
    await server.post('/v1/users', { external_id: 'u-1', device_id: devices[0] });
    await server.post('/v1/users', { external_id: 'u-1', device_id: devices[1] });
    await server.post('/v1/users', { external_id: 'u-2', device_id: devices[2] });
    const { body } = await server.post('/v1/messages', { audience: { external_ids: ['u-1', 'ghost'] }, content });
    expect(body.report).toEqual({ accepted: 2, sent: 2, failed: 0, skipped: 0 });
    expect((await server.get(`/v1/messages/${body.id}`)).body.audience_unmatched).toBe(1);
  });

  it('a device of a channel without credential is skipped, and the others are sent to', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.registerDevice({}, app);
    await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) }, app);
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content });
    expect(body.report).toEqual({ accepted: 2, sent: 1, failed: 0, skipped: 1 });
    const message = (await server.get(`/v1/messages/${body.id}`)).body;
    expect(message).toMatchObject({
      status: 'sent',
      by_channel: {
        webpush: { accepted: 1, sent: 1, failed: 0, skipped: 0 },
        apns: { accepted: 1, sent: 0, failed: 0, skipped: 1 },
        fcm: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
      },
      error_counts: { not_configured: 1 },
    });
  });

  it('a message to more devices than one process works at once goes to the workers and is still answered completely', async () => {
    const app = await t.newApp();
    await Promise.all(Array.from({ length: 60 }, () => t.registerDevice({}, app)));
    const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    expect(body.report).toEqual({ accepted: 60, sent: 60, failed: 0, skipped: 0 });
  });

  it('a delivery that waits for a retry is pending, and the answer does not wait for it beyond SEND_WAIT_MS', async () => {
    const s = await setup({ environment: { SEND_WAIT_MS: '300' } });
    const subscription = s.pushSubscription('busy');
    s.push.script('busy', (_request, response) => {
      response.writeHead(503, { 'retry-after': '120' });
      response.end();
    });
    const device = await s.registerDevice({ token: subscription });
    const { body } = await s.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    expect(body.report).toEqual({ accepted: 1, sent: 0, failed: 0, skipped: 0, pending: 1 });
  });

  it('name and metadata are returned with the message, and never sent to a device', async () => {
    const device = await t.registerDevice();
    const metadata = { campaign: 'autumn-26', wave: 2, test: true };
    const { body } = await t.server.post('/v1/messages', {
      audience: { device_ids: [device] },
      content,
      name: 'Autumn sale',
      metadata,
    });
    expect((await t.server.get(`/v1/messages/${body.id}`)).body).toMatchObject({ name: 'Autumn sale', metadata });
  });
});

describe('200 with warnings about devices that were not reached', () => {
  const codesOf = ({ warnings = [] }: { warnings?: { code: string }[] }) => warnings.map(({ code }) => code);

  it('has none when everybody was reached', async () => {
    const device = await t.registerDevice();
    const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    expect(Object.keys(body)).toEqual(['id', 'status', 'replayed', 'report']);
  });

  it('counts ids that name no active device, in the first answer and in a replay', async () => {
    const device = await t.registerDevice();
    const gone = await t.registerDevice();
    await t.server.delete(`/v1/devices/${gone}`);
    const request = { audience: { device_ids: [device, gone, 'dev_nobody'] }, content };
    const headers = { 'idempotency-key': 'some-are-gone' };
    const first = await t.server.post('/v1/messages', request, headers);
    const report = { accepted: 1, sent: 1, failed: 0, skipped: 0 };
    expect(first.body).toMatchObject({ replayed: false, report, audience_unmatched: 2 });
    expect(first.body).not.toHaveProperty('warnings');
    const replay = await t.server.post('/v1/messages', request, headers);
    expect(replay.body).toEqual({ ...first.body, replayed: true });
  });

  it('explains an empty audience, in a replay as well', async () => {
    const request = { audience: { external_ids: ['nobody', 'no-one'] }, content };
    const headers = { 'idempotency-key': 'to-nobody' };
    const first = await t.server.post('/v1/messages', request, headers);
    expect(first.body).toMatchObject({
      status: 'sent',
      report: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
      warnings: [
        { code: 'empty_audience', message: 'No active device is in this audience.' },
        { code: 'none_sent', message: 'Nobody got this message: its audience is empty.' },
      ],
      audience_unmatched: 2,
    });
    expect((await t.server.post('/v1/messages', request, headers)).body).toEqual({ ...first.body, replayed: true });
  });

  it('names a channel without a credential with the devices it skipped; others are sent to', async () => {
    const app = await t.newApp();
    await t.registerDevice({}, app);
    for (const token of ['a'.repeat(64), 'b'.repeat(64)]) await t.registerDevice({ platform: 'ios', token }, app);
    const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    const message = '2 devices were skipped: Apple push has no credential.';
    expect(body.report).toEqual({ accepted: 3, sent: 1, failed: 0, skipped: 2 });
    expect(body.warnings).toEqual([{ code: 'channel_not_configured', channel: 'apns', message }]);
  });

  it('tells that no device got the message, with the codes of its deliveries', async () => {
    const app = await t.newApp();
    t.push.script('gone-for-good', (_request, response) => response.writeHead(410).end());
    await t.registerDevice({ token: t.pushSubscription('gone-for-good') }, app);
    await t.registerDevice({ platform: 'android', token: 'fcm-token-of-nobody' }, app);
    const { body } = await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    expect(body.report).toEqual({ accepted: 2, sent: 0, failed: 1, skipped: 1 });
    expect(codesOf(body)).toEqual(['channel_not_configured', 'none_sent']);
    expect(body.warnings[1].message).toMatch(
      /^Nobody got this message: 1 failed, 1 skipped \((?=.*unregistered: 1)(?=.*not_configured: 1).*\)\.$/,
    );
  });

  it("repeats a dry run's warnings about content for web push, only when a browser gets it", async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.registerDevice({}, app);
    const request = {
      audience: { all: true },
      content: { title: 'x'.repeat(1000), body: 'y'.repeat(2000), url: 'shop://sale' },
    };
    const { body } = await server.post('/v1/messages', request);
    expect(codesOf(body)).toEqual(['large_payload', 'url_dropped']);
    expect(body.warnings).toEqual((await server.post('/v1/messages', { ...request, dry_run: true })).body.warnings);

    const phones = await t.newApp();
    await t.registerDevice({ platform: 'android', token: 'fcm-token-alone' }, phones);
    const skipped = await t.clientOf(phones.serverKey).post('/v1/messages', request);
    expect(codesOf(skipped.body)).toEqual(['channel_not_configured', 'none_sent']);
  });

  it('has none for deliveries that are pending', async () => {
    const s = await setup({ environment: { SEND_WAIT_MS: '100' } });
    s.push.script('later', (_request, response) => response.writeHead(503, { 'retry-after': '120' }).end());
    const device = await s.registerDevice({ token: s.pushSubscription('later') });
    const { body } = await s.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    expect(body.report).toMatchObject({ sent: 0, pending: 1 });
    expect(body).not.toHaveProperty('warnings');
  });
});

describe('200, dry run', () => {
  it('counts, warns, sends nothing and stores nothing', async () => {
    const app = await t.newApp({ plan: 'free' });
    const server = t.clientOf(app.serverKey);
    await t.registerDevice({}, app);
    await t.registerDevice({ platform: 'android', token: 'fcm-token' }, app);
    const before = t.push.requests.length;
    const { status, body } = await server.post('/v1/messages', {
      audience: { all: true },
      content: { title: 'x'.repeat(1000), body: 'y'.repeat(2000), url: 'shop://sale' },
      dry_run: true,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      dry_run: true,
      count: 2,
      users: 0,
      by_channel: { webpush: 1, apns: 0, fcm: 1 },
      quota: { plan: 'free', limit: 10_000, used: 0, requested: 2, fits: true },
    });
    const codes = body.warnings.map((warning: { code: string }) => warning.code);
    expect(codes).toEqual(['channel_not_configured', 'large_payload', 'url_dropped']);
    expect((await server.get('/v1/messages')).body.data).toEqual([]);
    expect(t.push.requests.length).toBe(before);
  });

  it('ignores the Idempotency-Key and reports when no device would be reached', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const request = { audience: { all: true }, content, dry_run: true };
    const first = await server.post('/v1/messages', request, { 'idempotency-key': 'dry' });
    const second = await server.post('/v1/messages', request, { 'idempotency-key': 'dry' });
    expect(second.body).toEqual(first.body);
    expect(first.body).toMatchObject({ quota: null, warnings: [{ code: 'empty_audience' }] });
  });
});

describe('Idempotency-Key', () => {
  it('R-10 50 concurrent identical requests are one message, one fresh answer and one push', async () => {
    const token = 'idempotent-50';
    const device = await t.registerDevice({ token: t.pushSubscription(token) });
    const request = { audience: { device_ids: [device] }, content };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => t.server.post('/v1/messages', request, { 'idempotency-key': 'race' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => !body.replayed)).toHaveLength(1);
    for (const { body } of answers) expect(body.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
    expect(t.push.requestsOf(token)).toHaveLength(1);
  });

  it('R-11 the same key with another request is refused, and the original is unaffected', async () => {
    const device = await t.registerDevice();
    const request = { audience: { device_ids: [device] }, content };
    const first = await t.server.post('/v1/messages', request, { 'idempotency-key': 'other-body' });
    const other = { ...request, content: { ...content, title: 'Other' } };
    const second = await t.server.post('/v1/messages', other, { 'idempotency-key': 'other-body' });
    expect(second.status).toBe(400);
    expect(issuesOf(second.body)).toEqual([[['idempotency-key'], 'idempotency_key_reused']]);
    expect((await t.server.get(`/v1/messages/${first.body.id}`)).body.content).toEqual(content);
  });

  it('R-11 key order, white space, nulls and dry_run false do not make another request', async () => {
    const device = await t.registerDevice();
    const first = await t.server.post(
      '/v1/messages',
      { audience: { device_ids: [device] }, content },
      { 'idempotency-key': 'reordered' },
    );
    const raw = `{ "name": null, "dry_run": false,\n "content": {"url":"https://shop.example/sale","body":"Now on","title":"Sale"},
      "audience": {"device_ids": ["${device}"]}, "send_at": null }`;
    const second = await t.request('POST', '/v1/messages', {
      key: t.app.serverKey,
      raw,
      headers: { 'content-type': 'application/json; charset=utf-8', 'idempotency-key': 'reordered' },
    });
    expect(second.body).toEqual({ ...first.body, replayed: true });
  });

  it("R-12 belongs to the app: another app's same key is independent", async () => {
    const app = await t.newApp();
    const request = { audience: { all: true }, content };
    const mine = await t.server.post(
      '/v1/messages',
      { audience: { device_ids: ['x'] }, content },
      { 'idempotency-key': 'mine' },
    );
    const theirs = await t.clientOf(app.serverKey).post('/v1/messages', request, { 'idempotency-key': 'mine' });
    expect(theirs.body).toMatchObject({ replayed: false });
    expect(theirs.body.id).not.toBe(mine.body.id);
  });

  it('R-13 a refused request does not use the key up', async () => {
    const device = await t.registerDevice();
    const headers = { 'idempotency-key': 'after-400' };
    expect((await t.server.post('/v1/messages', { audience: {}, content }, headers)).status).toBe(400);
    const good = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content }, headers);
    expect(good.body).toMatchObject({ replayed: false });
  });

  it('R-15 is compared exactly, with quotation marks and case', async () => {
    const request = { audience: { device_ids: ['x'] }, content };
    const ids = await Promise.all(
      ['"k"', 'k', 'K', '~'.repeat(255)].map(async (key) => {
        const { status, body } = await t.server.post('/v1/messages', request, { 'idempotency-key': key });
        expect(status).toBe(200);
        return body.id;
      }),
    );
    expect(new Set(ids).size).toBe(4);
  });

  it.each(['', 'a b', 'a\tb', 'x'.repeat(256), 'ü'])('R-15 %j is refused', async (key) => {
    const request = { audience: { device_ids: ['x'] }, content };
    const { status, body } = await t.server.post('/v1/messages', request, { 'idempotency-key': key });
    expect(status).toBe(400);
    expect(issuesOf(body)).toEqual([[['idempotency-key'], 'invalid_format']]);
  });

  it('R-13 a replay is answered when the quota is used up, and charges nothing', async () => {
    const app = await t.newApp({ plan: 'free' });
    const server = t.clientOf(app.serverKey);
    await t.registerDevice({}, app);
    const request = { audience: { all: true }, content };
    const first = await server.post('/v1/messages', request, { 'idempotency-key': 'quota' });
    await t.sql`UPDATE usage SET used = 10000 WHERE app_id = ${app.id}`;
    const replay = await server.post('/v1/messages', request, { 'idempotency-key': 'quota' });
    expect(replay.body).toEqual({ ...first.body, replayed: true });
    const [usage] = await t.sql`SELECT used FROM usage WHERE app_id = ${app.id}`;
    expect(usage?.['used']).toBe(10_000);
  });
});

describe('personalization', () => {
  it('R-74 a template whose result is too long fails only that delivery', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    for (const [externalId, size] of [
      ['short', 3],
      ['long', 1000],
    ] as const) {
      const device = await t.registerDevice({}, app);
      await server.post('/v1/users', {
        external_id: externalId,
        device_id: device,
        properties: { word: 'x'.repeat(size) },
      });
    }
    const title = '{{properties.word}}'.repeat(5);
    const { body } = await server.post('/v1/messages', { audience: { all: true }, content: { title } });
    expect(body.report).toEqual({ accepted: 2, sent: 1, failed: 1, skipped: 0 });
    const failed = await server.get(`/v1/messages/${body.id}/deliveries?status=failed`);
    expect(failed.body.data).toMatchObject([{ external_id: 'long', error_code: 'payload_too_large', attempts: 0 }]);
  });
});

describe('400', () => {
  const audience = { all: true };
  it.each<[string, unknown, unknown[], string]>([
    ['no audience', { content }, ['audience'], 'required'],
    ['no selector', { audience: {}, content }, ['audience'], 'exactly_one_required'],
    ['two selectors', { audience: { all: true, device_ids: ['x'] }, content }, ['audience'], 'exactly_one_required'],
    ['all: false', { audience: { all: false }, content }, ['audience', 'all'], 'invalid_value'],
    ['an empty list', { audience: { device_ids: [] }, content }, ['audience', 'device_ids'], 'too_small'],
    ['an unknown selector', { audience: { everyone: true }, content }, ['audience', 'everyone'], 'unrecognized_keys'],
    ['no content', { audience }, ['content'], 'required'],
    ['empty content', { audience, content: {} }, ['content'], 'empty_content'],
    ['content of blanks', { audience, content: { title: ' \u200b', body: '\u00a0' } }, ['content'], 'empty_content'],
    ['an unknown field', { audience, content, colour: 'red' }, ['colour'], 'unrecognized_keys'],
    [
      'an unknown channel field',
      { audience, content: { ...content, apns: { ttl: 5, bell: 1 } } },
      ['content', 'apns', 'bell'],
      'unrecognized_keys',
    ],
    ['a broken template', { audience, content: { title: '{{ first_name' } }, ['content', 'title'], 'template_syntax'],
    [
      'an unknown variable',
      { audience, content: { title: '{{ password }}' } },
      ['content', 'title'],
      'template_syntax',
    ],
    ['a forbidden tag', { audience, content: { title: "{% include 'x' %}" } }, ['content', 'title'], 'template_syntax'],
    [
      'a dangerous url',
      { audience, content: { ...content, url: 'javascript:alert(1)' } },
      ['content', 'url'],
      'invalid_format',
    ],
    ['a title of the wrong type', { audience, content: { title: 7 } }, ['content', 'title'], 'invalid_type'],
    [
      'a reserved data key',
      { audience, content: { ...content, data: { aps: '1' } } },
      ['content', 'data', 'aps'],
      'reserved_key',
    ],
    ['U+0000', { audience, content: { title: 'a\u0000b' } }, ['content', 'title'], 'invalid_format'],
    ['an unpaired surrogate', { audience, content: { title: 'a\ud800' } }, ['content', 'title'], 'invalid_format'],
    ['a name too long', { audience, content, name: 'x'.repeat(129) }, ['name'], 'too_big'],
    [
      'a metadata value of the wrong type',
      { audience, content, metadata: { a: {} } },
      ['metadata', 'a'],
      'invalid_type',
    ],
    ['no object', [], [], 'invalid_type'],
  ])('%s', async (_what, body, path, code) => {
    const answer = await t.server.post('/v1/messages', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe('validation_failed');
    expect(issuesOf(answer.body)).toContainEqual([path, code]);
    expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
  });

  it('names the allowed values of a channel object', async () => {
    const { body } = await t.server.post('/v1/messages', { audience, content: { ...content, fcm: { sond: 'x' } } });
    expect(body.issues[0].allowed).toContain('sound');
  });

  it.each([
    ['no JSON', '{', 'application/json'],
    ['another content type', '{}', 'text/xml'],
    ['JSON nested deeper than 32', '['.repeat(33) + ']'.repeat(33), 'application/json'],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'application/json'],
  ])('R-70 %s', async (_what, raw, type) => {
    const answer = await t.request('POST', '/v1/messages', {
      key: t.app.serverKey,
      raw,
      headers: { 'content-type': type },
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'invalid_json', issues: [{ path: [], code: 'invalid_json' }] },
    });
  });

  it('R-70 more than 1 MiB', async () => {
    const raw = JSON.stringify({ audience, content: { title: 'x'.repeat(1024 * 1024) } });
    const answer = await t.request('POST', '/v1/messages', { key: t.app.serverKey, raw });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'body_too_large', issues: [{ code: 'body_too_large' }] },
    });
  });

  it('stores nothing', async () => {
    const app = await t.newApp();
    await t
      .clientOf(app.serverKey)
      .post('/v1/messages', { audience, content: { title: '{{' } }, { 'idempotency-key': 'n' });
    const [count] = await t.sql`SELECT count(*) AS messages FROM messages WHERE app_id = ${app.id}`;
    expect(count?.['messages']).toBe(0);
  });
});

describe('401 and 403', () => {
  const request = { audience: { all: true }, content };
  it('a client key is refused by its scope before the body is read', async () => {
    const answer = await t.request('POST', '/v1/messages', { key: t.app.clientKey, raw: '{' });
    expect(answer).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
  });

  it('no key, and a malformed key', async () => {
    expect(await t.request('POST', '/v1/messages', { body: request })).toMatchObject({
      status: 401,
      body: { error: 'missing_key' },
    });
    const bad = await t.request('POST', '/v1/messages', { key: `${t.app.serverKey.slice(0, -1)}!`, body: request });
    expect(bad).toMatchObject({ status: 401, body: { error: 'invalid_key' } });
  });
});

describe('429', () => {
  it('an audience above the quota is refused as a whole: nothing sent, stored or charged', async () => {
    const app = await t.newApp({ plan: 'free' });
    const server = t.clientOf(app.serverKey);
    await t.registerDevice({}, app);
    await t.registerDevice({}, app);
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, date_trunc('month', now()), 9999)`;
    const before = t.push.requests.length;
    const { status, headers, body } = await server.post('/v1/messages', { audience: { all: true }, content });
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBeNull();
    expect(body).toMatchObject({
      error: 'quota_exceeded',
      message: 'This message needs 2 deliveries; 1 is left this month.',
      quota: { plan: 'free', limit: 10_000, used: 9999, requested: 2 },
    });
    expect(body.upgrade).toMatch(/upgrade/i);
    expect(t.push.requests.length).toBe(before);
    expect((await server.get('/v1/messages')).body.data).toEqual([]);
    const [usage] = await t.sql`SELECT used FROM usage WHERE app_id = ${app.id}`;
    expect(usage?.['used']).toBe(9999);
  });

  it('skipped deliveries are refunded', async () => {
    const app = await t.newApp({ plan: 'free', channels: false });
    await t.registerDevice({}, app);
    await t.clientOf(app.serverKey).post('/v1/messages', { audience: { all: true }, content });
    const [usage] = await t.sql`SELECT used FROM usage WHERE app_id = ${app.id}`;
    expect(usage?.['used']).toBe(0);
  });
});
