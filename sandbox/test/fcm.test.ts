// FCM v1 and Google's token endpoint refuse what the real ones refuse, with bodies that a client
// can decide by.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { assertion, errorOf, projectId, startFcm } from './phone-setup.ts';
import { control } from './setup.ts';

const now = (): number => Math.floor(Date.now() / 1000);

test('an accepted message is 200 with its name, and the phone shows it', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  const answer = await t.send(
    token,
    t.message({ data: { carillon_token: 'r' }, android: { notification: { tag: 'msg_1' } } }),
  );
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.body).name).toMatch(new RegExp(`^projects/${projectId}/messages/`));
  const record = t.sandbox.log.requests.at(-1);
  expect(record).toMatchObject({ vendor: 'fcm_v1', token: t.phone, isDelivered: true });
  expect(record?.notification).toMatchObject({ title: 'Hello', tag: 'msg_1', receiptToken: 'r' });
  expect(record?.checks.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
});

test('members may be spelled in either way, and data alone wakes the app and shows nothing', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  const camel = t.message({
    android: { collapseKey: 'a', notification: { channelId: 'orders', notificationCount: 2 } },
  });
  expect((await t.send(token, camel)).status).toBe(200);
  expect(t.sandbox.log.requests.at(-1)?.notification?.phone).toMatchObject({ group: 'orders', count: 2 });
  expect((await t.send(token, { message: { token: t.phone, data: { a: 'b' } } })).status).toBe(200);
  expect(t.sandbox.log.requests.at(-1)).toMatchObject({ isDelivered: true, notification: null });
});

test('the case of enumerated values does not matter, as in Google’s own examples', async () => {
  const t = await startFcm();
  const android = { priority: 'high', notification: { visibility: 'private' } };
  expect((await t.send(await t.accessToken(), t.message({ android }))).status).toBe(200);
  expect(t.sandbox.log.requests.at(-1)?.notification?.phone).toMatchObject({ level: 'HIGH' });
});

test('validate_only examines the message and sends it to nobody', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  const dry = await t.send(token, { validate_only: true, ...t.message() });
  expect(JSON.parse(dry.body).name).toBe(`projects/${projectId}/messages/fake_message_id`);
  expect(t.sandbox.log.requests.at(-1)).toMatchObject({ isDelivered: false });
  expect((await t.send(token, { validate_only: true, ...t.message({ data: { a: 1 } }) })).status).toBe(400);
});

