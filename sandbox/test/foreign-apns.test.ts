// Two libraries of other authors that send to Apple: the sandbox must accept and show what they
// send, and they must understand its refusals as they understand Apple's.
import apn from '@parse/node-apn';
import { Notification as Apns2Notification, ApnsClient, ApnsError, Host, SilentNotification } from 'apns2';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ApnsReason, apnsReasons } from '../src/apns-answers.ts';
import type { Sandbox } from '../src/sandbox.ts';
import { bundleId } from './phone-setup.ts';
import { routeTls } from './route-tls.ts';
import { control, start } from './setup.ts';

/** The parts of a notification that both libraries know. */
interface Note {
  readonly title: string;
  readonly body?: string;
  readonly topic?: string;
  readonly collapseId?: string;
  /** UNIX seconds. */
  readonly expiration?: number;
  readonly priority?: 5 | 10;
  readonly data?: Readonly<Record<string, string>>;
}

/** The library's view of a refusal, whichever member it is in. */
interface Refusal {
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly timestamp: number | undefined;
}

interface Sender {
  /** Null: the push was accepted. */
  send(device: string, note: Note): Promise<Refusal | null>;
  /** Wakes the app and shows nothing. */
  sendSilently(device: string): Promise<void>;
}

type Key = ReturnType<Sandbox['registerTeamKey']>;

/** node-apn, configured with the sandbox's address. */
function nodeApn(sandbox: Sandbox, { keyId, teamId, p8 }: Key, url = sandbox.phoneUrls.apns): Sender {
  const { hostname, port } = new URL(url);
  const provider = new apn.Provider({
    token: { key: p8 ?? '', keyId, teamId },
    address: hostname,
    port: Number(port),
    ca: [sandbox.certificate],
  });
  onTestFinished(() => new Promise((resolve) => void provider.shutdown(resolve)));
  const send = async (notification: apn.Notification, device: string): Promise<Refusal | null> => {
    const { sent, failed } = await provider.send(notification, device);
    expect(sent.length + failed.length).toBe(1);
    const [failure] = failed;
    if (failure === undefined) return null;
    const { reason, timestamp } = failure.response ?? {};
    return {
      status: failure.status,
      // Two of the reasons become errors of the library's own.
      reason: reason ?? failure.error?.message,
      timestamp: timestamp === undefined ? undefined : Number(timestamp),
    };
  };
  return {
    send: (device, note) => {
      const notification = new apn.Notification();
      notification.pushType = 'alert';
      notification.topic = note.topic ?? bundleId;
      notification.alert = { title: note.title, body: note.body ?? '' };
      if (note.collapseId !== undefined) notification.collapseId = note.collapseId;
      if (note.expiration !== undefined) notification.expiry = note.expiration;
      if (note.priority !== undefined) notification.priority = note.priority;
      notification.payload = { ...note.data };
      return send(notification, device);
    },
    sendSilently: async (device) => {
      const notification = new apn.Notification();
      notification.pushType = 'background';
      notification.priority = 5;
      notification.topic = bundleId;
      notification.contentAvailable = true;
      expect(await send(notification, device)).toBe(null);
    },
  };
}

/** apns2, which always uses port 443, so its connections go to Apple's names. */
function apns2(_sandbox: Sandbox, { keyId, teamId, p8 }: Key, host: Host = Host.production): Sender {
  const client = new ApnsClient({ team: teamId, keyId, signingKey: p8 ?? '', host, defaultTopic: bundleId });
  onTestFinished(() => client.destroy());
  return {
    send: async (device, { title, body = '', data, ...options }) => {
      const notification = new Apns2Notification(device, { ...options, alert: { title, body }, data: { ...data } });
      try {
        expect(await client.send(notification)).toBe(notification);
        return null;
      } catch (error) {
        if (!(error instanceof ApnsError)) throw error;
        return { status: error.statusCode, reason: error.reason, timestamp: error.timestamp };
      }
    },
    sendSilently: async (device) => {
      await client.send(new SilentNotification(device));
    },
  };
}

/** A sandbox that is reached under Apple's addresses. */
async function startAtApple(): Promise<Sandbox> {
  const sandbox = await start();
  const { apns, apnsSandbox } = sandbox.phoneUrls;
  routeTls(sandbox, { [Host.production]: apns, [Host.development]: apnsSandbox });
  return sandbox;
}

