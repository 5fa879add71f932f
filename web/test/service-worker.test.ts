import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Browser, changeBrowser, findBrowser } from '../src/device-id.ts';
import { listen, type PushReport } from '../src/push-report.ts';
import { type Api, refusal, startApi, vapidKeys } from './api.ts';
import { FakeSubscription } from './browser.ts';
import { scope, startWorker } from './worker.ts';

let api: Api;
let worker: Awaited<ReturnType<typeof startWorker>>;

beforeEach(async () => {
  api = await startApi();
  worker = await startWorker();
  await remember({});
});

afterEach(async () => {
  vi.unstubAllGlobals();
  await api.close();
});

/** Stores the record that a page leaves when it subscribes. */
async function remember(change: Partial<Browser>) {
  api.state.devices.set('dev_1', 'https://fcm.googleapis.com/fcm/send/old');
  await changeBrowser(scope, { baseUrl: api.url, clientKey: 'ck_live_1' }, () => ({
    deviceId: 'dev_1',
    registeredWith: 'ck_live_1',
    saidWith: 'ck_live_1',
    token: 'old',
    vapidPublicKey: vapidKeys[0],
    ...change,
  }));
}

const sale = {
  web_push: 8030,
  notification: {
    title: 'Sale',
    body: 'Now on',
    navigate: 'https://shop.example/sale',
    tag: 'msg_1',
    actions: [{ action: 'buy', title: 'Buy', navigate: 'https://shop.example/buy' }],
    data: { carillon_message_id: 'msg_1', carillon_token: 'token-1', url: 'https://shop.example/sale' },
  },
};
const receipts = () => api.heardOn('/v1/receipts').map(({ body }) => body);

describe('a push', () => {
  test('is shown and reported as displayed, with the token as the only credential', async () => {
    await worker.push(sale);
    expect(worker.shown[0]).toMatchObject({ title: 'Sale', body: 'Now on' });
    expect(receipts()).toEqual([{ token: 'token-1', event: 'displayed' }]);
    expect(api.heardOn('/v1/receipts')[0]?.headers).not.toHaveProperty('authorization');
  });

  test.each([[null], ['Test push'], ['{'], ['null']])('of %j is shown under the name of the site', async (payload) => {
    await worker.push(payload);
    expect(worker.happened).toEqual(['show shop.example']);
    expect(receipts()).toEqual([]);
  });

  test('is shown with its text alone when the browser rejects one of its options', async () => {
    worker.refuses.options = true;
    await worker.push({ notification: { ...sale.notification, icon: 'https://shop.example/icon.png' } });
    expect(worker.shown[0]?.options).toMatchObject({ body: 'Now on', tag: 'msg_1' });
    expect(receipts()).toHaveLength(1);
  });

  test('that cannot be shown at all is not reported as displayed', async () => {
    worker.refuses.everything = true;
    await expect(worker.push(sale)).rejects.toThrow('blocked');
    expect(receipts()).toEqual([]);
  });

  test('is shown with the defaults of the site', async () => {
    await remember({ defaults: { title: 'Shop', icon: '/icon.png' } });
    await worker.push({ notification: { body: 'Hello' } });
    expect(worker.shown[0]).toMatchObject({ title: 'Shop', options: { icon: '/icon.png' } });
  });

  test('sets the badge of the app', async () => {
    await worker.push({ notification: { ...sale.notification, app_badge: 3 } });
    expect(worker.happened).toEqual(['show Sale', 'badge 3']);
  });

  test('is shown although nothing is stored and the service is unreachable', async () => {
    vi.stubGlobal('indexedDB', undefined);
    await api.close();
    await worker.push(sale);
    expect(worker.happened).toEqual(['show Sale']);
  });

  test('is reported to the open pages of the site', async () => {
    const heard: PushReport[] = [];
    const all = new Promise<void>((resolve) => {
      const stop = listen(scope, (report) => {
        heard.push(report);
        if (heard.length < 3) return;
        stop();
        resolve();
      });
    });
    api.script('/v1/receipts', refusal(404, 'not_found'));
    await worker.push(sale);
    await all;
    expect(heard.map(({ kind }) => kind)).toEqual(['pushed', 'displayed', 'receipt_lost']);
    expect(heard[1]).toMatchObject({ messageId: 'msg_1', title: 'Sale', body: 'Now on', action: null });
  });
});

