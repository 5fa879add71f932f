// The browser SDK against the service itself: what it says of whose a browser is must be what the service understands. The browser
// is the SDK's own stand-in, with keys that a real one would have; e2e/ has real browsers.
import { createECDH, createHmac, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createCarillon } from '../../web/src/index.ts';
import { FakeSubscription, install } from '../../web/test/browser.ts';
import { requireBoundIdentify, rotateIdentifySecret } from '../src/apps/identify-secrets.ts';
import { createSeal } from '../src/platform/seal.ts';
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
const hex = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/** Whose devices these are, as the service knows it. */
async function ownersOf(app: TestApp): Promise<Record<string, string | null>> {
  const { body } = await t.clientOf(app.serverKey).get('/v1/devices');
  return Object.fromEntries(
    body.data.map(({ id, external_id }: { id: string; external_id: string | null }) => [id, external_id]),
  );
}

async function provenApp(): Promise<{ app: TestApp; secret: string }> {
  const app = await t.newApp();
  const { secret } = await rotateIdentifySecret({ sql: t.sql, seal }, app.id);
  return { app, secret };
}

describe('identify of the browser SDK', () => {
  it('links the browser, moves it, and logs it out', async () => {
    const app = await t.newApp();
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ isIdentifyHashRequired: false, isBoundHashRequired: false });
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

  it('tells with the subscription who was named before it', async () => {
    const { app, secret } = await provenApp();
    const carillon = clientOf(app);
    expect(await carillon.identify('ada', hex(secret, 'ada'))).toBe(false);
    const { id } = await carillon.subscribe();
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
    expect(errors).toEqual([]);
  });

  it('throws what the service refuses, tells a refresh’s refusal to onError, and is put right by a good hash', async () => {
    const { app, secret } = await provenApp();
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ isIdentifyHashRequired: true, isBoundHashRequired: false });
    const { id } = await carillon.subscribe();
    const refusal = { status: 403, error: 'identity_check_failed' };
    await expect(carillon.identify('ada')).rejects.toMatchObject(refusal);
    await expect(carillon.identify('ada', hex(secret, 'bob'))).rejects.toMatchObject(refusal);
    await carillon.refresh();
    expect(errors).toEqual([expect.objectContaining(refusal)]);
    expect(await ownersOf(app)).toEqual({ [id]: null });
    expect(await carillon.identify('ada', hex(secret, 'ada'))).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
    expect(await carillon.identify(null)).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: null });
  });

  it('goes by a hash that is bound to the device it names', async () => {
    const { app, secret } = await provenApp();
    await requireBoundIdentify(t.sql, app.id, true);
    const carillon = clientOf(app);
    expect(await carillon.config()).toMatchObject({ isIdentifyHashRequired: true, isBoundHashRequired: true });
    await carillon.subscribe();
    const id = (await carillon.deviceId()) ?? '';
    const at = Math.floor(t.clock.nowMs() / 1000);
    await expect(carillon.identify('ada', hex(secret, 'ada'))).rejects.toMatchObject({ status: 403 });
    expect(await carillon.identify('ada', `t=${at},v1=${hex(secret, `${at}.${id}.ada`)}`)).toBe(true);
    expect(await ownersOf(app)).toEqual({ [id]: 'ada' });
  });

  it('finds its way after the person was erased: opted out until they subscribe again, then nobody’s', async () => {
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