const libraries = [
  ['@parse/node-apn', nodeApn],
  ['apns2', apns2],
] as const;

describe.each(libraries)('%s', (name, library) => {
  async function setup() {
    const sandbox = await startAtApple();
    const key = sandbox.registerTeamKey();
    const [phone = ''] = sandbox.install({ platform: 'ios' });
    const sender = library(sandbox, key);
    return { sandbox, key, phone, sender, last: () => sandbox.log.requests.at(-1) };
  }

  test('a push is accepted as it was sent, passes every check and is in the inbox', async () => {
    const t = await setup();
    const expiration = Math.floor(Date.now() / 1000) + 3600;
    const note: Note = {
      title: 'Grüße',
      body: 'Ihr Paket ist da 📦',
      collapseId: 'order-17',
      expiration,
      priority: 5,
      data: { order: '17' },
    };
    expect(await t.sender.send(t.phone, note)).toBe(null);

    const record = t.last();
    expect(record?.request.headers).toMatchObject({
      'apns-topic': bundleId,
      'apns-push-type': 'alert',
      'apns-priority': '5',
      'apns-expiration': String(expiration),
      'apns-collapse-id': 'order-17',
    });
    expect(record?.providerToken).toMatchObject({ claims: { iss: t.key.teamId }, header: { kid: t.key.keyId } });
    // Neither library gives an apns-id of its own here.
    const notPassed = record?.checks.filter(({ verdict }) => verdict !== 'pass').map(({ name }) => name);
    expect(notPassed).toEqual(['apns_id']);

    const { body } = await control(t.sandbox, 'GET', '/inbox');
    expect(body.entries).toHaveLength(1);
    expect(body.entries[0]).toMatchObject({
      token: t.phone,
      delivered: true,
      payload: { json: { aps: { alert: { title: note.title, body: note.body } }, order: '17' } },
      notification: { title: note.title, body: note.body, tag: 'order-17', phone: { app: bundleId } },
    });
  });

  test('a silent push is accepted and shows nothing', async () => {
    const t = await setup();
    await t.sender.sendSilently(t.phone);
    expect(t.last()).toMatchObject({ isDelivered: true, notification: null });
    expect(t.last()?.request.headers).toMatchObject({ 'apns-push-type': 'background', 'apns-priority': '5' });
  });

  test('a hundred concurrent pushes reach a hundred phones, each once', async () => {
    const t = await setup();
    // Until a connection has shown a good token it may have one stream, as at Apple; more streams
    // are refused.
    expect(await t.sender.send(t.phone, { title: 'first' })).toBe(null);
    const phones = t.sandbox.install({ platform: 'ios', count: 100 });
    const refusals = await Promise.all(phones.map((phone) => t.sender.send(phone, { title: phone })));
    expect(refusals.filter((refusal) => refusal !== null)).toEqual([]);
    const seen = t.sandbox.log.requests.slice(1).map(({ token, notification }) => [token, notification?.title]);
    expect(seen.toSorted()).toEqual(phones.map((phone) => [phone, phone]).toSorted());
  });

  test('410 Unregistered tells the time of the removal', async () => {
    const t = await setup();
    const before = Date.now();
    t.sandbox.uninstall(t.phone);
    const refusal = await t.sender.send(t.phone, { title: 'Hello' });
    expect(refusal).toMatchObject({ status: 410, reason: 'Unregistered' });
    expect(refusal?.timestamp).toBeGreaterThanOrEqual(before);
    expect(refusal?.timestamp).toBeLessThanOrEqual(Date.now());
  });

  test.each<[number, string, string, (t: Awaited<ReturnType<typeof setup>>) => Promise<Refusal | null>]>([
    [400, 'BadDeviceToken', 'to a token that no phone has', (t) => t.sender.send('ab'.repeat(32), { title: 'Hello' })],
    [
      400,
      'BadDeviceToken',
      'to a phone of the other environment',
      (t) => {
        const [other = ''] = t.sandbox.install({ platform: 'ios', environment: 'sandbox' });
        return t.sender.send(other, { title: 'Hello' });
      },
    ],
    [
      400,
      'DeviceTokenNotForTopic',
      'for another app',
      (t) => t.sender.send(t.phone, { title: 'Hello', topic: 'com.example.other' }),
    ],
    [
      400,
      'BadCollapseId',
      'with a collapse id of 65 bytes',
      (t) => t.sender.send(t.phone, { title: 'Hello', collapseId: 'c'.repeat(65) }),
    ],
    [
      413,
      'PayloadTooLarge',
      'with more than 4,096 bytes',
      (t) => t.sender.send(t.phone, { title: 'Hello', body: 'x'.repeat(4096) }),
    ],
    [
      403,
      'InvalidProviderToken',
      'with a key that was revoked',
      async (t) => {
        await control(t.sandbox, 'DELETE', `/apns/keys/${t.key.keyId}`);
        return t.sender.send(t.phone, { title: 'Hello' });
      },
    ],
    [
      403,
      'InvalidProviderToken',
      'with the key of one team under the id of another',
      (t) => {
        const { teamId, keyId } = t.sandbox.registerTeamKey();
        return library(t.sandbox, { ...t.key, teamId, keyId }).send(t.phone, { title: 'Hello' });
      },
    ],
    [
      429,
      'TooManyRequests',
      'too often',
      (t) => {
        t.sandbox.addFault({ action: { type: 'error', reason: 'TooManyRequests' } });
        return t.sender.send(t.phone, { title: 'Hello' });
      },
    ],
  ])('%i %s is understood by the library: %s', async (status, reason, _what, send) => {
    const t = await setup();
    expect(await send(t)).toMatchObject({ status, reason });
    expect(t.last()).toMatchObject({ isDelivered: false, answer: { status } });
  });

  test.each(apnsReasons)('%s is understood by the library whenever the sandbox answers it', async (reason) => {
    const t = await setup();
    t.sandbox.addFault({ action: { type: 'error', reason } });
    const refusal = await t.sender.send(t.phone, { title: 'Hello' });
    expect(refusal?.status).toBe(t.last()?.answer?.status);
    expect(refusal?.reason).toBe(inTheWordsOf(name, reason));
  });

  test('an idle connection that the sandbox closes is replaced', async () => {
    const t = await setup();
    t.sandbox.addFault({ match: { nth: 1 }, action: { type: 'idle', idle_ms: 1 } });
    expect(await t.sender.send(t.phone, { title: 'first' })).toBe(null);
    await expect.poll(() => t.sandbox.connections()).toBe(0);
    expect(await t.sender.send(t.phone, { title: 'second' })).toBe(null);
    const connections = t.sandbox.log.requests.map(({ request }) => request.connectionId);
    expect(new Set(connections).size).toBe(2);
  });

  test('a push above the last stream of a GOAWAY is an error to the library, and reached no phone', async () => {
    const t = await setup();
    t.sandbox.addFault({ match: { nth: 1 }, action: { type: 'goaway' } });
    const outcome = await t.sender.send(t.phone, { title: 'lost' }).catch((error: unknown) => error);
    expect(outcome).not.toBe(null);
    expect(t.last()).toMatchObject({ answer: null, isDelivered: false });
    await expect.poll(() => t.sandbox.connections()).toBe(0);
    expect(await t.sender.send(t.phone, { title: 'next' })).toBe(null);
  });
});

/** node-apn does not report the reason of a 500. */
function inTheWordsOf(library: string, reason: ApnsReason): string {
  const isHidden = library === '@parse/node-apn' && reason === 'InternalServerError';
  return isHidden ? 'Error 500, stream ended unexpectedly' : reason;
}

test('each library reaches the development environment, which accepts only tokens of development builds', async () => {
  const sandbox = await startAtApple();
  const key = sandbox.registerTeamKey({ environment: 'sandbox' });
  const [phone = ''] = sandbox.install({ platform: 'ios', environment: 'sandbox' });
  for (const sender of [nodeApn(sandbox, key, sandbox.phoneUrls.apnsSandbox), apns2(sandbox, key, Host.development)]) {
    expect(await sender.send(phone, { title: 'Hello' })).toBe(null);
    expect(sandbox.log.requests.at(-1)).toMatchObject({ isDelivered: true, token: phone });
  }
});
