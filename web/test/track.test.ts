import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { changeBrowser } from '../src/device-id.ts';
import { queueEvent, sendEvents } from '../src/event-queue.ts';
import { createCarillon, NetworkError } from '../src/index.ts';
import { type Api, refusal, startApi } from './api.ts';
import { install } from './browser.ts';

const scope = 'https://shop.example/';
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

const onError = (error: unknown) => errors.push(error);
const client = () => createCarillon({ baseUrl: api.url, clientKey: 'ck_live_1', onError });
const send = () => sendEvents(scope, onError, async () => {});
const waiting = () => browser.indexedDB.rows('events').length;
const queue = (name: string, id = name) =>
  queueEvent(scope, { id, name, properties: {}, occurred_at: '2026-11-21T10:15:30.123Z' });
const sent = () => api.heardOn('/v1/events').map(({ body }) => body?.['events'] as Record<string, unknown>[]);

describe('track', () => {
  test('sends the event with its device, an id and its time', async () => {
    const carillon = client();
    await carillon.subscribe();
    await carillon.track('purchase', { amount: 79.9, currency: 'EUR', at: new Date(0) }, { id: 'order-1' });
    await send();
    expect(sent()).toEqual([
      [
        {
          id: 'order-1',
          name: 'purchase',
          device_id: 'dev_1',
          properties: { amount: 79.9, currency: 'EUR', at: '1970-01-01T00:00:00.000Z' },
          occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      ],
    ]);
    expect(waiting()).toBe(0);
  });

  test('gives each event a random id of its own', async () => {
    await client().track('a');
    await client().track('a');
    const ids = browser.indexedDB.rows('events').map((row) => (row['event'] as { id: string }).id);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  test('refuses at once what could never be sent', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    await expect(client().track('')).rejects.toBeInstanceOf(TypeError);
    await expect(client().track('a', circular)).rejects.toBeInstanceOf(TypeError);
    expect(waiting()).toBe(0);
  });

  test.each([
    ['more than 8 KiB', { text: 'x'.repeat(8_192) }],
    ['more than 8 KiB in UTF-8', { text: '鐘'.repeat(3_000) }],
    ['more than five levels', { a: { b: [{ c: { d: {} } }] } }],
  ])('refuses at once properties of %s, which the service would refuse', async (_, properties) => {
    await expect(client().track('a', properties)).rejects.toBeInstanceOf(TypeError);
    expect(waiting()).toBe(0);
  });

  test.each([
    ['a name of 129', 'x'.repeat(129), {}, {}],
    ['a name with a line break', 'a\nb', {}, {}],
    ['an id with a space', 'a', {}, { id: 'order 1' }],
    ['an id of 129', 'a', {}, { id: 'x'.repeat(129) }],
    ['an empty id', 'a', {}, { id: '' }],
    ['51 properties', 'a', Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, i])), {}],
    ['a key of 65', 'a', { ['k'.repeat(65)]: 1 }, {}],
  ])('refuses at once %s', async (_, name, properties, options) => {
    await expect(client().track(name, properties, options)).rejects.toBeInstanceOf(TypeError);
    expect(waiting()).toBe(0);
  });

  test('takes properties up to the limits', async () => {
    await client().track('a', { text: 'x'.repeat(8_192 - '{"text":""}'.length) });
    await client().track('a', { a: { b: [{ c: {} }] } });
    expect(waiting()).toBe(2);
  });

  test('keeps events until the browser is a device, and then sends them with that device', async () => {
    const carillon = client();
    await carillon.track('article_read');
    await send();
    expect(api.heard).toEqual([]);
    await carillon.subscribe();
    await send();
    expect(sent()[0]).toEqual([expect.objectContaining({ name: 'article_read', device_id: 'dev_1' })]);
  });
});

