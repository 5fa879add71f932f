import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { generateVapidKeys } from '../../src/sending/channels/webpush/vapid.ts';
import { saveCredential } from '../../src/teams/apps/credentials.ts';
import {
  clearIdentifySecrets,
  finishIdentifyRotation,
  rotateIdentifySecret,
} from '../../src/teams/apps/identify-secrets.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const deps = { sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(Buffer.alloc(32, 1)) };

describe('GET /v1/config', () => {
  it('tells both kinds of keys what an app needs before it registers, and nothing else', async () => {
    for (const key of [t.app.clientKey, t.app.serverKey]) {
      const { status, body } = await t.request('GET', '/v1/config', { key });
      expect(status).toBe(200);
      expect(Object.entries(body)).toEqual([
        ['vapid_public_key', t.app.vapidPublicKey],
        ['identify_required', false],
        ['identify_form', null],
        ['identify_device_required', false],
        ['channels', ['webpush']],
      ]);
      // An uncompressed P-256 point, as browsers need for applicationServerKey.
      const point = Buffer.from(body.vapid_public_key, 'base64url');
      expect([point.length, point[0]]).toEqual([65, 4]);
    }
  });

  it('has no VAPID key and no channel while none is configured', async () => {
    const app = await t.newApp({ channels: false });
    const { body } = await t.clientOf(app.clientKey).get('/v1/config');
    expect(body).toEqual({
      vapid_public_key: null,
      identify_required: false,
      identify_form: null,
      identify_device_required: false,
      channels: [],
    });
  });

  it('lists the configured channels in the order of the contract, whatever order they were set in', async () => {
    const app = await t.newApp({ channels: false });
    for (const channel of ['fcm', 'webpush', 'apns']) {
      await saveCredential(deps, { appId: app.id, channel, public: { publicKey: `of ${channel}` }, secret: 'secret' });
    }
    const { body } = await t.clientOf(app.clientKey).get('/v1/config');
    expect(body).toMatchObject({ channels: ['webpush', 'apns', 'fcm'], vapid_public_key: 'of webpush' });
  });

  it('returns the new VAPID key at once after a change', async () => {
    const app = await t.newApp();
    const { publicKey, privateKey } = generateVapidKeys();
    await saveCredential(deps, {
      appId: app.id,
      channel: 'webpush',
      public: { publicKey, subject: 'mailto:ops@shop.example' },
      secret: privateKey,
    });
    const answer = await t.clientOf(app.clientKey).get('/v1/config');
    expect(answer.body).toMatchObject({ vapid_public_key: publicKey, channels: ['webpush'] });
    expect(JSON.stringify(answer.body)).not.toContain(privateKey);
  });

  it('tells at once what identify requires, and never the secret', async () => {
    const app = await t.newApp();
    const client = t.clientOf(app.clientKey);
    const demanded = async () => {
      const { body } = await client.get('/v1/config');
      return [body.identify_required, body.identify_form, body.identify_device_required];
    };
    const { secret } = await rotateIdentifySecret(deps, app.id, { form: 'hash' });
    expect(await demanded()).toEqual([true, 'hash', false]);
    const { secret: next } = await rotateIdentifySecret(deps, app.id, { form: 'token' });
    expect(await demanded()).toEqual([true, 'token', false]);
    await finishIdentifyRotation(t, app.id);
    const { secret: third } = await rotateIdentifySecret(deps, app.id, { form: 'hash', isDeviceRequired: false });
    expect(await demanded()).toEqual([true, 'hash', false]);
    const { secret: last } = await rotateIdentifySecret(deps, app.id, { form: 'token', isDeviceRequired: true });
    expect(await demanded()).toEqual([true, 'token', true]);
    const shown = JSON.stringify((await client.get('/v1/config')).body);
    for (const each of [secret, next, third, last]) expect(shown).not.toContain(each);
    await clearIdentifySecrets(t, app.id);
    expect(await demanded()).toEqual([false, null, false]);
  });
});
