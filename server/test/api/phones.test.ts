// Messages to phones from end to end: through the API, to servers that play Apple and Google, into
// the timeline.
import { describe, expect, test } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import { listSparedDevices } from '../../src/sending/delivery/spared-devices.ts';
import {
  apnsKey,
  bundleId,
  clientEmail,
  grant,
  keyId,
  projectId,
  serviceAccount,
  teamId,
} from '../channels/phone-bundle.ts';
import { type Served, startPushServer } from '../channels/push-server.ts';
import { scriptOf } from '../console/console.ts';
import { setup, type TestApp } from '../setup.ts';
import { until } from '../workers/held.ts';

const [apple, appleSandbox, google] = await Promise.all(
  [0, 1, 2].map(() => startPushServer({ protocol: 'h2' as const })),
);
if (!apple || !appleSandbox || !google) throw new Error('no servers');
const addressOf = ({ port }: { port: number }) => `https://127.0.0.1:${port}`;
const fcmTokenUrl = `${addressOf(google)}/token`;
const t = await setup({
  environment: {
    APNS_URL: addressOf(apple),
    APNS_SANDBOX_URL: addressOf(appleSandbox),
    FCM_URL: addressOf(google),
    FCM_TOKEN_URL: fcmTokenUrl,
  },
});
whenDone(() => Promise.all([apple.close(), appleSandbox.close(), google.close()]));

/** The answers of Apple and Google by token; other tokens are accepted. */
const scripts = new Map<string, (request: Served) => void>();
const acceptByApple = (request: Served) => request.answer(200, { 'apns-id': request.headers['apns-id'] ?? '' });
const answerOfApple = (request: Served) =>
  (scripts.get(request.path.split('/').at(-1) ?? '') ?? acceptByApple)(request);
apple.handle = answerOfApple;
appleSandbox.handle = acceptByApple;
google.handle = (request) => {
  if (request.path === '/token') return request.answer(200, {}, grant('ya29.test'));
  const { token } = JSON.parse(request.body.toString()).message;
  const name = `projects/${projectId}/messages/0:${token}`;
  const accept = () => request.answer(200, { 'content-type': 'application/json' }, JSON.stringify({ name }));
  return (scripts.get(token) ?? accept)(request);
};

const apnsPublic = { keyId, teamId, bundleId, environment: 'production' };
const apnsCredential = { channel: 'apns', public: apnsPublic, secret: apnsKey.pem };
const fcmCredential = {
  channel: 'fcm',
  public: { projectId, clientEmail, privateKeyId: '0a1b2c3d4e5f' },
  secret: JSON.stringify(serviceAccount({ token_uri: fcmTokenUrl })),
};

async function newApp(): Promise<TestApp> {
  const app = await t.newApp();
  await t.setCredential(apnsCredential, app);
  await t.setCredential(fcmCredential, app);
  return app;
}

let devices = 0;
async function newPhone(app: TestApp, platform: 'ios' | 'android', fields: object = {}) {
  devices += 1;
  const token = platform === 'ios' ? devices.toString(16).padStart(64, 'e') : `android-${devices}`;
  return { token, id: await t.registerDevice({ platform, token, ...fields }, app) };
}

async function send(app: TestApp, deviceIds: readonly string[], content: object = { title: 'Sale', body: 'Now on' }) {
  const { status, body } = await t
    .clientOf(app.serverKey)
    .post('/v1/messages', { audience: { device_ids: deviceIds }, content });
  expect(status).toBe(200);
  await t.judged();
  return body;
}

async function deliveriesOf(app: TestApp, messageId: string) {
  const { body } = await t.clientOf(app.serverKey).get(`/v1/messages/${messageId}/deliveries`);
  return new Map(body.data.map((one: { device_id: string }) => [one.device_id, one])) as Map<string, typeof body>;
}

async function deviceOf(app: TestApp, id: string) {
  const { body } = await t.clientOf(app.serverKey).get('/v1/devices');
  return body.data.find((one: { id: string }) => one.id === id);
}

async function stateOf(app: TestApp, channel: string): Promise<string | undefined> {
  const [credential] = await t.sql<{ state: string }[]>`
    SELECT state FROM credentials WHERE app_id = ${app.id} AND channel = ${channel} AND replaced_at IS NULL`;
  return credential?.state;
}

const reason =
  (status: number, word: string, more: object = {}) =>
  (request: Served) =>
    request.answer(status, {}, JSON.stringify({ reason: word, ...more }));

