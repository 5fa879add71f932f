import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { changeBrowser } from '../src/device-id.ts';
import {
  ApiError,
  type CarillonOptions,
  createCarillon,
  InsecureContextError,
  NetworkError,
  PermissionDeniedError,
  PushServiceError,
  ServiceWorkerError,
  StorageError,
  UnsupportedBrowserError,
  WebPushNotConfiguredError,
} from '../src/index.ts';
import { type Api, refusal, startApi, vapidKeys } from './api.ts';
import { install } from './browser.ts';
import { indexedDbInMemory } from './indexed-db.ts';

let api: Api;
let browser: ReturnType<typeof install>;
let errors: unknown[];

beforeEach(async () => {
  api = await startApi();
  browser = install();
  errors = [];
});

afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  await api.close();
});

const client = (options: Partial<CarillonOptions> = {}) =>
  createCarillon({ baseUrl: api.url, clientKey: 'ck_live_1', onError: (error) => errors.push(error), ...options });
const registrations = () => api.heardOn('/v1/devices');
const endpointNow = () => browser.pushManager.present?.endpoint;

describe('createCarillon', () => {
  test.each([['sk_live_secret'], [''], ['live']])(
    'refuses the key %j, because a server key must never reach a browser',
    (clientKey) => {
      expect(() => client({ clientKey })).toThrow(TypeError);
    },
  );

  test('can be called without a page, asks nobody and sends nothing', () => {
    vi.unstubAllGlobals();
    expect(client().permission()).toBe('unsupported');
    expect(api.heard).toEqual([]);
  });
});

test('of many clients that a page makes, one for each scope sends when the network is back', async () => {
  const listeners: (() => void)[] = [];
  vi.stubGlobal(
    'addEventListener',
    (kind: string, listener: () => void) => kind === 'online' && listeners.push(listener),
  );
  for (let made = 0; made < 5; made += 1) for (const scope of ['/one/', '/two/']) client({ scope });
  expect(listeners).toHaveLength(2);
  const newest = client({ scope: '/one/' });
  browser.navigator.onLine = false;
  await newest.subscribe();
  api.script('/v1/events', refusal(500, 'internal_error'));
  await newest.track('read');
  await expect.poll(() => errors.length).toBe(1);
  for (const listener of listeners) listener();
  await expect.poll(() => api.state.events.size).toBe(1);
  expect(listeners).toHaveLength(2);
});

