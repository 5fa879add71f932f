// Tests the browser SDK with the service itself: the service must understand identities and events
// as the SDK means them. The browser is the SDK's own stand-in, with realistic keys; e2e/ has real
// browsers.
import { createECDH, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { queueEvent, sendEvents } from '../../web/src/event-queue.ts';
import { createCarillon, NetworkError } from '../../web/src/index.ts';
import { FakeSubscription, install } from '../../web/test/browser.ts';
import { createSeal } from '../src/ground/secrets/seal.ts';
import { rotateIdentifySecret, type SecretWish } from '../src/teams/apps/identify-secrets.ts';
import { signHash, signToken } from './fixtures/sign-proof.ts';
import { setup, type TestApp } from './setup.ts';

const t = await setup({ workers: false });
const seal = createSeal(t.masterKey);
let errors: unknown[];

beforeEach(() => {
  install();
  errors = [];
  const keys = {
    p256dh: createECDH('prime256v1').generateKeys('base64url'),
    auth: randomBytes(16).toString('base64url'),
  };
  const endpoint = `https://fcm.googleapis.com/fcm/send/${randomBytes(12).toString('hex')}`;
  vi.spyOn(FakeSubscription.prototype, 'toJSON').mockReturnValue({ endpoint, expirationTime: null, keys });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const clientOf = (app: TestApp) =>
  createCarillon({ baseUrl: t.url, clientKey: app.clientKey, onError: (error) => errors.push(error) });
const tokenFor = (secret: string, sub: string, claims: object = {}): string =>
  signToken(secret, { sub, exp: Math.floor(t.clock.nowMs() / 1000) + 3600, ...claims });

/** The user of each device, as the service knows it. */
async function ownersOf(app: TestApp): Promise<Record<string, string | null>> {
  const { body } = await t.clientOf(app.serverKey).get('/v1/devices');
  return Object.fromEntries(
    body.data.map(({ id, external_id }: { id: string; external_id: string | null }) => [id, external_id]),
  );
}

async function provenApp(wish: SecretWish = { form: 'token' }): Promise<{ app: TestApp; secret: string }> {
  const app = await t.newApp();
  const { secret } = await rotateIdentifySecret({ ...t, seal }, app.id, wish);
  return { app, secret };
}

describe('identify of the browser SDK', () => {
  it('links the browser, changes its user, and logs it out', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ proofForm: null, isDeviceRequired: false });
    const { id } = await carillon.subscribe();
    expect(await ownersOf(app)).toEqual({ [id]: null });
    for (const name of ['ada', 'bob', null]) {
      expect(await carillon.identify(name)).toBe(true);
      expect(await ownersOf(app)).toEqual({ [id]: name });
    }
    await carillon.identify('ada');
    expect(await carillon.refresh()).toEqual({ id });
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
    expect(errors).toEqual([]);
  });

  it('tells with the subscription the user that was named before it', async () => {
    const { app, secret } = await provenApp();
    const carillon = clientOf(app);
    expect(await carillon.identify('ada', tokenFor(secret, 'ada'))).toBe(false);
    const { id } = await carillon.subscribe();
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
    expect(errors).toEqual([]);
  });

  it('throws a refusal, reports a refresh’s refusal to onError, and is repaired by a good token', async () => {
    const { app, secret } = await provenApp();
    const carillon = clientOf(app);
    const needs = { proofForm: 'token', isDeviceRequired: false };
    expect(await carillon.config()).toMatchObject(needs);
    const { id } = await carillon.subscribe();
    const refusal = { status: 403, error: 'identity_check_failed' };
    await expect(carillon.identify('ada')).rejects.toMatchObject(refusal);
    await expect(carillon.identify('ada', tokenFor(secret, 'bob'))).rejects.toMatchObject(refusal);
    await carillon.refresh();
    expect(errors).toEqual([expect.objectContaining(refusal)]);
    expect(await ownersOf(app)).toEqual({ [id]: null });
    expect(await carillon.identify('ada', tokenFor(secret, 'ada'))).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
    expect(await carillon.identify(null)).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: null });
  });

  it('proves by a token that names its device, where the app requires that', async () => {
    const { app, secret } = await provenApp({ form: 'token', isDeviceRequired: true });
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ isDeviceRequired: true });
    await carillon.subscribe();
    const id = (await carillon.deviceId()) ?? '';
    await expect(carillon.identify('ada', tokenFor(secret, 'ada'))).rejects.toMatchObject({ status: 403 });
    expect(await carillon.identify('ada', tokenFor(secret, 'ada', { device_id: id }))).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
  });

  it('proves by a hash, where the app has a secret of that form', async () => {
    const { app, secret } = await provenApp({ form: 'hash' });
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ proofForm: 'hash' });
    const { id } = await carillon.subscribe();
    expect(await carillon.identify('ada', signHash(secret, 'ada'))).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
  });

  it('recovers after an erasure: opted out until the person subscribes again, then without a user', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const carillon = clientOf(app);
    const { id } = await carillon.subscribe();
    await carillon.identify('ada');
    await server.delete('/v1/users/ada');
    await carillon.identify(null);
    expect(await carillon.subscribe()).toEqual({ id });
    expect(await ownersOf(app)).toEqual({ [id]: null });
    expect((await server.get('/v1/users/ada')).status).toBe(404);
  });
});