describe('a click', () => {
  test('closes the notification, opens its address and is reported', async () => {
    await worker.push(sale);
    await worker.click(worker.shown[0]);
    expect(worker.happened).toEqual(['show Sale', 'close', 'open https://shop.example/sale']);
    expect(receipts()[1]).toEqual({ token: 'token-1', event: 'clicked' });
  });

  test('on a button opens the address of the button and names it', async () => {
    await worker.push(sale);
    await worker.click(worker.shown[0], 'buy');
    expect(worker.happened).toContain('open https://shop.example/buy');
    expect(receipts()[1]).toEqual({ token: 'token-1', event: 'clicked', action: 'buy' });
  });

  test('opens the window while the receipt still waits for its answer', async () => {
    await worker.push(sale);
    const fetched = vi.spyOn(globalThis, 'fetch').mockReturnValue(new Promise(() => {}));
    void worker.click(worker.shown[0]);
    await expect.poll(() => worker.happened).toContain('open https://shop.example/sale');
    await expect.poll(() => fetched.mock.calls.length).toBe(1);
    expect(fetched.mock.calls[0]?.[1]).toMatchObject({ method: 'POST', keepalive: true });
    fetched.mockRestore();
  });

  test('opens the window even when the receipt is lost', async () => {
    await worker.push(sale);
    await api.close();
    await worker.click(worker.shown[0]);
    expect(worker.happened).toContain('open https://shop.example/sale');
  });

  test('focuses the page that already shows the address', async () => {
    worker.openPage('https://shop.example/');
    worker.openPage('https://shop.example/sale');
    await worker.push(sale);
    await worker.click(worker.shown[0]);
    expect(worker.happened.slice(2)).toEqual(['focus https://shop.example/sale']);
  });

  test('opens a window when the open one cannot be focused', async () => {
    worker.openPage('https://shop.example/sale');
    worker.refuses.focus = true;
    await worker.push(sale);
    await worker.click(worker.shown[0]);
    expect(worker.happened.slice(2)).toEqual(['open https://shop.example/sale']);
  });

  test('without an address focuses any page of the site, else opens the site', async () => {
    await worker.push({ notification: { title: 'Hello' } });
    await worker.click(worker.shown[0]);
    expect(worker.happened.at(-1)).toBe(`open ${scope}`);
    worker.openPage('https://other.example/');
    worker.openPage('https://shop.example/cart');
    await worker.click(worker.shown[0]);
    expect(worker.happened.at(-1)).toBe('focus https://shop.example/cart');
  });

  test('never follows an address that is no web page', async () => {
    await worker.push({ notification: { title: 'Hello', navigate: 'javascript:alert(1)' } });
    await worker.click(worker.shown[0]);
    expect(worker.happened.at(-1)).toBe(`open ${scope}`);
  });
});

describe('a closed notification', () => {
  test('is reported as dismissed', async () => {
    await worker.push(sale);
    await worker.close(worker.shown[0]);
    expect(receipts()[1]).toEqual({ token: 'token-1', event: 'dismissed' });
  });

  test('is not reported as dismissed after a click, which closed it itself', async () => {
    await worker.push(sale);
    await worker.click(worker.shown[0]);
    await worker.close(worker.shown[0]);
    expect(receipts().map((receipt) => receipt?.['event'])).toEqual(['displayed', 'clicked']);
  });
});