describe('the queue', () => {
  beforeEach(async () => {
    await client().subscribe();
    await send();
  });

  test('is sent in batches of at most fifty, oldest first', async () => {
    for (let number = 0; number < 120; number += 1) await queue(`event-${number}`);
    await send();
    expect(sent().map((batch) => batch.length)).toEqual([50, 50, 20]);
    expect(
      sent()
        .flat()
        .map((event) => event['name']),
    ).toEqual(Array.from({ length: 120 }, (_, n) => `event-${n}`));
  });

  test('survives while the service is unreachable, and a repeat has the same ids and device', async () => {
    await queue('a');
    api.script('/v1/events', ...Array.from({ length: 4 }, () => refusal(503, 'unavailable')));
    await expect(send()).rejects.toMatchObject({ status: 503 });
    expect(waiting()).toBe(1);
    await send();
    expect(waiting()).toBe(0);
    expect(new Set(sent().map((batch) => JSON.stringify(batch))).size).toBe(1);
  });

  test('repeats an event for the device of its first send, even when this browser is another device now', async () => {
    await queue('a');
    api.script('/v1/events', refusal(500, 'internal_error'));
    await expect(send()).rejects.toMatchObject({ status: 500 });
    api.state.devices.set('dev_2', 'another');
    await changeBrowser(scope, { baseUrl: api.url, clientKey: 'ck_live_1' }, () => ({ deviceId: 'dev_2' }));
    await queue('b');
    await send();
    expect(sent()[1]?.map((event) => event['device_id'])).toEqual(['dev_1', 'dev_2']);
  });

  test('is kept when nobody answers', async () => {
    await queue('a');
    await api.close();
    await expect(send()).rejects.toBeInstanceOf(NetworkError);
    expect(waiting()).toBe(1);
  });

  test('is sent once from two tabs at the same time', async () => {
    await queue('a');
    await Promise.all([send(), send()]);
    expect(sent()).toHaveLength(1);
  });

  test('drops only the invalid events, and reports them to onError', async () => {
    for (const name of ['good', 'bad', 'fine']) await queue(name);
    const issues = [{ path: ['events', 1, 'name'], code: 'invalid_format', message: 'No.' }];
    api.script('/v1/events', refusal(400, 'validation_failed', { issues }));
    await send();
    expect(sent()[1]?.map((event) => event['name'])).toEqual(['good', 'fine']);
    expect(errors).toEqual([expect.objectContaining({ status: 400, issues })]);
    expect(waiting()).toBe(0);
  });

  test('drops a batch that is refused as a whole, so that it does not block later ones', async () => {
    await queue('a');
    api.script(
      '/v1/events',
      refusal(400, 'body_too_large', { issues: [{ path: [], code: 'body_too_large', message: '' }] }),
    );
    await send();
    expect(waiting()).toBe(0);
    expect(errors).toHaveLength(1);
  });

  test.each([
    [400, 'body_too_large'],
    [400, 'invalid_json'],
    [413, 'invalid_answer'],
  ])('drops only the event that causes a %i %s, although the answer does not name it', async (status, error) => {
    for (let number = 0; number < 50; number += 1) await queue(`event-${number}`);
    api.refuseBody = (text) => (text.includes('"event-17"') ? refusal(status, error) : null);
    await send();
    expect(api.state.events.size).toBe(49);
    expect(errors).toEqual([expect.objectContaining({ status, error })]);
    expect(waiting()).toBe(0);
  });

  test('drops the events that the app accepts from no browser, as the answer names them, and sends the others', async () => {
    for (let number = 0; number < 50; number += 1) await queue(`event-${number}`);
    api.refuseBody = (text) => {
      const { events } = JSON.parse(text) as { events: { name: string }[] };
      const at = events.findIndex(({ name }) => ['event-3', 'event-17', 'event-49'].includes(name));
      return at === -1 ? null : refusal(403, 'wrong_key_scope', { path: ['events', at] });
    };
    await send();
    expect(api.state.events.size).toBe(47);
    expect(errors).toEqual(Array(3).fill(expect.objectContaining({ status: 403, error: 'wrong_key_scope' })));
    expect(waiting()).toBe(0);
  });

  test('drops only few events in one run when the service refuses everything without naming an event', async () => {
    for (let number = 0; number < 50; number += 1) await queue(`event-${number}`);
    api.refuseBody = () => refusal(400, 'invalid_json');
    await expect(send()).rejects.toMatchObject({ status: 400 });
    expect(waiting()).toBe(45);
  });

  test('waits an hour when the service has no route for events, and registers the device once', async () => {
    const registrations = () => api.heardOn('/v1/devices').length;
    const before = registrations();
    vi.useFakeTimers({ toFake: ['Date'] });
    api.script('/v1/events', ...Array.from({ length: 20 }, () => refusal(404, 'not_found')));
    await queue('a');
    await expect(send()).rejects.toMatchObject({ status: 404 });
    for (let load = 0; load < 5; load += 1) {
      await client().refresh();
      await send();
    }
    expect(sent()).toHaveLength(1);
    expect(registrations()).toBe(before + 1);
    vi.setSystemTime(Date.now() + 60 * 60 * 1000);
    await expect(send()).rejects.toMatchObject({ status: 404 });
    await client().refresh();
    expect(sent()).toHaveLength(2);
    expect(registrations()).toBe(before + 1);
    expect(waiting()).toBe(1);
  });

  test.each([401, 403, 500])('is kept through a %i', async (status) => {
    await queue('a');
    api.script('/v1/events', refusal(status, 'no'));
    await expect(send()).rejects.toMatchObject({ status });
    expect(waiting()).toBe(1);
  });

  test('moves to the new device when the service has lost the old one', async () => {
    await queue('a');
    api.state.devices.clear();
    api.state.devices.set('dev_9', 'another');
    await expect(send()).rejects.toMatchObject({ status: 404 });
    expect(waiting()).toBe(1);
    await client().refresh();
    await send();
    expect([...api.state.events.values()]).toEqual([expect.objectContaining({ name: 'a', device_id: 'dev_2' })]);
  });

  test('keeps the newest thousand', async () => {
    for (let number = 0; number < 1_005; number += 1) await queue(`event-${number}`);
    expect(waiting()).toBe(1_000);
    expect(browser.indexedDB.rows('events')[0]).toMatchObject({ event: { name: 'event-5' } });
  });
});