describe('a subscription that the service refuses for good', () => {
  const issueOf = (path: readonly string[], code: string) => ({ issues: [{ path, code, message: 'No.' }] });
  const refused = refusal(400, 'validation_failed', issueOf(['token'], 'host_not_allowed'));
  const tokens = () => registrations().map(({ body }) => JSON.parse(String(body?.['token'])).endpoint);

  test.each([
    ['its host', ['token'], 'host_not_allowed'],
    ['its form', ['token'], 'invalid_format'],
    ['one of its keys', ['token', 'keys', 'p256dh'], 'invalid_format'],
  ])('for %s is replaced by a new one, which is registered', async (_what, path, code) => {
    api.script('/v1/devices', refusal(400, 'validation_failed', issueOf(path, code)));
    await expect(client().subscribe()).resolves.toEqual({ id: 'dev_1' });
    const [first, second, ...others] = tokens();
    expect(others).toEqual([]);
    expect(second).not.toBe(first);
    expect(second).toBe(endpointNow());
  });

  test('is replaced once: when the new one is refused too, the page hears of it', async () => {
    api.script('/v1/devices', refused, refused);
    await expect(client().subscribe()).rejects.toMatchObject({ error: 'validation_failed', status: 400 });
    expect(new Set(tokens()).size).toBe(2);
    api.script('/v1/devices', refused);
    await expect(client().refresh()).rejects.toMatchObject({ error: 'validation_failed' });
    expect(tokens()).toHaveLength(3);
    expect(tokens()[2]).toBe(tokens()[1]);
  });

  test('is replaced again a day later, when the person asks again, and after a registration', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    api.script('/v1/devices', refused, refused);
    await expect(client().subscribe()).rejects.toThrow();
    vi.setSystemTime(Date.now() + 24 * 60 * 60 * 1000);
    api.script('/v1/devices', refused);
    await client().refresh();
    expect(new Set(tokens()).size).toBe(3);
    api.script('/v1/devices', refused);
    await client().subscribe();
    expect(new Set(tokens()).size).toBe(4);
  });

  test('is replaced at a refresh, and the device keeps its id by the last one that was registered', async () => {
    await client().subscribe();
    const [registered] = registrations();
    browser.pushManager.present = null;
    api.script('/v1/devices', refused);
    await client().refresh();
    expect(registrations()).toHaveLength(3);
    expect(registrations()[2]?.body).toMatchObject({ device_id: 'dev_1', previous_token: registered?.body?.['token'] });
    await expect(client().deviceId()).resolves.toBe('dev_1');
  });

  test('and could not be replaced is replaced at the next page load', async () => {
    api.script('/v1/devices', refused);
    const { pushManager } = browser;
    const subscribe = pushManager.subscribe.bind(pushManager);
    let calls = 0;
    vi.spyOn(pushManager, 'subscribe').mockImplementation(async (options) => {
      calls += 1;
      if (calls === 2) throw new DOMException('No connection.', 'AbortError');
      return subscribe(options);
    });
    await expect(client().subscribe()).rejects.toThrow(PushServiceError);
    await client().refresh();
    await expect(client().deviceId()).resolves.toBe('dev_1');
  });

  test.each([
    ['a wrong property', refusal(400, 'validation_failed', issueOf(['properties', 'x'], 'unknown_property'))],
    ['a wrong proof', refusal(400, 'validation_failed', issueOf(['previous_token'], 'invalid_type'))],
    ['a suspended app', refusal(403, 'app_suspended')],
  ])('is not meant by %s', async (_what, answer) => {
    api.script('/v1/devices', answer);
    await expect(client().subscribe()).rejects.toThrow(ApiError);
    expect(registrations()).toHaveLength(1);
  });
});