describe('a changed subscription', () => {
  const registration = () => api.heardOn('/v1/devices')[0]?.body;

  test('with both sides null is replaced with the stored key, and the device keeps its id', async () => {
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: null });
    const made = worker.pushManager.present;
    expect(Buffer.from(made?.options.applicationServerKey ?? new ArrayBuffer(0)).toString('base64url')).toBe(
      vapidKeys[0],
    );
    expect(registration()).toMatchObject({ device_id: 'dev_1', platform: 'web', healed: 'subscription_gone' });
    expect(registration()?.['token']).toContain(`"endpoint":"${made?.endpoint}"`);
    await expect(findBrowser(scope)).resolves.toMatchObject({ deviceId: 'dev_1', token: registration()?.['token'] });
  });

  test('is told with the stored subscription as the proof, so that the device stays this browser’s', async () => {
    await remember({ token: 'kept' });
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: null });
    expect(registration()).toMatchObject({ device_id: 'dev_1', previous_token: 'kept' });
    await expect(findBrowser(scope)).resolves.toMatchObject({ token: registration()?.['token'] });
  });

  test("is told with the event's old subscription when an earlier SDK version stored none", async () => {
    await remember({ token: null });
    const old = new FakeSubscription(worker.pushManager, Buffer.from(vapidKeys[0], 'base64url'));
    await worker.subscriptionChange({ oldSubscription: old, newSubscription: null });
    expect(JSON.parse(String(registration()?.['previous_token']))).toMatchObject({ endpoint: old.endpoint });
  });

  test('that includes the new subscription registers that one', async () => {
    const given = new FakeSubscription(worker.pushManager, Buffer.from(vapidKeys[0], 'base64url'));
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: given });
    expect(worker.pushManager.present).toBeNull();
    expect(registration()?.['token']).toContain(given.endpoint);
    expect(registration()).not.toHaveProperty('healed');
  });

  test('that the service refuses for good is replaced once, with the device kept', async () => {
    const issues = [{ path: ['token'], code: 'host_not_allowed', message: 'No.' }];
    api.script('/v1/devices', refusal(400, 'validation_failed', { issues }));
    const given = new FakeSubscription(worker.pushManager, Buffer.from(vapidKeys[0], 'base64url'));
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: given });
    const [first, second, ...others] = api.heardOn('/v1/devices').map(({ body }) => body);
    expect(others).toEqual([]);
    expect(first?.['token']).toContain(given.endpoint);
    expect(second?.['token']).toContain(`"endpoint":"${worker.pushManager.present?.endpoint}"`);
    expect(second).toMatchObject({ device_id: 'dev_1' });
  });

  test("is registered with the page's facts, because a worker sees fewer facts of its browser", async () => {
    const facts = { sdk: 'carillon-web/0.1.0', locale: 'fr-CA', os: 'iOS', app_version: '4' };
    await remember({ facts: JSON.stringify(facts) });
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: null });
    expect(registration()).toMatchObject(facts);
    await expect(findBrowser(scope)).resolves.toMatchObject({ facts: JSON.stringify(facts) });
  });

  test('of a device the service has lost becomes a new device of the same user', async () => {
    await remember({ identity: { externalId: 'u-42' } });
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: null });
    await expect(findBrowser(scope)).resolves.toMatchObject({ deviceId: 'dev_2' });
    expect(api.heardOn('/v1/identify')[0]?.body).toEqual({ device_id: 'dev_2', external_id: 'u-42' });
  });

  test('after an opt-out, or without a former registration, stays gone', async () => {
    await remember({ deviceId: null, isOptedOut: true });
    await worker.subscriptionChange({ oldSubscription: null, newSubscription: null });
    expect(worker.pushManager.present).toBeNull();
    expect(api.heard).toEqual([]);
  });

  test('that could not be told keeps the old subscription in the record, so that the next page load tells it', async () => {
    api.script('/v1/devices', refusal(500, 'internal_error'));
    await expect(worker.subscriptionChange({ oldSubscription: null, newSubscription: null })).rejects.toThrow();
    await expect(findBrowser(scope)).resolves.toMatchObject({ token: 'old' });
  });
});

describe('a new version', () => {
  test.each([
    ['/carillon-sw.js', ['skip waiting']],
    ['/demo/carillon-sw.js', ['skip waiting']],
    ['/carillon-sw.4f2a.js', ['skip waiting']],
    ['/my-own-worker.js', []],
  ])('of %s takes over at once only when the worker is ours', async (path, happened) => {
    worker = await startWorker(path);
    await worker.install();
    expect(worker.happened).toEqual(happened);
  });
});
