// APNs refuses what Apple refuses, with Apple's reason, and accepts what Apple accepts. Requests
// are built by hand after "Sending notification requests to APNs".
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AppleTeam, alertPayload, apnsRequest, bundleId, Connection, jwt, startApns } from './phone-setup.ts';

const hour = 3600;
const now = (): number => Math.floor(Date.now() / 1000);
const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;

test('an accepted push is 200 with its id and no body, and the phone shows it', async () => {
  const t = await startApns();
  const id = '0123abcd-0000-4000-8000-0123456789ab';
  const answer = await t.push({ 'apns-id': id });
  expect([answer.status, answer.body, answer.headers['apns-id']]).toEqual([200, '', id]);
  expect(answer.headers['apns-unique-id']).toBeUndefined();
  const [record] = t.sandbox.log.requests;
  expect(record).toMatchObject({ vendor: 'apns', token: t.phone, isDelivered: true });
  expect(record?.notification).toMatchObject({ title: 'Hello', body: 'World', tag: 'msg_1' });
  expect(record?.providerToken).toMatchObject({ header: { kid: t.team.keyId }, claims: { iss: t.team.teamId } });
  expect(record?.checks.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
});

test('the development environment is separate, and returns an apns-unique-id', async () => {
  const t = await startApns({}, { environment: 'sandbox' });
  const wrong = await t.push();
  expect([wrong.status, JSON.parse(wrong.body)]).toEqual([400, { reason: 'BadDeviceToken' }]);
  const development = new Connection(t.sandbox, t.sandbox.phoneUrls.apnsSandbox);
  const right = await development.request(apnsRequest(t.phone, t.token), JSON.stringify(alertPayload));
  expect(right.status).toBe(200);
  expect(right.headers['apns-unique-id']).toMatch(/^[0-9a-f-]{36}$/);
});

test("the case of a phone's token does not matter", async () => {
  const t = await startApns();
  expect((await t.push({ ':path': `/3/device/${t.phone.toUpperCase()}` })).status).toBe(200);
});

test('HTTP/1.1 is not spoken', async () => {
  const { sandbox } = await startApns();
  const { port } = new URL(sandbox.phoneUrls.apns);
  const socket = connect({
    port: Number(port),
    host: '127.0.0.1',
    ca: sandbox.certificate,
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  });
  onTestFinished(() => void socket.destroy());
  await expect(once(socket, 'secureConnect')).rejects.toThrow(/no application protocol/);
});

describe('a request is refused', () => {
  const long = { aps: { alert: 'x'.repeat(4096) } };
  test.each<[number, string, string, Parameters<typeof apnsRequest>[2], unknown]>([
    [405, 'MethodNotAllowed', 'by another method', { ':method': 'PUT' }, alertPayload],
    [404, 'BadPath', 'at another path', { ':path': '/3/devices/ab' }, alertPayload],
    [400, 'MissingDeviceToken', 'without a device token', { ':path': '/3/device/' }, alertPayload],
    [400, 'BadDeviceToken', 'with a token that is not hexadecimal', { ':path': '/3/device/nothex' }, alertPayload],
    [
      400,
      'BadDeviceToken',
      'with a token that no phone has',
      { ':path': `/3/device/${'ab'.repeat(32)}` },
      alertPayload,
    ],
    [403, 'MissingProviderToken', 'without authorization', { authorization: undefined }, alertPayload],
    [403, 'InvalidProviderToken', 'with authorization that is no JWT', { authorization: 'bearer abc' }, alertPayload],
    [400, 'BadMessageId', 'with an id that is no UUID', { 'apns-id': 'msg_1' }, alertPayload],
    [
      400,
      'BadExpirationDate',
      'with an expiration in milliseconds',
      { 'apns-expiration': '1700000000000' },
      alertPayload,
    ],
    [400, 'BadExpirationDate', 'with an expiration below zero', { 'apns-expiration': '-1' }, alertPayload],
    [400, 'BadPriority', 'with a priority of 7', { 'apns-priority': '7' }, alertPayload],
    [400, 'InvalidPushType', 'with an unknown push type', { 'apns-push-type': 'silent' }, alertPayload],
    [400, 'InvalidPushType', 'as an alert that alerts nobody', {}, { aps: { 'content-available': 1 } }],
    [
      400,
      'InvalidPushType',
      'as background with an alert',
      { 'apns-push-type': 'background', 'apns-priority': '5' },
      alertPayload,
    ],
    ...[{ badge: 0 }, { sound: 'bell.caf' }].map(
      (shown): [number, string, string, Parameters<typeof apnsRequest>[2], unknown] => [
        400,
        'InvalidPushType',
        `as background with ${JSON.stringify(shown)}`,
        { 'apns-push-type': 'background', 'apns-priority': '5' },
        { aps: { 'content-available': 1, ...shown } },
      ],
    ),
    [
      400,
      'BadPriority',
      'as background at once',
      { 'apns-push-type': 'background' },
      { aps: { 'content-available': 1 } },
    ],
    [400, 'MissingTopic', 'without a topic', { 'apns-topic': undefined }, alertPayload],
    [400, 'BadTopic', 'with a topic that is none', { 'apns-topic': 'a b' }, alertPayload],
    [400, 'BadTopic', 'as voip without the suffix of its topic', { 'apns-push-type': 'voip' }, alertPayload],
    [400, 'DeviceTokenNotForTopic', 'for another app', { 'apns-topic': 'com.example.other' }, alertPayload],
    [400, 'BadCollapseId', 'with a collapse id of 65 bytes', { 'apns-collapse-id': 'c'.repeat(65) }, alertPayload],
    [400, 'DuplicateHeaders', 'with a header given twice', { 'apns-push-type': ['alert', 'alert'] }, alertPayload],
    [400, 'PayloadEmpty', 'without a body', {}, ''],
    [413, 'PayloadTooLarge', 'with a body of more than 4,096 bytes', {}, long],
  ])('with %i %s %s', async (status, reason, _what, overrides, payload) => {
    const t = await startApns();
    const answer = await t.push(overrides, payload);
    expect([answer.status, JSON.parse(answer.body)]).toEqual([status, { reason }]);
    expect(answer.headers['apns-id']).toBeDefined();
    expect(t.sandbox.log.requests[0]).toMatchObject({ isDelivered: false });
    expect(t.sandbox.log.requests[0]?.checks.some(({ verdict }) => verdict === 'fail')).toBe(true);
  });

  test('with 410 Unregistered and the time of the removal when the app is gone', async () => {
    const t = await startApns({ now: () => 1_800_000_000_000 });
    const token = t.team.token({ claims: { iat: 1_800_000_000 } });
    t.sandbox.uninstall(t.phone);
    const answer = await t.push({ authorization: `bearer ${token}` });
    expect(answer.status).toBe(410);
    expect(JSON.parse(answer.body)).toEqual({ reason: 'Unregistered', timestamp: 1_800_000_000_000 });
  });
});

test.each([
  [
    'voip takes 5,120 bytes',
    { 'apns-push-type': 'voip', 'apns-topic': `${bundleId}.voip` },
    { aps: {}, x: 'x'.repeat(5000) },
  ],
  ['a collapse id may have 64 bytes', { 'apns-collapse-id': 'c'.repeat(64) }, alertPayload],
  ['an expiration of 0 is one', { 'apns-expiration': '0' }, alertPayload],
  ['a payload may have 4,096 bytes', {}, { aps: { alert: 'x'.repeat(4096 - '{"aps":{"alert":""}}'.length) } }],
  [
    'a background push has priority 5',
    { 'apns-push-type': 'background', 'apns-priority': '5' },
    { aps: { 'content-available': 1 } },
  ],
])('%s', async (_what, overrides, payload) => {
  const t = await startApns();
  expect((await t.push(overrides, payload)).status).toBe(200);
});

describe('a provider token is refused', () => {
  test.each([
    [
      'InvalidProviderToken',
      'signed by another key',
      (team: AppleTeam) => jwt({ alg: 'ES256', kid: team.keyId }, { iss: team.teamId, iat: now() }, stranger),
    ],
    [
      'InvalidProviderToken',
      'of an unknown key id',
      (team: AppleTeam) => team.token({ header: { kid: 'ZZZZZZZZZZ' } }),
    ],
    ['InvalidProviderToken', 'of another team', (team: AppleTeam) => team.token({ claims: { iss: 'ZZZZZZZZZZ' } })],
    ['InvalidProviderToken', 'with another algorithm', (team: AppleTeam) => team.token({ header: { alg: 'HS256' } })],
    ['InvalidProviderToken', 'without iat', (team: AppleTeam) => team.token({ claims: { iat: undefined } })],
    ['InvalidProviderToken', 'issued in the future', (team: AppleTeam) => team.token({ claims: { iat: now() + 600 } })],
    [
      'ExpiredProviderToken',
      'issued more than an hour ago',
      (team: AppleTeam) => team.token({ claims: { iat: now() - hour - 5 } }),
    ],
  ])('with 403 %s when %s', async (reason, _what, make) => {
    const t = await startApns();
    const answer = await t.push({ authorization: `bearer ${make(t.team)}` });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([403, { reason }]);
  });

  test('with 403 when its key is for the other environment, has been revoked, or is not for the topic', async () => {
    const t = await startApns();
    const bound = new AppleTeam(t.sandbox, { environment: 'sandbox' });
    const elsewhere = await t.push({ authorization: `bearer ${bound.token()}` });
    expect([elsewhere.status, JSON.parse(elsewhere.body).reason]).toEqual([403, 'BadEnvironmentKeyIdInToken']);
    const narrow = new AppleTeam(t.sandbox, { bundle_ids: ['com.example.other'] });
    const disallowed = await t.push({ authorization: `bearer ${narrow.token()}` });
    expect([disallowed.status, JSON.parse(disallowed.body).reason]).toEqual([400, 'TopicDisallowed']);
    await fetch(`${t.sandbox.controlUrl}/apns/keys/${t.team.keyId}`, { method: 'DELETE' });
    const connection = new Connection(t.sandbox, t.sandbox.phoneUrls.apns);
    const revoked = await connection.request(apnsRequest(t.phone, t.token), JSON.stringify(alertPayload));
    expect([revoked.status, JSON.parse(revoked.body).reason]).toEqual([403, 'InvalidProviderToken']);
  });
});

describe('one connection', () => {
  test('accepts a new token every 20 minutes, refuses pushes after an earlier second one, and does not affect other connections', async () => {
    let clock = Date.now();
    const t = await startApns({ now: () => clock });
    const issued = Math.floor(clock / 1000);
    const push = async (token: string) => (await t.push({ authorization: `bearer ${token}` })).status;
    const [first, second, third] = [0, -1, 1200].map((offset) => t.team.token({ claims: { iat: issued + offset } }));
    expect(await push(first ?? '')).toBe(200);
    expect(await push(second ?? '')).toBe(429);
    const reason = t.sandbox.log.requests.at(-1)?.answer?.body;
    expect(JSON.parse(reason ?? '')).toEqual({ reason: 'TooManyProviderTokenUpdates' });
    expect(await push(first ?? '')).toBe(429);
    const other = new Connection(t.sandbox, t.sandbox.phoneUrls.apns);
    const elsewhere = await other.request(apnsRequest(t.phone, second ?? ''), JSON.stringify(alertPayload));
    expect(elsewhere.status).toBe(200);
    clock += 20 * 60 * 1000;
    expect(await push(third ?? '')).toBe(200);
  });

  test('is bound to the key of its first token', async () => {
    const t = await startApns();
    expect((await t.push()).status).toBe(200);
    const other = new AppleTeam(t.sandbox, { team_id: t.team.teamId });
    const answer = await t.push({ authorization: `bearer ${other.token()}` });
    expect([answer.status, JSON.parse(answer.body)]).toEqual([403, { reason: 'UnrelatedKeyIdInToken' }]);
  });

  test('may open one stream until its first good token, and a thousand after it', async () => {
    const t = await startApns();
    const [first] = await once(t.connection.session, 'remoteSettings');
    expect(first.maxConcurrentStreams).toBe(1);
    const refused = await t.push({ authorization: undefined });
    expect(refused.status).toBe(403);
    expect(t.connection.session.remoteSettings.maxConcurrentStreams).toBe(1);
    const raised = once(t.connection.session, 'remoteSettings');
    expect((await t.push({ ':path': '/3/device/abcd' })).status).toBe(400);
    const [then] = await raised;
    expect(then.maxConcurrentStreams).toBe(1000);
  });
});
