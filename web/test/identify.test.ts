import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Browser } from '../src/device-id.ts';
import { CarillonError, type CarillonOptions, createCarillon } from '../src/index.ts';
import { type Api, refusal, startApi } from './api.ts';
import { install } from './browser.ts';

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

describe('identify', () => {
  test('tells the service whose the device is, with the hash as it was given', async () => {
    await client().subscribe();
    await expect(client().identify('u-42', '9da8')).resolves.toBe(true);
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({
      device_id: 'dev_1',
      external_id: 'u-42',
      user_hash: '9da8',
    });
  });

  test('unlinks on log-out', async () => {
    await client().subscribe();
    await client().identify(null);
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({ device_id: 'dev_1', external_id: null });
  });

  test('before there is a device is remembered and told with the subscription', async () => {
    await expect(client().identify('u-42')).resolves.toBe(false);
    expect(api.heard).toEqual([]);
    await client().subscribe();
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({ device_id: 'dev_1', external_id: 'u-42' });
  });

  test('that waited and is refused costs no subscription and is told to onError', async () => {
    await client().identify('u-42', 'wrong');
    api.script('/v1/identify', refusal(403, 'identity_check_failed'));
    await expect(client().subscribe()).resolves.toEqual({ id: 'dev_1' });
    expect(errors).toEqual([expect.objectContaining({ status: 403, error: 'identity_check_failed' })]);
  });

  test('that is refused throws', async () => {
    await client().subscribe();
    api.script('/v1/identify', refusal(403, 'identity_check_failed'));
    await expect(client().identify('u-42', 'wrong')).rejects.toMatchObject({ error: 'identity_check_failed' });
  });

  test('of a device the service has lost throws once; the next refresh makes a new one and links it', async () => {
    await client().subscribe();
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    await expect(client().identify('u-42')).rejects.toMatchObject({ status: 404 });
    await expect(client().refresh()).resolves.toEqual({ id: 'dev_2' });
    expect(api.heardOn('/v1/identify')[1]?.body).toEqual({ device_id: 'dev_2', external_id: 'u-42' });
  });
});

/** Delays the service's first answer, a 503, until `what` is true of the stored record. */
function holdIdentify(what: (known: Partial<Browser>) => boolean): void {
  const isRemembered = () => what((browser.indexedDB.rows('browsers')[0] ?? {}) as Partial<Browser>);
  api.script('/v1/identify', {
    ...refusal(503, 'unavailable'),
    after: vi.waitUntil(isRemembered, { timeout: 20_000 }),
  });
}

describe('identify, when it fails or is overtaken:', () => {
  const told = () => api.heardOn('/v1/identify').map(({ body }) => body?.['external_id']);

  test('a log-out while a log-in is tried again leaves the browser logged out', async () => {
    await client().subscribe();
    await client().identify('u-0');
    holdIdentify(({ identity }) => identity === null);
    const logIn = client().identify('u-1');
    await vi.waitUntil(() => told().length === 2);
    const logOut = client().identify(null);
    await expect(logIn).resolves.toBe(false);
    await expect(logOut).resolves.toBe(true);
    expect(told().slice(0, 2)).toEqual(['u-0', 'u-1']);
    expect(new Set(told().slice(2))).toEqual(new Set([null]));
  });

  test('a log-out while the registration itself says who this is leaves the browser logged out', async () => {
    await client().identify('u-1');
    holdIdentify(({ identity }) => identity === null);
    const subscribed = client().subscribe();
    await vi.waitUntil(() => told().length === 1);
    await Promise.all([client().identify(null), subscribed]);
    expect(new Set(told().slice(1))).toEqual(new Set([null]));
  });

  test.each([['u-42'], [null]])('%j that the service did not take is told by the next refresh, once', async (named) => {
    await client().subscribe();
    await client().identify('u-1');
    api.script('/v1/identify', refusal(500, 'internal_error'));
    await expect(client().identify(named)).rejects.toMatchObject({ status: 500 });
    await client().refresh();
    await client().refresh();
    expect(told()).toEqual(['u-1', named, named]);
  });

  test('a log-out that failed is told by the next refresh also where the permission was taken back', async () => {
    await client().subscribe();
    await client().identify('u-1');
    api.script('/v1/identify', refusal(500, 'internal_error'));
    await expect(client().identify(null)).rejects.toMatchObject({ status: 500 });
    browser.notification.permission = 'denied';
    await expect(client().refresh()).resolves.toBeNull();
    expect(told()).toEqual(['u-1', null, null]);
  });

  test('a link that failed with the subscription is told by the next refresh', async () => {
    await client().identify('u-42', '9da8');
    api.script('/v1/identify', refusal(500, 'internal_error'));
    await client().subscribe();
    await client().refresh();
    expect(api.heardOn('/v1/identify')[1]?.body).toMatchObject({ external_id: 'u-42', user_hash: '9da8' });
  });

  test('a log-out is told though nobody knows whether the log-in before it arrived', async () => {
    await client().subscribe();
    api.script('/v1/identify', refusal(500, 'internal_error'), refusal(500, 'internal_error'));
    await expect(client().identify('u-1')).rejects.toMatchObject({ status: 500 });
    await expect(client().identify(null)).rejects.toMatchObject({ status: 500 });
    await client().refresh();
    expect(told()).toEqual(['u-1', null, null]);
  });

  test('nobody is told of a browser that never was anybody', async () => {
    await client().subscribe();
    await client().refresh();
    expect(told()).toEqual([]);
  });
});