describe('subscribe', () => {
  test("registers the subscription with the browser's facts and stores the device", async () => {
    const carillon = client({ appVersion: '4.2.0' });
    await expect(carillon.subscribe({ properties: { topic: 'sport' } })).resolves.toEqual({ id: 'dev_1' });
    expect(registrations()).toHaveLength(1);
    expect(registrations()[0]?.body).toEqual({
      platform: 'web',
      token: JSON.stringify({ endpoint: endpointNow(), keys: browser.pushManager.present?.toJSON().keys }),
      locale: 'de-DE',
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      app_version: '4.2.0',
      sdk: 'carillon-web/0.1.0',
      os: 'Linux',
      properties: { topic: 'sport' },
    });
    await expect(client().deviceId()).resolves.toBe('dev_1');
  });

  test('subscribes with the key of the app, in the scope of the worker', async () => {
    await client().subscribe();
    expect(browser.navigator.serviceWorker.registered).toEqual([
      { url: 'https://shop.example/carillon-sw.js', scope: 'https://shop.example/' },
    ]);
    const key = browser.pushManager.present?.options.applicationServerKey ?? new ArrayBuffer(0);
    expect(Buffer.from(key).toString('base64url')).toBe(vapidKeys[0]);
  });

  test.each([
    [{ serviceWorkerUrl: '/push/sw.js' }, 'https://shop.example/push/'],
    [{ serviceWorkerUrl: 'sw.js', scope: '/' }, 'https://shop.example/'],
    [{ serviceWorkerUrl: '/demo/carillon-sw.js', scope: '/demo' }, 'https://shop.example/demo'],
  ])('of %j uses the scope %s', async (options, scope) => {
    await client(options).subscribe();
    expect(browser.navigator.serviceWorker.registered[0]?.scope).toBe(scope);
  });

  test('takes locale and timezone from the site when it sets them, also at later refreshes', async () => {
    await client().subscribe({ locale: 'fr-CA', timezone: 'America/Toronto' });
    browser.navigator.language = 'en-GB';
    await client().refresh();
    expect(registrations()).toHaveLength(1);
    expect(registrations()[0]?.body).toMatchObject({ locale: 'fr-CA', timezone: 'America/Toronto' });
  });

  test('twice gives the same device, and asks the person only once', async () => {
    await client().subscribe();
    await expect(client().subscribe()).resolves.toEqual({ id: 'dev_1' });
    expect(browser.notification.asked).toBe(1);
    expect(registrations()[1]?.body).toHaveProperty('device_id', 'dev_1');
  });

  test('in two tabs at once is one device', async () => {
    const devices = await Promise.all([client().subscribe(), client().subscribe()]);
    expect(new Set(devices.map(({ id }) => id))).toEqual(new Set(['dev_1']));
  });

  test('two scopes on one origin are two devices', async () => {
    await client({ scope: '/a/' }).subscribe();
    browser.pushManager.present = null;
    await client({ scope: '/b/' }).subscribe();
    await expect(client({ scope: '/a/' }).deviceId()).resolves.toBe('dev_1');
    await expect(client({ scope: '/b/' }).deviceId()).resolves.toBe('dev_2');
  });

  test('ends a subscription of another key before it makes its own', async () => {
    await client().subscribe();
    const before = browser.pushManager.present;
    api.state.vapidKey = vapidKeys[1];
    await client().subscribe();
    expect(browser.pushManager.present).not.toBe(before);
    expect(registrations()[1]?.body).toHaveProperty('device_id', 'dev_1');
  });

  test('survives a subscription of another key that appears while it subscribes', async () => {
    await client().subscribe();
    api.state.vapidKey = vapidKeys[1];
    browser.pushManager.isHidingOnce = true;
    await expect(client().subscribe()).resolves.toEqual({ id: 'dev_1' });
  });

  test('drops a detected fact that the service does not know, and not the registration', async () => {
    const issues = [{ path: ['timezone'], code: 'unknown_timezone', message: 'Unknown.' }];
    api.script('/v1/devices', refusal(400, 'validation_failed', { issues }));
    await client().subscribe();
    expect(registrations()[1]?.body).not.toHaveProperty('timezone');
    expect(registrations()[1]?.body).toHaveProperty('locale', 'de-DE');
  });

  test("throws the service's error about a value that the site gave", async () => {
    const issues = [{ path: ['timezone'], code: 'unknown_timezone', message: 'Unknown.' }];
    api.script('/v1/devices', refusal(400, 'validation_failed', { issues }));
    await expect(client().subscribe({ timezone: 'Mars/Olympus' })).rejects.toMatchObject({ status: 400, issues });
    expect(registrations()).toHaveLength(1);
  });
});