describe('a shared browser', () => {
  /** The identities and events that the service received, in order. */
  const story = () =>
    api.heard.flatMap(({ path, body }) => {
      if (path === '/v1/identify') return [`is ${body?.['external_id']}`];
      return path === '/v1/events'
        ? (body as unknown as { events: { name: string }[] }).events.map(({ name }) => name)
        : [];
    });

  function goOffline(): () => void {
    const real = fetch;
    browser.navigator.onLine = false;
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('offline');
    });
    return () => {
      browser.navigator.onLine = true;
      vi.stubGlobal('fetch', real);
    };
  }

  beforeEach(async () => {
    await client().subscribe();
    await client().identify('ada');
  });

  test("gives a person's offline events to that person, even when another is logged in when the network is back", async () => {
    const goOnline = goOffline();
    await client().track('purchase');
    await expect(client().identify(null)).rejects.toBeInstanceOf(NetworkError);
    await expect(client().identify('bob')).rejects.toBeInstanceOf(NetworkError);
    await client().track('read');
    goOnline();
    await client().refresh();
    await send();
    expect(story()).toEqual(['is ada', 'purchase', 'is bob', 'read']);
    expect(waiting()).toBe(0);
  });

  test('tells a log-out after the events tracked before it, even when these must be sent again', async () => {
    api.script('/v1/events', refusal(503, 'unavailable'));
    await client().track('purchase');
    await client().identify(null);
    expect(story()).toEqual(['is ada', 'purchase', 'purchase', 'is null']);
  });

  test('logs out even when the service accepts no events, and keeps the events for their person', async () => {
    let isAway = true;
    api.refuseBody = (text) => (isAway && text.includes('purchase') ? refusal(500, 'internal_error') : null);
    await client().track('purchase');
    await expect(client().identify(null)).resolves.toBe(true);
    isAway = false;
    await client().track('read');
    await client().identify('bob');
    await send();
    expect([...api.state.events.values()].map((event) => event['name'])).toEqual(['read']);
    expect(waiting()).toBe(1);
    await client().identify('ada', 'another hash');
    await send();
    expect(story().slice(-2)).toEqual(['is ada', 'purchase']);
    expect(waiting()).toBe(0);
  });

  test("sends nothing while the service's link of the device is unknown", async () => {
    api.script('/v1/identify', refusal(500, 'internal_error'));
    await expect(client().identify('bob')).rejects.toMatchObject({ status: 500 });
    await client().track('read');
    await send();
    expect(sent()).toEqual([]);
    await client().refresh();
    await send();
    expect(story()).toEqual(['is ada', 'is bob', 'is bob', 'read']);
  });
});

test('events before any log-in are sent before the log-in that came with the subscription', async () => {
  await client().track('read');
  await client().identify('ada');
  await client().track('purchase');
  await client().subscribe();
  await send();
  const paths = api.heard.map(({ path }) => path).filter((path) => path !== '/v1/config');
  expect(paths).toEqual(['/v1/devices', '/v1/events', '/v1/identify', '/v1/events']);
  expect(sent().map((batch) => batch.map((event) => event['name']))).toEqual([['read'], ['purchase']]);
});