describe('another client key', () => {
  test('of the same app keeps the device, its user, and tells nobody again', async () => {
    await client().subscribe();
    await client().identify('u-42');
    await expect(client({ clientKey: 'ck_live_2' }).refresh()).resolves.toEqual({ id: 'dev_1' });
    expect(registrations()[1]?.body).toHaveProperty('device_id', 'dev_1');
    expect(api.heardOn('/v1/identify')).toHaveLength(1);
    await client({ clientKey: 'ck_live_2' }).identify(null);
    expect(api.heardOn('/v1/identify')[1]?.body).toEqual({ device_id: 'dev_1', external_id: null });
  });

  test('of another app never tells that app who the first one was told of', async () => {
    await client().subscribe();
    await client().identify('u-42');
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    const other = client({ clientKey: 'ck_live_2' });
    await expect(other.refresh()).resolves.toEqual({ id: 'dev_2' });
    await other.refresh();
    expect(api.heardOn('/v1/identify')).toHaveLength(1);
    expect(JSON.stringify(browser.indexedDB.rows('browsers'))).not.toContain('u-42');
  });

  test('of another app never tells that app who waits for a subscription of the first', async () => {
    await client().identify('u-42');
    await client({ clientKey: 'ck_live_2' }).subscribe();
    expect(api.heardOn('/v1/identify')).toEqual([]);
  });

  test('of another app tells that app whom it was told of itself', async () => {
    await client().subscribe();
    await client().identify('u-42');
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    const other = client({ clientKey: 'ck_live_2' });
    await expect(other.identify('b-7')).rejects.toMatchObject({ status: 404 });
    await other.refresh();
    expect(api.heardOn('/v1/identify').at(-1)?.body).toEqual({ device_id: 'dev_2', external_id: 'b-7' });
  });

  test('said by a tab of another app while a log-in is tried again stops that log-in', async () => {
    await client().subscribe();
    holdIdentify(({ saidWith }) => saidWith === 'ck_live_2');
    const logIn = client().identify('u-1');
    await vi.waitUntil(() => api.heardOn('/v1/identify').length === 1);
    const other = client({ clientKey: 'ck_live_2' }).identify('b-7');
    await expect(logIn).rejects.toBeInstanceOf(CarillonError);
    await other;
    const heard = api.heardOn('/v1/identify').slice(1);
    expect(heard.map(({ headers, body }) => [headers.authorization, body?.['external_id']])).toEqual([
      ['Bearer ck_live_2', 'b-7'],
    ]);
  });
});

describe('a service without a route for users', () => {
  test('is asked for the device once and for the user once an hour, not at every page load', async () => {
    await client().subscribe();
    const unknown = Array.from({ length: 20 }, () => refusal(404, 'not_found'));
    api.script('/v1/identify', ...unknown);
    vi.useFakeTimers({ toFake: ['Date'] });
    await expect(client().identify('u-42')).rejects.toMatchObject({ status: 404 });
    for (let load = 0; load < 5; load += 1) await client().refresh();
    expect(registrations()).toHaveLength(2);
    expect(api.heardOn('/v1/identify')).toHaveLength(1);
    vi.setSystemTime(Date.now() + 60 * 60 * 1000);
    for (let load = 0; load < 5; load += 1) await client().refresh();
    expect(registrations()).toHaveLength(2);
    expect(api.heardOn('/v1/identify')).toHaveLength(2);
    await expect(client().deviceId()).resolves.toBe('dev_1');
  });
});
