import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { importJWK, jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import webPush from 'web-push';
import type { Log } from '../../src/ground/host/log.ts';
import type { Push } from '../../src/sending/channels/channel.ts';
import { generateVapidKeys, parseVapidKeys, type WebPushCredential } from '../../src/sending/channels/webpush/vapid.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import { certificate, certificateKey, type Protocol, type Served, startPushServer } from './push-server.ts';
import { createTestChannel, credential, pushTo, readPayload, subscriptionTo, vapidKeys } from './webpush-bundle.ts';

const google = 'fcm.googleapis.com';
const apple = 'web.push.apple.com';
const wns = 'wns2-test.notify.windows.com';
const mozilla = 'updates.push.services.mozilla.com';

const now = Date.parse('2026-11-21T10:15:30Z');

/** Sends one push to a push service on this machine and returns the request that it got. */
async function requestOf(
  host: string,
  content: Partial<ChannelContent> = {},
  changed: Partial<Push<WebPushCredential>> = {},
  protocol: Protocol = 'h2',
): Promise<Served> {
  const server = await startPushServer({ protocol: host === wns ? 'http/1.1' : protocol });
  const channel = createTestChannel({
    leads: { [`${host}:443`]: server.port },
    clock: { nowMs: () => now, steadyMs: () => now },
  });
  onTestFinished(async () => {
    await server.close();
    await channel.close();
  });
  const outcome = await channel.send(
    pushTo(subscriptionTo(`https://${host}/wp/a%20b/../c:d?token=x%2By&e=`), content, changed),
  );
  expect(outcome).toMatchObject({ kind: 'sent' });
  const [request] = server.seen;
  if (request === undefined) throw new Error('Nothing came.');
  return request;
}

const withoutToken = (authorization: string | undefined) => authorization?.replace(/t=[^,]+/, 't=…');

describe('one POST', () => {
  test.each(['h2', 'http/1.1'] as const)(
    'over %s: exactly these headers, and a body of its length',
    async (protocol) => {
      const { method, path, headers, body } = await requestOf(google, {}, {}, protocol);
      expect(method).toBe('POST');
      expect(path).toBe('/wp/c:d?token=x%2By&e=');
      const sent = Object.entries(headers).filter(([name]) => !name.startsWith(':') && name !== 'connection');
      expect(Object.fromEntries(sent)).toEqual({
        host: google,
        ttl: '3600',
        urgency: 'high',
        topic: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        authorization: expect.stringMatching(/^vapid t=[\w-]+\.[\w-]+\.[\w-]+, k=[\w-]{87}$/),
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        'content-length': String(body.length),
      });
      expect(readPayload(body)).toMatchObject({ web_push: 8030, notification: { title: 'Sale', body: 'Now on' } });
    },
  );

  test('web-push makes the same headers for the same push', async () => {
    const { headers } = await requestOf(google, { collapse_key: 'order-17', priority: 'normal' });
    const reader = createECDH('prime256v1');
    const p256dh = reader.generateKeys('base64url');
    const theirs = webPush.generateRequestDetails(
      { endpoint: `https://${google}/x`, keys: { p256dh, auth: randomBytes(16).toString('base64url') } },
      'payload',
      {
        TTL: 3_600,
        urgency: 'normal',
        topic: headers['topic'] ?? '',
        contentEncoding: 'aes128gcm',
        vapidDetails: { subject: credential.subject, ...vapidKeys },
      },
    );
    const expected = Object.entries(theirs.headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    for (const [name, value] of expected) {
      if (name === 'content-length') continue;
      const ours = headers[name ?? ''];
      expect([name, withoutToken(ours)]).toEqual([name, withoutToken(value)]);
    }
  });

  test('the VAPID token names only the origin of the endpoint, and jose verifies it', async () => {
    const { headers } = await requestOf(google);
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(headers['authorization'] ?? '') ?? [];
    const point = Buffer.from(key, 'base64url');
    const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
    const { payload } = await jwtVerify(token, await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256'), {
      currentDate: new Date(now),
    });
    expect(payload).toEqual({ aud: `https://${google}`, exp: now / 1_000 + 43_200, sub: 'mailto:ops@example.com' });
  });
});

describe('Topic, TTL and Urgency', () => {
  test.each([
    [undefined, 'msg_02y9GVDsTuJUi2BOoCH5G3'],
    ['order-17', 'cqkOo9qLXdAb3i8nMU4C4hf5NRgupXOn'],
    ['ü'.repeat(64), expect.stringMatching(/^[\w-]{32}$/)],
  ])('collapse_key %j: Topic %s, never of a length that Apple cannot decode', async (key, topic) => {
    const { headers } = await requestOf(apple, key === undefined ? {} : { collapse_key: key });
    expect(headers['topic']).toEqual(topic);
    expect((headers['topic']?.length ?? 0) % 4).not.toBe(1);
  });

  test.each(['high', 'normal', 'low'] as const)('priority %s becomes that same Urgency', async (priority) => {
    expect((await requestOf(google, { priority })).headers['urgency']).toBe(priority);
  });

  test.each([
    [0, '0'],
    [1, '1'],
    [2_419_200, '2419200'],
    [9_999_999, '2419200'],
  ])('of %i seconds left, TTL is %s', async (ttlSeconds, ttl) => {
    expect((await requestOf(google, {}, { ttlSeconds })).headers['ttl']).toBe(ttl);
  });
});

describe('differences between vendors', () => {
  test.each([
    [0, 'no-cache'],
    [60, 'cache'],
  ])('WNS, ttl %i: X-WNS-Cache-Policy %s, a length and no chunks', async (ttlSeconds, policy) => {
    const { headers, body } = await requestOf(wns, {}, { ttlSeconds });
    expect(headers['x-wns-cache-policy']).toBe(policy);
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers).not.toHaveProperty('transfer-encoding');
  });

  test("a push that Microsoft accepts and drops counts as sent, and the log has Microsoft's status", async () => {
    const server = await startPushServer({ protocol: 'http/1.1' });
    const lines: unknown[] = [];
    const log = { info: (fields: unknown) => void lines.push(fields) } as unknown as Pick<Log, 'info'>;
    const channel = createTestChannel({ leads: { [`${wns}:443`]: server.port }, log });
    onTestFinished(async () => {
      await server.close();
      await channel.close();
    });
    const token = subscriptionTo(`https://${wns}/w/?token=a`);
    server.handle = (request) => request.answer(201, { 'x-wns-status': 'received' });
    expect(await channel.send(pushTo(token))).toMatchObject({ kind: 'sent' });
    expect(lines).toEqual([]);
    server.handle = (request) => request.answer(201, { 'x-wns-status': 'dropped', 'x-wns-msg-id': '7A' });
    expect(await channel.send(pushTo(token))).toMatchObject({ kind: 'sent', providerMessageId: '7A' });
    expect(lines).toEqual([expect.objectContaining({ wns_msg_id: '7A', device_id: expect.stringMatching(/^dev_/) })]);
  });

  test('no other vendor gets that header', async () => {
    expect((await requestOf(google)).headers).not.toHaveProperty('x-wns-cache-policy');
  });

  test('on Apple the notification opens the click URL, elsewhere the real one', async () => {
    const content = { url: 'https://shop.example/' };
    const navigate = async (host: string, changed: Partial<Push<WebPushCredential>> = {}) =>
      readPayload((await requestOf(host, content, changed)).body).notification['navigate'];
    expect(await navigate(apple)).toBe('https://push.example.com/v1/r/AQGS');
    expect(await navigate(apple, { clickUrl: null })).toBe('https://shop.example/');
    expect(await navigate(mozilla)).toBe('https://shop.example/');
  });
});

