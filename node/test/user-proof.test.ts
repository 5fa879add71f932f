import { jwtVerify } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { userHash, userToken } from '../src/user-proof.ts';
import { vectors } from './vectors.ts';

const { user_hash: hashes, user_token: tokens } = vectors;

afterEach(() => void vi.useRealTimers());

describe('a user token', () => {
  it.each(tokens.valid)('$name equals the published vector', ({ external_id, device_id, user_token }) => {
    vi.useFakeTimers({ now: (tokens.exp - 600) * 1000 + 999 });
    expect(userToken(tokens.secret, { externalId: external_id, deviceId: device_id, expiresInSeconds: 600 })).toBe(
      user_token,
    );
  });

  it('is valid for an hour, as a foreign library reads it', async () => {
    const token = userToken(tokens.secret, { externalId: '"}.{"sub":"🔔' });
    const { payload } = await jwtVerify(token, new TextEncoder().encode(tokens.secret), { algorithms: ['HS256'] });
    expect(payload).toEqual({ sub: '"}.{"sub":"🔔', exp: expect.any(Number) });
    expect(Math.abs((payload.exp ?? 0) - Date.now() / 1000 - 3600)).toBeLessThan(60);
  });

  it.each<[what: string, secret: string | undefined, user: unknown]>([
    ['no secret', undefined, { externalId: 'u-42' }],
    ['an empty secret', '', { externalId: 'u-42' }],
    ['the secret of hashes', hashes.secret, { externalId: 'u-42' }],
    ['no user', tokens.secret, {}],
    ['an empty user', tokens.secret, { externalId: '' }],
    ['a device that is null', tokens.secret, { externalId: 'u-42', deviceId: null }],
    ['an empty device', tokens.secret, { externalId: 'u-42', deviceId: '' }],
    ['no time', tokens.secret, { externalId: 'u-42', expiresInSeconds: 0 }],
    ['more than a day', tokens.secret, { externalId: 'u-42', expiresInSeconds: 86_401 }],
    ['part of a second', tokens.secret, { externalId: 'u-42', expiresInSeconds: 1.5 }],
  ])('is not made with %s', (_what, secret, user) => {
    expect(() => userToken(secret, user as Parameters<typeof userToken>[1])).toThrow(TypeError);
  });
});

describe('a user hash', () => {
  it.each(hashes.valid)('of $name equals the published vector', ({ external_id, user_hash }) => {
    expect(userHash(hashes.secret, external_id)).toBe(user_hash);
  });

  it.each([undefined, '', tokens.secret])('is not made with the secret %j', (secret) => {
    expect(() => userHash(secret, 'u-42')).toThrow(TypeError);
  });
});