test('a message with endless nesting is refused, and the next one goes through', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  const depth = 20_000;
  const nested = `{"message":{"token":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
  expect(errorOf(await t.send(token, nested))).toMatchObject({ status: 400, name: 'INVALID_ARGUMENT' });
  expect((await control(t.sandbox, 'GET', '/log')).status).toBe(200);
  expect((await t.send(token, t.message())).status).toBe(200);
});

describe('a message is refused', () => {
  test.each<[string, object, RegExp, string | undefined]>([
    [
      'with a member that does not exist',
      { tokn: 'x' },
      /^Invalid JSON payload received\. Unknown name "tokn" at 'message': Cannot find field\.$/,
      undefined,
    ],
    [
      'with a member that does not exist further down',
      { android: { notification: { colour: 'x' } } },
      /Unknown name "colour" at 'message\.android\.notification'/,
      undefined,
    ],
    [
      'with data that is no string',
      { data: { a: 'b', n: 5 } },
      /^Invalid value at 'message\.data\[1\]\.value' \(TYPE_STRING\), 5$/,
      undefined,
    ],
    [
      'with data that is nested',
      { data: { a: { b: 'c' } } },
      /Unknown name "b" at 'message\.data\[0\]\.value'/,
      undefined,
    ],
    ['with a reserved key', { data: { from: 'x' } }, /Invalid data payload key: from/, undefined],
    [
      'with a reserved beginning of a key',
      { data: { 'google.x': 'x' } },
      /Invalid data payload key: google\.x/,
      undefined,
    ],
    [
      'with a priority that is none',
      { android: { priority: 'URGENT' } },
      /'message\.android\.priority' \(TYPE_ENUM\)/,
      undefined,
    ],
    ['with a ttl that is none', { android: { ttl: '60' } }, /google\.protobuf\.Duration/, undefined],
    ['with a ttl of more than four weeks', { android: { ttl: '2419201s' } }, /ttl/, undefined],
    ['with a color that is none', { android: { notification: { color: 'red' } } }, /color/, undefined],
    ['with two targets', { topic: 'news' }, /oneof/, undefined],
    ['without a target', { token: undefined }, /^Recipient of the message is not set\.$/, undefined],
    ['with more than 4,096 bytes', { data: { a: 'x'.repeat(4096) } }, /too big/, 'INVALID_ARGUMENT'],
    ['for a token that never was one', { token: 'abc' }, /not a valid FCM registration token/, 'INVALID_ARGUMENT'],
  ])('with 400 %s', async (_what, overrides, message, code) => {
    const t = await startFcm();
    const answer = await t.send(await t.accessToken(), t.message(overrides));
    expect(errorOf(answer)).toEqual({
      status: 400,
      name: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
      code,
    });
    expect(t.sandbox.log.requests.at(-1)).toMatchObject({ isDelivered: false });
  });

  test('with 404 UNREGISTERED once the app is gone, and 403 SENDER_ID_MISMATCH in another project', async () => {
    const t = await startFcm();
    const token = await t.accessToken();
    const [foreign] = t.sandbox.install({ platform: 'android', project_id: 'another-shop' });
    const mismatch = errorOf(await t.send(token, t.message({ token: foreign })));
    expect(mismatch).toMatchObject({ status: 403, name: 'PERMISSION_DENIED', code: 'SENDER_ID_MISMATCH' });
    t.sandbox.uninstall(t.phone);
    const gone = errorOf(await t.send(token, t.message()));
    expect(gone).toMatchObject({ status: 404, name: 'NOT_FOUND', code: 'UNREGISTERED' });
  });

  test('with Google’s page instead of JSON at a wrong address', async () => {
    const t = await startFcm();
    for (const path of ['/fcm/send', '/batch', '/v1/projects//messages:send', '/v1/projects/a/messages']) {
      const answer = await t.send('x', t.message(), path);
      expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/html; charset=UTF-8']);
      expect(answer.body).toContain('<title>Error 404 (Not Found)!!1</title>');
    }
  });

  test('with 400 when it is no JSON', async () => {
    const t = await startFcm();
    expect(errorOf(await t.send(await t.accessToken(), '{'))).toMatchObject({ status: 400, code: undefined });
  });
});

describe('an access token is refused', () => {
  test('with 401 when absent, invented, expired, or of a removed account', async () => {
    let clock = Date.now();
    const t = await startFcm({ now: () => clock }, { token_seconds: 60 });
    const status = async (token: string | undefined) => errorOf(await t.send(token, t.message()));
    expect(await status(undefined)).toMatchObject({ status: 401, name: 'UNAUTHENTICATED', code: undefined });
    expect(await status('ya29.invented')).toMatchObject({ status: 401, name: 'UNAUTHENTICATED' });
    const token = await t.accessToken();
    expect((await t.send(token, t.message())).status).toBe(200);
    clock += 61_000;
    expect(await status(token)).toMatchObject({ status: 401 });
    const fresh = await t.accessToken();
    expect((await t.send(fresh, t.message())).status).toBe(200);
    const email = encodeURIComponent(t.file['client_email'] ?? '');
    expect((await control(t.sandbox, 'DELETE', `/fcm/service-accounts/${email}`)).status).toBe(204);
    expect(await status(fresh)).toMatchObject({ status: 401 });
  });

  test('with 404 and no code of FCM for a project that does not exist', async () => {
    const t = await startFcm();
    const path = '/v1/projects/mistyped-shop/messages:send';
    const missing = errorOf(await t.send(await t.accessToken(), t.message(), path));
    expect(missing).toMatchObject({ status: 404, name: 'NOT_FOUND', code: undefined });
  });

  test('with 403 for another project, and with a scope that does not allow messaging', async () => {
    const t = await startFcm();
    t.sandbox.install({ platform: 'android', project_id: 'another-shop' });
    const path = '/v1/projects/another-shop/messages:send';
    const denied = errorOf(await t.send(await t.accessToken(), t.message(), path));
    expect(denied).toMatchObject({ status: 403, name: 'PERMISSION_DENIED', code: undefined });
    const narrow = await t.accessToken({ scope: 'https://www.googleapis.com/auth/drive' });
    expect(errorOf(await t.send(narrow, t.message()))).toMatchObject({ status: 403, code: undefined });
  });
});

describe('the token endpoint', () => {
  test('gives a bearer token for almost an hour, and takes Google’s own address as the audience', async () => {
    const t = await startFcm();
    const answer = await t.ask(assertion(t.file, { aud: 'https://oauth2.googleapis.com/token' }));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({
      access_token: expect.stringMatching(/^ya29\./),
      expires_in: 3599,
      token_type: 'Bearer',
    });
    expect(t.sandbox.log.counters()).toMatchObject({ requests: 0, tokenRequests: 1 });
  });

  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  test.each<[number, string, string, (file: Record<string, string>) => string]>([
    [400, 'invalid_request', 'without a grant type', () => ''],
    [400, 'unsupported_grant_type', 'for another grant', () => 'grant_type=password'],
    [400, 'invalid_request', 'without an assertion', () => 'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer'],
    [
      400,
      'invalid_grant',
      'signed by another key',
      (file) => assertion({ ...file, private_key: otherKey.export({ type: 'pkcs8', format: 'pem' }).toString() }),
    ],
    [400, 'invalid_grant', 'of a deleted key', (file) => assertion(file, {}, { kid: 'deleted' })],
    [400, 'invalid_grant', 'of an unknown account', (file) => assertion(file, { iss: 'a@b.iam.gserviceaccount.com' })],
    [400, 'invalid_grant', 'for another audience', (file) => assertion(file, { aud: 'https://example.com/' })],
    [400, 'invalid_grant', 'for more than an hour', (file) => assertion(file, { exp: now() + 7200 })],
    [400, 'invalid_grant', 'that has expired', (file) => assertion(file, { iat: now() - 7200, exp: now() - 3600 })],
    [400, 'invalid_scope', 'without a scope', (file) => assertion(file, { scope: undefined })],
    [401, 'unauthorized_client', 'on behalf of somebody', (file) => assertion(file, { sub: 'boss@example.com' })],
  ])('refuses with %i %s an assertion %s', async (status, error, _what, make) => {
    const t = await startFcm();
    const answer = await t.ask(make(t.file));
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([status, error]);
    expect(t.sandbox.log.requests.at(-1)).toMatchObject({ vendor: 'google_oauth', isDelivered: false });
  });
});

test('stream number 101 ends the connection with exceeded_max_concurrent_streams', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  t.sandbox.addFault({ match: { vendor: 'fcm_v1' }, action: { type: 'hang' } });
  const goaway = once(t.connection.session, 'goaway');
  const sends = Array.from({ length: 101 }, () => t.send(token, t.message()));
  const settled = Promise.allSettled(sends);
  const [code, , debug] = await goaway;
  expect([code, Buffer.from(debug).toString()]).toEqual([1, 'exceeded_max_concurrent_streams']);
  expect(t.sandbox.log.counters().streamsExceeded).toBe(1);
  t.sandbox.dropConnections();
  expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
});

test('the scheme “https:” of Google’s own library is accepted, and the connection goes on', async () => {
  const t = await startFcm();
  const path = `/v1/projects/${projectId}/messages:send`;
  const headers = { ':method': 'POST', ':path': path, authorization: `Bearer ${await t.accessToken()}` };
  for (const scheme of ['https:', 'https', 'https:']) {
    const answer = await t.connection.request({ ...headers, ':scheme': scheme }, JSON.stringify(t.message()));
    expect(answer.status).toBe(200);
  }
  expect(t.sandbox.log.counters()).toMatchObject({ delivered: 3, connections: { h2: 1 } });
});

test('a hundred concurrent streams are answered', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  const answers = await Promise.all(Array.from({ length: 100 }, () => t.send(token, t.message())));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
});
