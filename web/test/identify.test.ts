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
  test.each([
    ['token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1LTQyIn0.WP5rf2bBslTRbY4J'],
    ['hash', '9da8'],
  ])("tells the service the device's user, with the given %s", async (form, proof) => {
    await client().subscribe();
    await expect(client().identify('u-42', proof)).resolves.toBe(true);
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({
      device_id: 'dev_1',
      external_id: 'u-42',
      [`user_${form}`]: proof,
    });
  });

  test('unlinks on log-out', async () => {
    await client().subscribe();
    await client().identify(null);
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({ device_id: 'dev_1', external_id: null });
  });

  test('before there is a device is stored and told with the subscription', async () => {
    await expect(client().identify('u-42')).resolves.toBe(false);
    expect(api.heard).toEqual([]);
    await client().subscribe();
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({ device_id: 'dev_1', external_id: 'u-42' });
  });

  test('that waited and is refused does not prevent the subscription and is reported to onError', async () => {
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

  test('of a device that the service has lost throws once; the next refresh makes a new device and links it', async () => {
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
    after: expect.poll(isRemembered).toBe(true),
  });
}

describe('identify, when it fails or a later call overtakes it:', () => {
  const told = () => api.heardOn('/v1/identify').map(({ body }) => body?.['external_id']);

  test('a log-out during the retries of a log-in leaves the browser logged out', async () => {
    await client().subscribe();
    await client().identify('u-0');
    holdIdentify(({ identity }) => identity === null);
    const logIn = client().identify('u-1');
    await expect.poll(() => told().length).toBe(2);
    const logOut = client().identify(null);
    await expect(logIn).resolves.toBe(false);
    await expect(logOut).resolves.toBe(true);
    expect(told().slice(0, 2)).toEqual(['u-0', 'u-1']);
    expect(new Set(told().slice(2))).toEqual(new Set([null]));
  });

  test('a log-out during a registration that carries the identity leaves the browser logged out', async () => {
    await client().identify('u-1');
    holdIdentify(({ identity }) => identity === null);
    const subscribed = client().subscribe();
    await expect.poll(() => told().length).toBe(1);
    await Promise.all([client().identify(null), subscribed]);
    expect(new Set(told().slice(1))).toEqual(new Set([null]));
  });

  test.each([['u-42'], [null]])('%j that the service refused is told by the next refresh, once', async (named) => {
    await client().subscribe();
    await client().identify('u-1');
    api.script('/v1/identify', refusal(500, 'internal_error'));
    await expect(client().identify(named)).rejects.toMatchObject({ status: 500 });
    await client().refresh();
    await client().refresh();
    expect(told()).toEqual(['u-1', named, named]);
  });

  test('a failed log-out is told by the next refresh even when the permission was taken back', async () => {
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

  test('a log-out is told although it is unknown whether the log-in before it arrived', async () => {
    await client().subscribe();
    api.script('/v1/identify', refusal(500, 'internal_error'), refusal(500, 'internal_error'));
    await expect(client().identify('u-1')).rejects.toMatchObject({ status: 500 });
    await expect(client().identify(null)).rejects.toMatchObject({ status: 500 });
    await client().refresh();
    expect(told()).toEqual(['u-1', null, null]);
  });

  test('nothing is told for a browser that was never identified', async () => {
    await client().subscribe();
    await client().refresh();
    expect(told()).toEqual([]);
  });
});

describe('another client key', () => {
  test('of the same app keeps the device and its user, and repeats no identify', async () => {
    await client().subscribe();
    await client().identify('u-42');
    await expect(client({ clientKey: 'ck_live_2' }).refresh()).resolves.toEqual({ id: 'dev_1' });
    expect(registrations()[1]?.body).toHaveProperty('device_id', 'dev_1');
    expect(api.heardOn('/v1/identify')).toHaveLength(1);
    await client({ clientKey: 'ck_live_2' }).identify(null);
    expect(api.heardOn('/v1/identify')[1]?.body).toEqual({ device_id: 'dev_1', external_id: null });
  });

  test('of another app never tells that app the identity that the first app was told', async () => {
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

  test('of another app never tells that app an identity that waits for a subscription of the first', async () => {
    await client().identify('u-42');
    await client({ clientKey: 'ck_live_2' }).subscribe();
    expect(api.heardOn('/v1/identify')).toEqual([]);
  });

  test('of another app tells that app the identity that was set with its own key', async () => {
    await client().subscribe();
    await client().identify('u-42');
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    const other = client({ clientKey: 'ck_live_2' });
    await expect(other.identify('b-7')).rejects.toMatchObject({ status: 404 });
    await other.refresh();
    expect(api.heardOn('/v1/identify').at(-1)?.body).toEqual({ device_id: 'dev_2', external_id: 'b-7' });
  });

  test('used by another tab during the retries of a log-in stops that log-in', async () => {
    await client().subscribe();
    holdIdentify(({ saidWith }) => saidWith === 'ck_live_2');
    const logIn = client().identify('u-1');
    await expect.poll(() => api.heardOn('/v1/identify').length).toBe(1);
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
  test('is called once for the device and once an hour for the user, not at every page load', async () => {
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