describe('the size is measured in bytes, before encryption', () => {
  const bodyOf = (bytes: number) => {
    const overhead = Buffer.byteLength(
      JSON.stringify({
        web_push: 8030,
        notification: {
          title: 'Sale',
          body: '',
          tag: 'msg_02y9GVDsTuJUi2BOoCH5G3',
          data: {
            carillon_message_id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
            carillon_token: pushTo('').receiptToken,
          },
        },
      }),
    );
    const room = bytes - overhead;
    return `${'é'.repeat(Math.floor(room / 2))}${'a'.repeat(room % 2)}`;
  };

  test('3,993 bytes are sent, as a body of 4,096', async () => {
    expect((await requestOf(google, { body: bodyOf(3_993) })).body).toHaveLength(4_096);
  });

  test('3,994 bytes are payload_too_large, without a request', async () => {
    const server = await startPushServer({ protocol: 'h2' });
    const channel = createTestChannel({ leads: { [`${google}:443`]: server.port } });
    onTestFinished(() => server.close());
    const outcome = await channel.send(pushTo(subscriptionTo(`https://${google}/x`), { body: bodyOf(3_994) }));
    expect(outcome).toMatchObject({ errorCode: 'payload_too_large', retryable: false, provider: null });
    expect(server.connections).toBe(0);
  });
});

