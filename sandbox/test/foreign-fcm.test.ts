// Google's own library for servers: the sandbox must accept and show what it sends, and it must
// understand the sandbox's refusals as it understands Google's. It knows only Google's addresses,
// so its connections are redirected.
import { randomUUID } from 'node:crypto';
import { cert, deleteApp, initializeApp } from 'firebase-admin/app';
import { getMessaging, type Message, type Messaging, type TokenMessage } from 'firebase-admin/messaging';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { FcmErrorName } from '../src/fcm-answers.ts';
import type { Sandbox } from '../src/sandbox.ts';
import { projectId } from './phone-setup.ts';
import { routeTls } from './route-tls.ts';
import { control, start } from './setup.ts';

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Sends a message and returns the library's error; null when it was accepted. */
type Send = (messaging: Messaging, message: Message) => Promise<Refusal | null>;

const refusalOf = (error: unknown): Refusal => {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  return { code: String(error.code), message: error.message };
};

/** The library's two ways to send, each with a client of its own. */
const ways: readonly (readonly [string, 'h2' | 'http/1.1', Send])[] = [
  [
    'send',
    'http/1.1',
    async (messaging, message) => {
      try {
        expect(await messaging.send(message)).toMatch(new RegExp(`^projects/${projectId}/messages/0:\\d+%`));
        return null;
      } catch (error) {
        return refusalOf(error);
      }
    },
  ],
  [
    'sendEach',
    'h2',
    async (messaging, message) => {
      const { responses } = await messaging.sendEach([message]);
      expect(responses).toHaveLength(1);
      const [response] = responses;
      if (response?.success === true) {
        expect(response.messageId).toMatch(new RegExp(`^projects/${projectId}/messages/`));
        return null;
      }
      return refusalOf(response?.error);
    },
  ],
];

/** The library with this service account, for one test. */
function admin(file: Record<string, string>): Messaging {
  const app = initializeApp({ credential: cert(file) }, randomUUID());
  onTestFinished(() => deleteApp(app));
  return getMessaging(app);
}

/** A sandbox that is reached under Google's addresses. */
async function startAtGoogle(): Promise<Sandbox> {
  const sandbox = await start();
  const { fcm } = sandbox.phoneUrls;
  routeTls(sandbox, { 'fcm.googleapis.com': fcm, 'oauth2.googleapis.com': fcm });
  return sandbox;
}