test('one message reaches a browser, an iPhone and an Android phone, each in its own format', async () => {
  const app = await newApp();
  const subscription = t.pushSubscription();
  const browser = await t.registerDevice({ token: subscription }, app);
  const [iphone, android] = [await newPhone(app, 'ios'), await newPhone(app, 'android')];
  const content = {
    title: 'Sale',
    body: 'Now on',
    priority: 'normal',
    webpush: { ttl: 60, priority: 'low' },
    apns: { title: 'For iPhones', priority: 'high' },
    fcm: { title: 'For Android', ttl: 120 },
  };
  const sent = await send(app, [browser, iphone.id, android.id], content);
  expect(sent.report).toEqual({ accepted: 3, sent: 3, failed: 0, skipped: 0 });

  const [toBrowser] = t.push.requestsOf(subscription.endpoint.split('/').at(-1) ?? '');
  expect(toBrowser?.headers).toMatchObject({ ttl: '60', urgency: 'low' });
  const toApple = apple.seen.find(({ path }) => path === `/3/device/${iphone.token}`);
  expect(toApple?.headers['apns-priority']).toBe('10');
  expect(JSON.parse(String(toApple?.body))).toMatchObject({
    aps: { alert: { title: 'For iPhones', body: 'Now on' } },
    carillon_message_id: sent.id,
  });
  const toGoogle = google.seen.find(({ body }) => body.includes(android.token));
  expect(toGoogle?.path).toBe(`/v1/projects/${projectId}/messages:send`);
  expect(JSON.parse(String(toGoogle?.body)).message).toMatchObject({
    notification: { title: 'For Android', body: 'Now on' },
    android: { ttl: '120s', priority: 'NORMAL' },
    data: { carillon_message_id: sent.id },
  });

  const deliveries = await deliveriesOf(app, sent.id);
  expect(deliveries.get(iphone.id)).toMatchObject({
    platform: 'ios',
    channel: 'apns',
    status: 'sent',
    provider_message_id: toApple?.headers['apns-id'],
  });
  expect(deliveries.get(android.id)).toMatchObject({
    channel: 'fcm',
    status: 'sent',
    provider_message_id: `projects/${projectId}/messages/0:${android.token}`,
  });
  const [attempt] = deliveries.get(android.id).timeline.slice(1);
  expect(attempt.provider).toMatchObject({ name: 'fcm', http_status: 200, transport_error: null });
  expect(JSON.stringify([...deliveries])).not.toMatch(/ya29|bearer/i);

  const message = await t.clientOf(app.serverKey).get(`/v1/messages/${sent.id}`);
  expect(message.body.by_channel).toMatchObject({ apns: { sent: 1 }, fcm: { sent: 1 } });
});

test('the token in a push counts the click on a phone', async () => {
  const app = await newApp();
  const android = await newPhone(app, 'android');
  const sent = await send(app, [android.id]);
  const request = google.seen.find(({ body }) => body.includes(android.token));
  const { carillon_token: token } = JSON.parse(String(request?.body)).message.data;
  expect((await t.request('POST', '/v1/receipts', { body: { token, event: 'clicked' } })).body).toEqual({
    recorded: true,
  });
  expect((await deliveriesOf(app, sent.id)).get(android.id).clicked_at).not.toBeNull();
});

test('client keys see which channels are set, and nothing of their credentials', async () => {
  const app = await newApp();
  const { body } = await t.clientOf(app.clientKey).get('/v1/config');
  expect(body.channels).toEqual(['webpush', 'apns', 'fcm']);
  expect(JSON.stringify(body)).not.toMatch(new RegExp([keyId, teamId, clientEmail, projectId].join('|')));
});

test('a credential that cannot be opened gives not_configured, and no provider is called', async () => {
  const app = await newApp();
  await t.setCredential({ ...apnsCredential, secret: 'damaged' }, app);
  const iphone = await newPhone(app, 'ios');
  const sent = await send(app, [iphone.id]);
  expect((await deliveriesOf(app, sent.id)).get(iphone.id)).toMatchObject({
    status: 'failed',
    error_code: 'not_configured',
  });
  expect(apple.seen.some(({ path }) => path.endsWith(iphone.token))).toBe(false);
});

describe('the environment of an iPhone', () => {
  test('is found by trying once and remembered until the device registers another token', async () => {
    const app = await newApp();
    const iphone = await newPhone(app, 'ios');
    scripts.set(iphone.token, reason(400, 'BadDeviceToken'));
    const asked = (server: typeof apple) =>
      server.seen.filter(({ path }) => path === `/3/device/${iphone.token}`).length;
    const first = await send(app, [iphone.id]);
    expect((await deliveriesOf(app, first.id)).get(iphone.id)).toMatchObject({ status: 'sent' });
    await send(app, [iphone.id]);
    expect([asked(apple), asked(appleSandbox)]).toEqual([1, 2]);
    // The environment that was found by trying is not stored as the device's own statement.
    expect(await deviceOf(app, iphone.id)).toMatchObject({ environment: null, status: 'active' });

    const token = iphone.token.replace(/^ee/, 'dd');
    await t.registerDevice({ platform: 'ios', token, device_id: iphone.id }, app);
    await send(app, [iphone.id]);
    expect(apple.seen.some(({ path }) => path === `/3/device/${token}`)).toBe(true);
  });

  test('is the one that the device names, and no other is tried', async () => {
    const app = await newApp();
    const iphone = await newPhone(app, 'ios', { environment: 'sandbox' });
    await send(app, [iphone.id]);
    expect(apple.seen.some(({ path }) => path.endsWith(iphone.token))).toBe(false);
    expect(appleSandbox.seen.some(({ path }) => path.endsWith(iphone.token))).toBe(true);
  });
});