describe('subscribe reports the obstacle:', () => {
  test('a page over plain http', async () => {
    vi.stubGlobal('isSecureContext', false);
    await expect(client().subscribe()).rejects.toBeInstanceOf(InsecureContextError);
  });

  test('a browser without push', async () => {
    Reflect.deleteProperty(browser.navigator, 'serviceWorker');
    const refused = client().subscribe();
    await expect(refused).rejects.toBeInstanceOf(UnsupportedBrowserError);
    await expect(refused).rejects.toHaveProperty('needsHomeScreen', false);
    expect(client().permission()).toBe('unsupported');
  });

  test('an iPhone where the site is not on the Home Screen', async () => {
    Reflect.deleteProperty(browser.navigator, 'serviceWorker');
    Object.assign(browser.navigator, { userAgent: 'Mozilla/5.0 (iPhone)', vendor: 'Apple Computer, Inc.' });
    await expect(client().subscribe()).rejects.toHaveProperty('needsHomeScreen', true);
  });

  test.each(['denied', 'default'] as const)('the permission %s, and nothing is sent', async (answer) => {
    browser.notification.answer = answer;
    const refused = client().subscribe();
    await expect(refused).rejects.toBeInstanceOf(PermissionDeniedError);
    await expect(refused).rejects.toHaveProperty('permission', answer);
    expect(api.heard).toEqual([]);
  });

  test('an app without web push', async () => {
    api.state.vapidKey = null;
    await expect(client().subscribe()).rejects.toBeInstanceOf(WebPushNotConfiguredError);
  });

  test('a wrong key', async () => {
    api.script('/v1/config', refusal(401, 'invalid_key'));
    const refused = client().subscribe();
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toMatchObject({ status: 401, error: 'invalid_key' });
  });

  test('no network', async () => {
    browser.navigator.onLine = false;
    await api.close();
    await expect(client().subscribe()).rejects.toBeInstanceOf(NetworkError);
  });

  test('a worker script that is not there', async () => {
    browser.navigator.serviceWorker.failure = new TypeError('A bad HTTP response code (404) was received.');
    const refused = client().subscribe();
    await expect(refused).rejects.toBeInstanceOf(ServiceWorkerError);
    await expect(refused).rejects.toThrow('/carillon-sw.js cannot be installed: A bad HTTP response code (404)');
  });

  test('a push service that refuses', async () => {
    browser.pushManager.failure = new DOMException('Registration failed - push service error', 'AbortError');
    const refused = client().subscribe();
    await expect(refused).rejects.toBeInstanceOf(PushServiceError);
    await expect(refused).rejects.toThrow('Registration failed');
  });

  test('a push service that never answers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = new Promise<void>((resolve) => {
      browser.pushManager.subscribe = () => {
        resolve();
        return new Promise(() => {});
      };
    });
    const refused = expect(client().subscribe()).rejects.toBeInstanceOf(PushServiceError);
    await asked;
    await vi.advanceTimersByTimeAsync(60_000);
    await refused;
  });

  test('a browser that lets the page store nothing', async () => {
    vi.stubGlobal('indexedDB', indexedDbInMemory(true));
    await expect(client().subscribe()).rejects.toBeInstanceOf(StorageError);
  });
});

