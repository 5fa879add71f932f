// The proof that POST /v1/identify demands where the app has an identify secret (contract 15).
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { decodeId, encodeId } from '../../src/ground/values/ids.ts';
import {
  clearIdentifySecrets,
  finishIdentifyRotation,
  rotateIdentifySecret,
  setIdentify,
} from '../../src/teams/apps/identify-secrets.ts';
import { signHash, signParts, signToken } from '../fixtures/sign-proof.ts';
import { setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });
const seal = createSeal(t.masterKey);
const path = '/v1/identify';
const deps = { ...t, seal };

const nowSeconds = (): number => Math.floor(t.clock.nowMs() / 1000);
const tokenFor = (secret: string, sub: string, claims: object = {}): string =>
  signToken(secret, { sub, exp: nowSeconds() + 3600, ...claims });

async function userOf(deviceId: string): Promise<string | null> {
  const [row] = await t.sql<{ externalId: string | null }[]>`
    SELECT external_id FROM audience WHERE device_id = ${decodeId('dev', deviceId) ?? ''}`;
  return row?.externalId ?? null;
}

/** An app that requires a proof for identify, with a device of its own. */
async function provenApp(form: 'token' | 'hash') {
  const app = await t.newApp();
  const { secret } = await rotateIdentifySecret(deps, app.id, { form });
  const device_id = await t.registerDevice({}, app);
  return { app, secret, device_id, client: t.clientOf(app.clientKey), server: t.clientOf(app.serverKey) };
}

const requireDevice = (app: TestApp, isDeviceRequired: boolean) =>
  setIdentify(deps, app.id, { isEnabled: true, isDeviceRequired, check: () => undefined });

/** An app that required the bound form of earlier versions, as its row stands after the upgrade. */
async function formerlyBoundApp() {
  const bound = await provenApp('hash');
  await t.sql`UPDATE apps SET identify_bound_required = true WHERE id = ${bound.app.id}`;
  return bound;
}

describe('R-46 statements that cannot be misread', () => {
  it('a hash for an external id that a person chose proves no other user', async () => {
    const { secret, device_id, client } = await provenApp('hash');
    const at = nowSeconds();
    // The shop's server signs what its customer is called, and asks nothing of the name.
    const chosen = signHash(secret, `${at}.${device_id}.victim@shop.example`);
    for (const user_hash of [`t=${at},v1=${chosen}`, chosen]) {
      const answer = await client.post(path, { device_id, external_id: 'victim@shop.example', user_hash });
      expect(answer).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
    }
    expect(await userOf(device_id)).toBe(null);
  });

  it('a proof for a device id that a person chose proves no other user', async () => {
    const { secret, device_id, client } = await formerlyBoundApp();
    const at = nowSeconds();
    // Signed for the user smith@shop.example on a device that calls itself `<device_id>.john`.
    const mac = signHash(secret, `${at}.${device_id}.john.smith@shop.example`);
    const user_hash = `t=${at},v1=${mac}`;
    const answer = await client.post(path, { device_id, external_id: 'john.smith@shop.example', user_hash });
    expect(answer).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
    expect(await userOf(device_id)).toBe(null);
  });

  it('a hash for an external id that reads as a token is no token', async () => {
    const { secret, device_id, client } = await provenApp('hash');
    const [head, body] = tokenFor(secret, 'victim').split('.');
    const user_token = signParts(secret, `${head}.${body}`);
    const answer = await client.post(path, { device_id, external_id: 'victim', user_token });
    expect(answer).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
  });

  it('a token read as a hash proves nobody', async () => {
    const { secret, device_id, client } = await provenApp('token');
    const external_id = signToken(secret, { sub: 'u-1', exp: 1 }).split('.').slice(0, 2).join('.');
    const answer = await client.post(path, { device_id, external_id, user_hash: signHash(secret, external_id) });
    expect(answer).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
  });
});