describe('a refused token', () => {
  test('from before the device registered changes nothing: the device stays', async () => {
    const app = await newApp();
    const iphone = await newPhone(app, 'ios');
    scripts.set(iphone.token, reason(410, 'Unregistered', { timestamp: t.clock.nowMs() - 60_000 }));
    const sent = await send(app, [iphone.id]);
    expect((await deliveriesOf(app, sent.id)).get(iphone.id)).toMatchObject({ error_code: 'unregistered' });
    expect(await deviceOf(app, iphone.id)).toMatchObject({ status: 'active' });
  });

  test('from after it retires the device', async () => {
    const app = await newApp();
    const [iphone, android] = [await newPhone(app, 'ios'), await newPhone(app, 'android')];
    scripts.set(iphone.token, reason(410, 'Unregistered', { timestamp: t.clock.nowMs() + 1_000 }));
    const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'UNREGISTERED' }];
    scripts.set(android.token, (request) =>
      request.answer(404, {}, JSON.stringify({ error: { code: 404, status: 'NOT_FOUND', details } })),
    );
    await send(app, [iphone.id, android.id]);
    for (const { id } of [iphone, android]) {
      expect(await deviceOf(app, id)).toMatchObject({ status: 'invalid', status_reason: 'unregistered' });
    }
  });

  const notFound = { error: { code: 404, message: 'Requested entity was not found.', status: 'NOT_FOUND' } };
  test.each([
    ['JSON', JSON.stringify(notFound)],
    ['a page', '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>'],
    ['nothing', ''],
  ])(
    'is not the cause when Google knows no such project, in %s: the channel fails, and the phones stay',
    async (_what, body) => {
      const app = await newApp();
      const phones = await Promise.all(Array.from({ length: 10 }, () => newPhone(app, 'android')));
      for (const { token } of phones) scripts.set(token, (request) => request.answer(404, {}, body));
      const ids = phones.map(({ id }) => id);
      for (let message = 0; message < 2; message += 1) {
        const sent = await send(app, ids);
        expect(sent.report).toMatchObject({ accepted: 10, failed: 10 });
        const deliveries = await deliveriesOf(app, sent.id);
        for (const id of ids) expect(deliveries.get(id)).toMatchObject({ error_code: 'auth_failed' });
      }
      expect(await stateOf(app, 'fcm')).toBe('failing');
      for (const { token } of phones) scripts.delete(token);
      expect((await send(app, ids)).report).toMatchObject({ sent: 10 });
      expect(await stateOf(app, 'fcm')).toBe('ok');
    },
  );

  test('is not the cause when a proxy answers for Apple with a bare 410', async () => {
    const app = await newApp();
    const iphone = await newPhone(app, 'ios');
    scripts.set(iphone.token, (request) => request.answer(410, {}, '<html><title>410 Gone</title></html>'));
    const sent = await send(app, [iphone.id]);
    expect((await deliveriesOf(app, sent.id)).get(iphone.id)).toMatchObject({ error_code: 'unknown_error' });
    expect(await deviceOf(app, iphone.id)).toMatchObject({ status: 'active' });
  });

  test('is not the cause when Google refuses the content: only the delivery fails', async () => {
    const app = await newApp();
    const android = await newPhone(app, 'android');
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: 'Invalid value at message.android' };
    scripts.set(android.token, (request) => request.answer(400, {}, JSON.stringify({ error })));
    const sent = await send(app, [android.id]);
    expect((await deliveriesOf(app, sent.id)).get(android.id)).toMatchObject({ error_code: 'invalid_payload' });
    expect(await deviceOf(app, android.id)).toMatchObject({ status: 'active' });
  });

  test('of every phone at once means that the key is wrong: the devices come back, whatever key they registered under', async () => {
    const app = await newApp();
    const phones = await Promise.all([0, 1, 2].map(() => newPhone(app, 'ios', { environment: 'production' })));
    await t.setCredential({ ...apnsCredential, public: { ...apnsPublic, bundleId: 'com.example.wrong' } }, app);
    for (const { token } of phones) scripts.set(token, reason(400, 'BadDeviceToken'));
    for (const { id } of phones) await send(app, [id]);
    for (const { id } of phones) expect(await deviceOf(app, id)).toMatchObject({ status: 'active' });
    expect(await stateOf(app, 'apns')).toBe('suspect');

    // The console names the devices that it would have cost.
    const member = await scriptOf(t, 'member');
    const spared = async (channel: string) =>
      (await member('GET', `/apps/${encodeId('app', app.id)}/channels/${channel}/spared`)).body;
    const { data, has_more } = await spared('apns');
    expect([...data].map(({ device_id }) => device_id).sort()).toEqual(phones.map(({ id }) => id).sort());
    expect([data[0].error_code, has_more]).toEqual(['invalid_token', false]);
    // A list that ends before the last of them says that there are others.
    const [suspect] = await t.sql<{ id: number; suspectSince: Date }[]>`
      SELECT id, suspect_since FROM credentials WHERE app_id = ${app.id} AND channel = 'apns' AND replaced_at IS NULL`;
    if (!suspect) throw new Error('the app has no credential of Apple');
    const { id, suspectSince } = suspect;
    const listed = async (limit: number) => {
      const found = await listSparedDevices(t.sql, app.id, { id, channel: 'apns', suspectSince }, limit);
      return [found.devices.length, found.hasMore];
    };
    expect([await listed(2), await listed(3)]).toEqual([
      [2, true],
      [3, false],
    ]);
    expect(await spared('fcm')).toEqual({ data: [], has_more: false });
    expect(await spared('pigeon')).toMatchObject({ error: 'not_found' });
    const { body } = await member('GET', '/apps?limit=200');
    const own = body.data.find(({ id }: { id: string }) => id === encodeId('app', app.id));
    expect(own.is_test).toBe(true);
  });

  test('of a service account of another project costs no Android phone, however often it is tried', async () => {
    const app = await newApp();
    const phones = await Promise.all([0, 1, 2, 3].map(() => newPhone(app, 'android')));
    const details = [
      { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'SENDER_ID_MISMATCH' },
    ];
    for (const { token } of phones)
      scripts.set(token, (request) =>
        request.answer(403, {}, JSON.stringify({ error: { code: 403, status: 'PERMISSION_DENIED', details } })),
      );
    for (let message = 1; message <= 4; message++) {
      const ids = phones.map(({ id }) => id);
      const sent = await send(app, ids);
      expect((await deliveriesOf(app, sent.id)).get(ids[0] ?? '')).toMatchObject({ error_code: 'credential_mismatch' });
    }
    for (const { id } of phones) expect(await deviceOf(app, id)).toMatchObject({ status: 'active' });
    expect(await stateOf(app, 'fcm')).toBe('suspect');
  });

  test('of every phone, with a key that worked before: at the twentieth the first ones come back', async () => {
    const app = await newApp();
    const phones = await Promise.all(
      Array.from({ length: 21 }, () => newPhone(app, 'ios', { environment: 'production' })),
    );
    await send(app, [phones[0]?.id ?? '']);
    t.clock.advance(3_600_001);
    for (const { token } of phones) scripts.set(token, reason(400, 'BadDeviceToken'));
    const [first, second] = [phones.slice(1, 11), phones.slice(11)];
    await send(
      app,
      first.map(({ id }) => id),
    );
    for (const { id } of first) {
      expect(await deviceOf(app, id)).toMatchObject({ status: 'invalid', status_reason: 'invalid_token' });
    }
    await send(
      app,
      second.map(({ id }) => id),
    );
    for (const { id } of phones) expect(await deviceOf(app, id)).toMatchObject({ status: 'active' });
    expect(await stateOf(app, 'apns')).toBe('suspect');

    // One accepted push ends the suspicion. From then on a dead token retires its device.
    for (const { token } of phones.slice(1)) scripts.delete(token);
    await send(app, [second[0]?.id ?? '']);
    expect(await stateOf(app, 'apns')).toBe('ok');
    await send(app, [phones[0]?.id ?? '']);
    expect(await deviceOf(app, phones[0]?.id ?? '')).toMatchObject({ status: 'invalid' });
  });
});

test('an iPhone that Apple throttles waits alone: the next one is reached at once', async () => {
  const app = await newApp();
  const [busy, other] = [await newPhone(app, 'ios'), await newPhone(app, 'ios')];
  scripts.set(busy.token, reason(429, 'TooManyRequests'));
  // Its answer waits for the retry, which nobody waits for here.
  void send(app, [busy.id]).catch(() => undefined);
  await until(
    async () => (await t.sql`SELECT FROM deliveries WHERE device_id = ${decodeId('dev', busy.id) ?? ''}`).length > 0,
  );
  const second = await send(app, [other.id]);
  expect(second.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
});