test("R-62 one app's connections are not another's, at the same push service", async () => {
  const server = await startPushServer({ protocol: 'h2' });
  const channel = createTestChannel({ leads: { [`${google}:443`]: server.port } });
  onTestFinished(async () => {
    await server.close();
    await channel.close();
  });
  const parsed = parseVapidKeys({ id: 'key-2', subject: 'mailto:ops@example.com', ...generateVapidKeys() });
  if ('issues' in parsed) throw new Error('no keys');
  const token = subscriptionTo(`https://${google}/fcm/send/a`);
  for (const changed of [{}, { credential: parsed.credential }, {}])
    expect(await channel.send(pushTo(token, {}, changed))).toMatchObject({ kind: 'sent' });
  const [first, second, third] = server.seen.map(({ connection }) => connection);
  expect(second).not.toBe(first);
  expect(third).toBe(first);
});

test('keys that are on no curve are invalid_token, without a request', async () => {
  const server = await startPushServer({ protocol: 'h2' });
  const channel = createTestChannel({ leads: { [`${google}:443`]: server.port } });
  onTestFinished(() => server.close());
  const keys = { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: Buffer.alloc(16).toString('base64url') };
  const outcome = await channel.send(pushTo(JSON.stringify({ endpoint: `https://${google}/x`, keys })));
  expect(outcome).toMatchObject({ errorCode: 'invalid_token', retryable: false, provider: null });
  expect(server.connections).toBe(0);
});

interface ForeignModel {
  notifyUrl: string;
  subscribe(options: object): Promise<{ endpoint: string; clientHash: string; keys: { p256dh: string; auth: string } }>;
  getNotifications(options: { clientHash: string }): { messages: string[] };
  expireSubscription(clientHash: string): void;
}

/**
 * `web-push-testing`, which checks VAPID and decrypts, behind TLS, because it only speaks plain
 * HTTP.
 */
async function startForeignService() {
  const require = createRequire(import.meta.url);
  const { PushApiModel } = require('web-push-testing/src/PushApiModel.js') as { PushApiModel: new () => ForeignModel };
  const Foreign = require('web-push-testing/src/server.js') as new (
    model: ForeignModel,
    port: number,
  ) => { startServer(): void; _server: ReturnType<typeof createTlsServer> };
  const model = new PushApiModel();
  const foreign = new Foreign(model, 0);
  foreign.startServer();
  await once(foreign._server, 'listening');
  const { port } = foreign._server.address() as AddressInfo;
  const front = createTlsServer({ cert: certificate, key: certificateKey }, (request, response) => {
    const { method, url: path, headers } = request;
    const onward = plainRequest({ host: 'localhost', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  onTestFinished(() => {
    front.close();
    front.closeAllConnections();
    foreign._server.close();
    foreign._server.closeAllConnections();
  });
  return { model, port: (front.address() as AddressInfo).port };
}

describe('web-push-testing, a push service of other authors', () => {
  test('verifies the token, decrypts the message, and reports when the subscription is gone', async () => {
    const { model, port } = await startForeignService();
    const { endpoint, clientHash, keys } = await model.subscribe({ applicationServerKey: credential.publicKey });
    const token = JSON.stringify({ endpoint: `https://push.test.example${new URL(endpoint).pathname}`, keys });
    const channel = createTestChannel({ leads: { 'push.test.example:443': port }, pushHosts: ['push.test.example'] });
    onTestFinished(() => channel.close());

    expect(await channel.send(pushTo(token, { title: 'Grüße 🔔' }))).toMatchObject({ kind: 'sent' });
    const { messages } = model.getNotifications({ clientHash });
    expect(messages.map((text) => JSON.parse(text).notification.title)).toEqual(['Grüße 🔔']);

    model.expireSubscription(clientHash);
    expect(await channel.send(pushTo(token))).toMatchObject({
      errorCode: 'unregistered',
      reason: 'Push subscription has unsubscribed or expired.',
    });
  });
});