describe('refresh', () => {
  test('sends nothing and asks nobody when this browser never subscribed', async () => {
    await expect(client().refresh()).resolves.toBeNull();
    expect(browser.notification.asked).toBe(0);
    expect(api.heard).toEqual([]);
  });

  test('registers nothing where nothing has changed', async () => {
    await client().subscribe();
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
    expect(registrations()).toHaveLength(1);
  });

  test('subscribes again for a new key of the app and keeps the device', async () => {
    await client().subscribe();
    api.state.vapidKey = vapidKeys[1];
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
    const [first, second] = registrations();
    expect(second?.body).toMatchObject({ device_id: 'dev_1', previous_token: first?.body?.['token'] });
    expect(second?.body?.['token']).not.toBe(first?.body?.['token']);
    expect(api.state.devices.get('dev_1')).toBe(endpointNow());
  });

  test('without a proof for the device makes another device, which is then identified as the old one was', async () => {
    await client().subscribe();
    await client().identify('u-42');
    await changeBrowser('https://shop.example/', { baseUrl: api.url, clientKey: 'ck_live_1' }, () => ({
      token: 'lost',
    }));
    browser.pushManager.present = null;
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_2' });
    expect(api.heardOn('/v1/identify')[1]?.body).toEqual({ device_id: 'dev_2', external_id: 'u-42' });
    // From here on the browser has a proof again.
    api.state.vapidKey = vapidKeys[1];
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_2' });
  });

  test('keeps the device and subscription of an earlier SDK version at the first page load', async () => {
    await client().subscribe();
    await changeBrowser('https://shop.example/', { baseUrl: api.url, clientKey: 'ck_live_1' }, () => ({ token: null }));
    await client().refresh();
    expect(registrations()).toHaveLength(2);
    expect(registrations()[1]?.body).not.toHaveProperty('previous_token');
    await client().refresh();
    expect(registrations()).toHaveLength(2);
    browser.pushManager.present = null;
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
  });

  test('subscribes again where the browser lost the subscription, and keeps the device', async () => {
    await client().subscribe();
    browser.pushManager.present = null;
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
    expect(api.state.devices.get('dev_1')).toBe(endpointNow());
  });

  test.each<[string, string, () => void]>([
    ['the browser lost', 'subscription_gone', () => (browser.pushManager.present = null)],
    ['was made with a former key', 'key_changed', () => (api.state.vapidKey = vapidKeys[1])],
    [
      'went with its worker',
      'worker_missing',
      () => {
        browser.registrations.clear();
        browser.pushManager.present = null;
      },
    ],
  ])('renews a subscription that %s, and tells that as %s, once', async (_what, healed, lose) => {
    await client().subscribe();
    lose();
    await client().refresh();
    expect(registrations()[1]?.body).toMatchObject({ healed, device_id: 'dev_1' });
    browser.navigator.language = 'en-GB';
    await client().refresh();
    expect(registrations().map(({ body }) => body?.['healed'])).toEqual([undefined, healed, undefined]);
  });

  test('renews a subscription also at a service that does not know why', async () => {
    await client().subscribe();
    browser.pushManager.present = null;
    const issues = [{ path: ['healed'], code: 'unrecognized_keys', message: 'healed is not a known field.' }];
    api.script('/v1/devices', refusal(400, 'validation_failed', { issues }));
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
    expect(registrations()[2]?.body).not.toHaveProperty('healed');
  });

  test('tells the service of new facts', async () => {
    await client().subscribe();
    browser.navigator.language = 'en-GB';
    await client({ appVersion: '5' }).refresh();
    expect(registrations()[1]?.body).toMatchObject({ locale: 'en-GB', app_version: '5', device_id: 'dev_1' });
  });

  test('registers once a day even without a change, so that the service revives a device that it retired', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    await client().subscribe();
    vi.setSystemTime(Date.now() + 24 * 60 * 60 * 1000);
    await client().refresh();
    expect(registrations()).toHaveLength(2);
  });

  test('makes a new device when the service has lost the old one, and tells its user again', async () => {
    await client().subscribe();
    await client().identify('u-42');
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 24 * 60 * 60 * 1000 });
    await client().refresh();
    await expect(client().deviceId()).resolves.toBe('dev_2');
    expect(api.heardOn('/v1/identify')[1]?.body).toEqual({ device_id: 'dev_2', external_id: 'u-42' });
  });

  test('finds the device again where the browser forgot it but kept the subscription', async () => {
    await client().subscribe();
    vi.stubGlobal('indexedDB', indexedDbInMemory());
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
  });

  test('does nothing after an opt-out', async () => {
    await client().subscribe();
    await client().unsubscribe();
    api.heard.length = 0;
    await expect(client().refresh()).resolves.toBeNull();
    expect(api.heard).toEqual([]);
  });

  test('does nothing after an opt-out though the browser still holds a subscription', async () => {
    await client().subscribe();
    const kept = browser.pushManager.present;
    await client().unsubscribe();
    browser.pushManager.present = kept;
    await expect(client().refresh()).resolves.toBeNull();
  });

  test('repeats identify only for a new device, because a token may have expired', async () => {
    await client().subscribe();
    await client().identify('u-42', 'a.b.c');
    browser.navigator.language = 'en-GB';
    await client().refresh();
    expect(registrations()).toHaveLength(2);
    expect(api.heardOn('/v1/identify')).toHaveLength(1);
  });

  test('resolves with null when the permission was taken back', async () => {
    await client().subscribe();
    browser.notification.permission = 'denied';
    await expect(client().refresh()).resolves.toBeNull();
  });
});