describe('403 identity_check_failed (R-46)', () => {
  it('has one body for every fault of either proof, for both kinds of keys', async () => {
    const { app, secret, device_id, client, server } = await provenApp('token');
    const { secret: hashing } = await rotateIdentifySecret(deps, app.id, { form: 'hash' });
    const other = await provenApp('token');
    const good = { user_token: tokenFor(secret, 'u-42') };
    const goodHash = { user_hash: signHash(hashing, 'u-42') };
    const at = nowSeconds();
    const wrong: readonly object[] = [
      ...[{}, { user_token: null }, { user_hash: null }, { user_token: '' }, { user_hash: '' }],
      ...[{ user_token: goodHash.user_hash }, { user_hash: good.user_token }, { user_token: `${good.user_token}=` }],
      ...[{ user_token: tokenFor(secret, 'u-43') }, { user_token: tokenFor(other.secret, 'u-42') }],
      ...[{ user_token: tokenFor(hashing, 'u-42') }, { user_hash: signHash(secret, 'u-42') }],
      ...[{ user_token: tokenFor(secret, 'u-42', { exp: at - 61 }) }, { user_token: 'x'.repeat(10_000) }],
      ...[{ user_token: tokenFor(secret, 'u-42', { exp: at + 86_470 }) }],
      ...[{ user_token: tokenFor(secret, 'u-42', { nbf: at + 70 }) }],
      ...[{ user_token: tokenFor(secret, 'u-42', { aud: encodeId('app', other.app.id) }) }],
      ...[{ user_token: tokenFor(secret, 'u-42', { device_id: unknownId('dev') }) }],
      ...['none', 'RS256', 'HS512', 'hs256'].map((alg) => ({
        user_token: signToken(secret, { sub: 'u-42', exp: at + 60 }, { alg }),
      })),
      ...[{ user_hash: goodHash.user_hash.toUpperCase() }, { user_hash: `0x${goodHash.user_hash}` }],
      { user_hash: `t=${at},v1=${signHash(hashing, `${at}.${device_id}.u-42`)}` },
    ];
    const bodies = new Set<string>();
    for (const by of [client, server]) {
      for (const proof of wrong) {
        const { status, headers, body } = await by.post(path, { device_id, external_id: 'u-42', ...proof });
        expect([status, body.error], JSON.stringify(proof)).toEqual([403, 'identity_check_failed']);
        expect(body.request_id).toBe(headers.get('x-request-id'));
        bodies.add(JSON.stringify({ ...body, request_id: '' }));
      }
    }
    expect([...bodies]).toHaveLength(1);
    expect(await userOf(device_id)).toBe(null);
    expect(await t.sql`SELECT 1 FROM people WHERE app_id = ${app.id}`).toHaveLength(0);
    for (const proof of [good, goodHash]) {
      for (const by of [client, server]) {
        expect((await by.post(path, { device_id, external_id: 'u-42', ...proof })).status).toBe(200);
      }
    }
  });

  it('comes before the device is looked up: an unknown one is 404 only with a valid proof', async () => {
    const { app, secret, device_id: mine, client } = await provenApp('token');
    const foreign = await t.registerDevice();
    for (const device_id of [unknownId('dev'), 'dev_none', '', foreign]) {
      const refused = await client.post(path, { device_id, external_id: 'u-1' });
      expect(refused).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
      const user_token = tokenFor(secret, 'u-1', { device_id });
      const unknown = await client.post(path, { device_id, external_id: 'u-1', user_token });
      expect(unknown).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
    expect(await t.sql`SELECT 1 FROM people WHERE app_id = ${app.id}`).toHaveLength(0);
    expect(await userOf(mine)).toBe(null);
  });

  it('moving a device to another user needs a proof for the new one (R-47)', async () => {
    const { secret, device_id, client } = await provenApp('token');
    const user_token = tokenFor(secret, 'first');
    await client.post(path, { device_id, external_id: 'first', user_token });
    expect((await client.post(path, { device_id, external_id: 'second', user_token })).status).toBe(403);
    expect(await userOf(device_id)).toBe('first');
    const second = { user_token: tokenFor(secret, 'second') };
    expect((await client.post(path, { device_id, external_id: 'second', ...second })).status).toBe(200);
  });

  it('is not given for a log-out, nor without a secret', async () => {
    const { app, secret, device_id, client } = await provenApp('token');
    const user_token = tokenFor(secret, 'u-1');
    await client.post(path, { device_id, external_id: 'u-1', user_token });
    for (const proof of [{}, { user_token: 'nonsense' }, { user_hash: 'nonsense' }]) {
      expect((await client.post(path, { device_id, external_id: null, ...proof })).status).toBe(200);
    }
    await clearIdentifySecrets(t, app.id);
    for (const proof of [{}, { user_token: 'nonsense' }, { user_hash: 'nonsense' }]) {
      expect((await client.post(path, { device_id, external_id: 'u-1', ...proof })).status).toBe(200);
    }
  });

  it("judges a token's times by the service's clock", async () => {
    const { secret, device_id, client } = await provenApp('token');
    const user_token = tokenFor(secret, 'u-1', { exp: nowSeconds() + 10 });
    expect((await client.post(path, { device_id, external_id: 'u-1', user_token })).status).toBe(200);
    t.clock.advance(80_000);
    expect((await client.post(path, { device_id, external_id: 'u-1', user_token })).status).toBe(403);
  });
});

describe('a rotation', () => {
  it('has two valid secrets, each in its own form, from the first moment to the last', async () => {
    const { app, secret: former, device_id, client } = await provenApp('hash');
    const asks = async (...proofs: object[]): Promise<number[]> => {
      const statuses: number[] = [];
      for (const proof of proofs) {
        statuses.push((await client.post(path, { device_id, external_id: 'u-1', ...proof })).status);
      }
      return statuses;
    };
    const byHash = (secret: string) => ({ user_hash: signHash(secret, 'u-1') });
    const byToken = (secret: string) => ({ user_token: tokenFor(secret, 'u-1') });
    const { secret: next } = await rotateIdentifySecret(deps, app.id, { form: 'token' });
    expect(await asks(byHash(former), byToken(next), byToken(former), byHash(next))).toEqual([200, 200, 403, 403]);
    expect(await finishIdentifyRotation(t, app.id)).toBe(true);
    expect(await asks(byHash(former), byToken(next))).toEqual([403, 200]);
    expect(await finishIdentifyRotation(t, app.id)).toBe(false);
    const { secret: lost } = await rotateIdentifySecret(deps, app.id, { form: 'token' });
    const third = await rotateIdentifySecret(deps, app.id, { form: 'token' });
    expect(third).toMatchObject({ isRotation: true, hasReplacedNext: true });
    expect(await asks(byToken(next), byToken(lost), byToken(third.secret))).toEqual([200, 403, 200]);
  });
});

describe('the required device', () => {
  it('has to stand in the token, and no hash is accepted', async () => {
    const { app, secret, device_id, client, server } = await provenApp('token');
    const { secret: hashing } = await rotateIdentifySecret(deps, app.id, { form: 'hash' });
    await requireDevice(app, true);
    const proofs = [
      [{ user_token: tokenFor(secret, 'u-1', { device_id }) }, 200],
      [{ user_token: tokenFor(secret, 'u-1') }, 403],
      [{ user_token: tokenFor(secret, 'u-1', { device_id: unknownId('dev') }) }, 403],
      [{ user_hash: signHash(hashing, 'u-1') }, 403],
    ] as const;
    for (const by of [client, server]) {
      for (const [proof, status] of proofs) {
        expect((await by.post(path, { device_id, external_id: 'u-1', ...proof })).status).toBe(status);
      }
    }
    await requireDevice(app, false);
    expect((await client.post(path, { device_id, external_id: 'u-1', ...proofs[3][0] })).status).toBe(200);
  });

  it('cannot be required without a token secret, and the last one does not go while it is', async () => {
    const { app } = await provenApp('hash');
    const refusal = expect.objectContaining({
      details: expect.objectContaining({
        issues: [expect.objectContaining({ path: ['require_device'], code: 'invalid_value' })],
      }),
    });
    await expect(requireDevice(app, true)).rejects.toEqual(refusal);
    await expect(rotateIdentifySecret(deps, app.id, { form: 'hash', isDeviceRequired: true })).rejects.toEqual(refusal);
    await rotateIdentifySecret(deps, app.id, { form: 'token', isDeviceRequired: true });
    await expect(rotateIdentifySecret(deps, app.id, { form: 'hash' })).rejects.toEqual(refusal);
    expect(await finishIdentifyRotation(t, app.id)).toBe(true);
    await rotateIdentifySecret(deps, app.id, { form: 'hash' });
    await expect(finishIdentifyRotation(t, app.id)).rejects.toEqual(refusal);
    await rotateIdentifySecret(deps, app.id, { form: 'hash', isDeviceRequired: false });
    expect(await finishIdentifyRotation(t, app.id)).toBe(true);
  });

  it('an app that required the bound form of before accepts no proof until it has a token secret', async () => {
    const { app, secret: former, device_id, client } = await formerlyBoundApp();
    const at = nowSeconds();
    const user_hash = `t=${at},v1=${signHash(former, `${at}.${device_id}.u-1`)}`;
    for (const proof of [{ user_hash }, { user_hash: signHash(former, 'u-1') }]) {
      expect((await client.post(path, { device_id, external_id: 'u-1', ...proof })).status).toBe(403);
    }
    expect((await client.get('/v1/config')).body).toMatchObject({
      identify_form: 'hash',
      identify_device_required: true,
    });
    const { secret } = await rotateIdentifySecret(deps, app.id, { form: 'token' });
    const user_token = tokenFor(secret, 'u-1', { device_id });
    expect((await client.post(path, { device_id, external_id: 'u-1', user_token })).status).toBe(200);
    expect((await client.get('/v1/config')).body).toMatchObject({ identify_form: 'token' });
  });
});

describe('R-44, R-45 the secret', () => {
  it.each([
    ['token', /^idjwt_[A-Za-z0-9_-]{43}$/],
    ['hash', /^idsec_[A-Za-z0-9_-]{43}$/],
  ] as const)('of the form %s is stored nowhere in clear text, and not in another app', async (form, shape) => {
    const { app, secret } = await provenApp(form);
    const [row] = await t.sql<{ identifySecret: string; text: string }[]>`
      SELECT identify_secret, a::text AS text FROM apps a WHERE id = ${app.id}`;
    expect(row?.text).not.toContain(secret);
    expect(secret).toMatch(shape);
    const place = { table: 'apps', column: 'identify_secret', rowId: app.id, appId: app.id };
    expect(seal.open(row?.identifySecret ?? '', place).toString()).toBe(secret);
    expect(() => seal.open(row?.identifySecret ?? '', { ...place, rowId: t.app.id, appId: t.app.id })).toThrow();
  });

  it('that cannot be opened admits nobody, without a reason', async () => {
    const { app, secret, device_id, client } = await provenApp('token');
    const other = await provenApp('token');
    await t.sql`
      UPDATE apps SET identify_secret = (SELECT identify_secret FROM apps WHERE id = ${other.app.id}) WHERE id = ${app.id}`;
    for (const by of [secret, other.secret]) {
      const answer = await client.post(path, { device_id, external_id: 'u-1', user_token: tokenFor(by, 'u-1') });
      expect(answer).toMatchObject({ status: 500, body: { error: 'internal_error' } });
      expect(JSON.stringify(answer.body)).not.toMatch(/seal|secret/i);
    }
    expect(await userOf(device_id)).toBe(null);
  });

  it('proves in its own form, whatever a change to its row says', async () => {
    const { app, secret, device_id, client } = await provenApp('hash');
    await t.sql`UPDATE apps SET identify_form = 'token' WHERE id = ${app.id}`;
    const user_token = tokenFor(secret, 'u-1');
    expect((await client.post(path, { device_id, external_id: 'u-1', user_token })).status).toBe(403);
  });
});