describe('track of the browser SDK', () => {
  const scope = 'https://shop.example/';
  /** Repeats until nothing is left that can be sent. */
  const send = () =>
    sendEvents(
      scope,
      (error) => errors.push(error),
      async () => undefined,
    );
  const eventsOf = (app: TestApp) =>
    t.sql<
      { name: string; externalId: string | null; at: Date; amount: string | null; properties: object }[]
    >`SELECT name, external_id, at, amount::text, properties FROM events WHERE app_id = ${app.id} ORDER BY at, name`;

  it('is stored with its time and properties, for the device and then for its user', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    const occurredAt = new Date(t.clock.nowMs() - 3_600_000);
    await carillon.track('article_read', { section: 'news', seen: occurredAt, nothing: undefined }, { occurredAt });
    await send();
    expect(await eventsOf(app)).toEqual([]);
    await carillon.subscribe();
    await send();
    await carillon.identify('ada');
    await carillon.track('purchase', { amount: 79.9, currency: 'eur' });
    await send();
    const [read, bought] = await eventsOf(app);
    expect(read).toMatchObject({ name: 'article_read', externalId: null, at: occurredAt });
    expect(read?.properties).toEqual({ section: 'news', seen: occurredAt.toISOString() });
    expect(bought).toMatchObject({ name: 'purchase', externalId: 'ada', amount: '79.9' });
    const filter = { and: [{ event: 'article_read' }, { event: 'purchase' }] };
    expect((await t.clientOf(app.serverKey).post('/v1/segments/preview', { filter })).body.count).toBe(1);
    expect(errors).toEqual([]);
  });

  it('counts an event once when its answer was lost or when it is tracked again with the same id', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    await carillon.subscribe();
    await send();
    const real = fetch;
    // The request arrives, and its answer is lost.
    vi.stubGlobal('fetch', async (...asked: Parameters<typeof fetch>) => {
      await real(...asked);
      throw new TypeError('the network is gone');
    });
    await queueEvent(scope, {
      id: 'order-1',
      name: 'purchase',
      properties: { amount: 5, currency: 'EUR' },
      occurred_at: t.clock.date().toISOString(),
    });
    await expect(send()).rejects.toBeInstanceOf(NetworkError);
    expect(await eventsOf(app)).toHaveLength(1);
    vi.stubGlobal('fetch', real);
    await send();
    await carillon.track('purchase', { amount: 5, currency: 'EUR' }, { id: 'order-1' });
    await send();
    expect(await eventsOf(app)).toHaveLength(1);
  });

  it('drops only the events that the service refuses, and reports each', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    await carillon.subscribe();
    await send();
    const at = t.clock.date().toISOString();
    for (let number = 0; number < 120; number++) {
      const isWrong = number % 40 === 7;
      const properties = isWrong ? { amount: '5', currency: 'EUR' } : { number };
      await queueEvent(scope, {
        id: `event-${number}`,
        name: isWrong ? 'purchase' : 'read',
        properties,
        occurred_at: at,
      });
    }
    await send();
    expect(await eventsOf(app)).toHaveLength(117);
    expect(errors.map((error) => (error as { issues: { path: unknown[] }[] }).issues[0]?.path.slice(2))).toEqual(
      Array(errors.length).fill(['properties', 'amount']),
    );
    expect(errors.length).toBeGreaterThan(0);
  });

  it("accepts everything within the service's limits, and refuses the rest at once", async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    await carillon.subscribe();
    const most = { text: '鐘'.repeat((8_192 - '{"text":""}'.length) / 3) };
    for (const properties of [most, { a: { b: [{ c: {} }] } }]) await carillon.track('a', properties);
    await expect(carillon.track('a', { text: `${most.text}鐘` })).rejects.toBeInstanceOf(TypeError);
    await expect(carillon.track('a', { a: { b: [{ c: { d: {} } }] } })).rejects.toBeInstanceOf(TypeError);
    await send();
    expect([await eventsOf(app), errors]).toEqual([expect.objectContaining({ length: 2 }), []]);
  });

  it('counts for the person who did it, offline and on a browser that another person logged in to meanwhile', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    await carillon.subscribe();
    await carillon.identify('ada');
    const real = fetch;
    Object.assign(navigator, { onLine: false });
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('offline');
    });
    await carillon.track('purchase', { amount: 5, currency: 'EUR' });
    await expect(carillon.identify(null)).rejects.toBeInstanceOf(NetworkError);
    await expect(carillon.identify('bob')).rejects.toBeInstanceOf(NetworkError);
    await carillon.track('read');
    Object.assign(navigator, { onLine: true });
    vi.stubGlobal('fetch', real);
    await carillon.refresh();
    await send();
    const stored = (await eventsOf(app)).map(({ name, externalId }) => [name, externalId]);
    expect(new Map(stored as [string, string][])).toEqual(
      new Map([
        ['purchase', 'ada'],
        ['read', 'bob'],
      ]),
    );
    expect(errors).toEqual([]);
  });

  it('continues after an opt-out and a new subscription with the same device', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    await carillon.subscribe();
    await carillon.unsubscribe();
    await carillon.track('left');
    await send();
    await carillon.subscribe();
    await send();
    expect((await eventsOf(app)).map(({ name }) => name)).toEqual(['left']);
    expect(errors).toEqual([]);
  });
});