describe('unsubscribe', () => {
  test('ends the subscription here and the device there', async () => {
    await client().subscribe();
    await client().unsubscribe();
    expect(browser.pushManager.present).toBeNull();
    expect(api.state.devices.size).toBe(0);
    await expect(client().deviceId()).resolves.toBeNull();
  });

  test('ends the subscription even while the service is unreachable, and tells it later', async () => {
    await client().subscribe();
    api.script('/v1/devices/dev_1', refusal(500, 'internal_error'));
    await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    expect(browser.pushManager.present).toBeNull();
    expect(api.state.devices.size).toBe(1);
    await client().refresh();
    expect(api.state.devices.size).toBe(0);
  });

  test('that never reached the service is told even after the person came back', async () => {
    await client().subscribe();
    api.script('/v1/devices/dev_1', refusal(500, 'internal_error'));
    await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    api.script('/v1/devices/dev_1', refusal(500, 'internal_error'));
    await expect(client().subscribe()).resolves.toEqual({ id: 'dev_2' });
    expect(errors).toEqual([expect.objectContaining({ status: 500 })]);
    await client().refresh();
    expect([...api.state.devices.keys()]).toEqual(['dev_2']);
  });

  test('that never reached the service is told before the person comes back', async () => {
    await client().subscribe();
    api.script('/v1/devices/dev_1', refusal(500, 'internal_error'));
    await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    api.heard.length = 0;
    await client().subscribe();
    const writes = api.heard.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
    expect(writes).toEqual(['DELETE /v1/devices/dev_1', 'POST /v1/devices']);
  });

  test('is told for each device, even when a later opt-out follows one that never reached the service', async () => {
    await client().subscribe();
    api.script('/v1/devices/dev_1', ...Array.from({ length: 3 }, () => refusal(500, 'internal_error')));
    await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    await client().subscribe();
    await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    expect([...api.state.devices.keys()]).toEqual(['dev_1']);
    await client().refresh();
    expect(api.state.devices.size).toBe(0);
  });

  test('stores a bounded number of opt-outs that the service does not accept', async () => {
    const refuseAll = Array.from({ length: 30 }, () => refusal(500, 'internal_error'));
    for (let number = 1; number <= 25; number += 1) {
      api.script(`/v1/devices/dev_${number}`, ...refuseAll, ...refuseAll);
      await client().subscribe();
      await expect(client().unsubscribe()).rejects.toMatchObject({ status: 500 });
    }
    const { removals } = browser.indexedDB.rows('browsers')[0] as { removals: string[] };
    expect(removals).toEqual(Array.from({ length: 20 }, (_, position) => `dev_${position + 6}`));
  });

  test('counts as done for a device that the service does not know', async () => {
    await client().subscribe();
    api.state.devices.clear();
    await expect(client().unsubscribe()).resolves.toBeUndefined();
  });

  test('where there is no subscription sends nothing', async () => {
    await client().unsubscribe();
    expect(api.heard).toEqual([]);
  });

  test('can be reversed by the person: a new subscription is a device again', async () => {
    await client().subscribe();
    await client().unsubscribe();
    await client().subscribe();
    await expect(client().deviceId()).resolves.toBe('dev_1');
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_1' });
  });
});

test('another service at the same scope does not learn the device of the first', async () => {
  await client().subscribe();
  const other = await startApi();
  try {
    const carillon = client({ baseUrl: other.url });
    await expect(carillon.deviceId()).resolves.toBeNull();
    await carillon.subscribe();
    expect(other.heardOn('/v1/devices')[0]?.body).not.toHaveProperty('device_id');
  } finally {
    await other.close();
  }
});