describe.each(ways)('firebase-admin: %s over %s', (_name, protocol, send) => {
  async function setup() {
    const sandbox = await startAtGoogle();
    const file = sandbox.createServiceAccount();
    const messaging = admin(file);
    const [phone = ''] = sandbox.install({ platform: 'android' });
    return {
      sandbox,
      file,
      phone,
      send: (message: Partial<TokenMessage> = {}) =>
        send(messaging, { token: phone, notification: { title: 'Hello' }, ...message }),
      last: () => sandbox.log.requests.at(-1),
      pushes: () => sandbox.log.requests.filter(({ service }) => service === 'fcm').length,
    };
  }

  test('a message is accepted as it was written, passes every check and is in the inbox', async () => {
    const t = await setup();
    const sent = await t.send({
      notification: { title: 'Grüße', body: 'Ihr Paket ist da 📦', imageUrl: 'https://shop.example/parcel.png' },
      data: { url: 'https://shop.example/orders/17', order: '17' },
      android: {
        collapseKey: 'orders',
        priority: 'high',
        ttl: 3_600_000,
        restrictedPackageName: 'com.example.shop',
        notification: {
          tag: 'order-17',
          channelId: 'orders',
          color: '#ff8800',
          sound: 'bell',
          clickAction: 'OPEN_ORDER',
          notificationCount: 3,
          visibility: 'private',
          priority: 'max',
          eventTimestamp: new Date('2026-01-02T03:04:05.678Z'),
          vibrateTimingsMillis: [100, 250],
          lightSettings: { color: '#00ff0080', lightOnDurationMillis: 1000, lightOffDurationMillis: 500 },
        },
        fcmOptions: { analyticsLabel: 'orders' },
      },
      fcmOptions: { analyticsLabel: 'all' },
    });
    expect(sent).toBe(null);

    const record = t.last();
    expect(record?.request).toMatchObject({
      protocol,
      method: 'POST',
      path: `/v1/projects/${projectId}/messages:send`,
    });
    expect(record?.providerToken?.holder).toBe(t.file['client_email']);
    expect(record?.checks.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);

    const { body } = await control(t.sandbox, 'GET', '/inbox');
    expect(body.entries[0]).toMatchObject({
      token: t.phone,
      delivered: true,
      payload: {
        json: {
          message: {
            data: { order: '17' },
            android: { collapse_key: 'orders', priority: 'high', ttl: '3600s', notification: { tag: 'order-17' } },
          },
        },
      },
      notification: {
        title: 'Grüße',
        body: 'Ihr Paket ist da 📦',
        image: 'https://shop.example/parcel.png',
        url: 'https://shop.example/orders/17',
        tag: 'order-17',
        phone: { app: projectId, group: 'orders', color: '#ff8800', sound: 'bell', count: 3, level: 'HIGH' },
      },
    });
  });

  test('data alone wakes the app and shows nothing', async () => {
    const t = await setup();
    expect(await t.send({ notification: undefined as never, data: { a: 'b' } })).toBe(null);
    expect(t.last()).toMatchObject({ isDelivered: true, notification: null });
  });

  test('one access token serves many messages', async () => {
    const t = await setup();
    for (let i = 0; i < 3; i += 1) expect(await t.send()).toBe(null);
    expect(t.sandbox.log.counters()).toMatchObject({ requests: 3, delivered: 3, tokenRequests: 1 });
  });

  test.each<[string, RegExp, string, (t: Awaited<ReturnType<typeof setup>>) => Promise<Refusal | null>]>([
    [
      'registration-token-not-registered',
      /^Requested entity was not found\.$/,
      'when the app is gone',
      (t) => {
        t.sandbox.uninstall(t.phone);
        return t.send();
      },
    ],
    [
      'mismatched-credential',
      /^SenderId mismatch$/,
      'to a phone with an app of another project',
      (t) => {
        const [token = ''] = t.sandbox.install({ platform: 'android', project_id: 'another-shop' });
        return t.send({ token });
      },
    ],
    [
      'invalid-argument',
      /^The registration token is not a valid FCM registration token$/,
      'to a token that never was one',
      (t) => t.send({ token: 'abc' }),
    ],
    ['invalid-argument', /too big/, 'with more than 4,096 bytes', (t) => t.send({ data: { a: 'x'.repeat(4096) } })],
    [
      'invalid-argument',
      /^Invalid data payload key: google\.x$/,
      'with a reserved key',
      (t) => t.send({ data: { 'google.x': 'x' } }),
    ],
  ])("messaging/%s %s is the library's error for %s", async (code, message, _what, act) => {
    const t = await setup();
    expect(await act(t)).toEqual({ code: `messaging/${code}`, message: expect.stringMatching(message) });
    expect(t.last()).toMatchObject({ isDelivered: false });
  });

  test.each<[FcmErrorName, string]>([
    ['UNREGISTERED', 'registration-token-not-registered'],
    ['INVALID_ARGUMENT', 'invalid-argument'],
    ['INVALID_REGISTRATION', 'invalid-argument'],
    ['MESSAGE_TOO_BIG', 'invalid-argument'],
    ['SENDER_ID_MISMATCH', 'mismatched-credential'],
    ['QUOTA_EXCEEDED', 'message-rate-exceeded'],
    ['RESOURCE_EXHAUSTED', 'message-rate-exceeded'],
    ['INTERNAL', 'internal-error'],
    ['THIRD_PARTY_AUTH_ERROR', 'third-party-auth-error'],
    // The library has no separate error for a bad access token and for a missing right.
    ['UNAUTHENTICATED', 'third-party-auth-error'],
    ['CREDENTIALS_MISSING', 'third-party-auth-error'],
    ['PERMISSION_DENIED', 'mismatched-credential'],
    ['SERVICE_DISABLED', 'mismatched-credential'],
    ['SCOPE_INSUFFICIENT', 'mismatched-credential'],
  ])('%s becomes messaging/%s in the library', async (reason, code) => {
    const t = await setup();
    t.sandbox.addFault({ action: { type: 'error', reason } });
    expect(await t.send()).toMatchObject({ code: `messaging/${code}` });
    expect(t.pushes()).toBe(1);
  });

  test('UNAVAILABLE is tried again, and succeeds after the fault has ended', async () => {
    const t = await setup();
    t.sandbox.addFault({ match: { times: 1 }, action: { type: 'error', reason: 'UNAVAILABLE' } });
    expect(await t.send()).toBe(null);
    expect(t.pushes()).toBe(2);
  });

  test('UNAVAILABLE with a Retry-After of more than a minute is messaging/server-unavailable at once', async () => {
    const t = await setup();
    t.sandbox.addFault({ action: { type: 'error', reason: 'UNAVAILABLE', retry_after: 120 } });
    expect(await t.send()).toMatchObject({ code: 'messaging/server-unavailable' });
    expect(t.pushes()).toBe(1);
  });

  test('an account that was removed gets no access token, and the library says why', async () => {
    const t = await setup();
    const email = encodeURIComponent(t.file['client_email'] ?? '');
    await control(t.sandbox, 'DELETE', `/fcm/service-accounts/${email}`);
    const refusal = await t.send();
    expect(refusal?.code).toBe('app/invalid-credential');
    expect(refusal?.message).toMatch(/invalid_grant/);
    expect(t.pushes()).toBe(0);
  });
});

test('a hundred concurrent messages reach a hundred phones, each once, over one connection', async () => {
  const sandbox = await startAtGoogle();
  const messaging = admin(sandbox.createServiceAccount());
  const phones = sandbox.install({ platform: 'android', count: 100 });
  const { successCount } = await messaging.sendEach(
    phones.map((token, i) => ({ token, notification: { title: `title ${i}` } })),
  );
  expect(successCount).toBe(100);
  const pushes = sandbox.log.requests.filter(({ service }) => service === 'fcm');
  expect(pushes.map(({ token }) => token).toSorted()).toEqual(phones.toSorted());
  expect(new Set(pushes.map(({ request }) => request.connectionId)).size).toBe(1);
});

test('a dry run is examined and reaches no phone', async () => {
  const sandbox = await startAtGoogle();
  const messaging = admin(sandbox.createServiceAccount());
  const [token = ''] = sandbox.install({ platform: 'android' });
  expect(await messaging.send({ token, data: { a: 'b' } }, true)).toMatch(/fake_message_id$/);
  expect(sandbox.log.counters()).toMatchObject({ delivered: 0 });
});
