import { describe, expect, it } from 'vitest';
import { boundUserHash, userHash } from '../src/user-hash.ts';
import { vectors } from './vectors.ts';

const { secret, simple, bound } = vectors.user_hash;

describe('a user hash', () => {
  it.each(simple)('of $external_id equals the published vector', ({ external_id, user_hash }) => {
    expect(userHash(secret, external_id)).toBe(user_hash);
  });

  it.each(bound)('bound to a device, of $external_id equals the published vector', (vector) => {
    const { external_id: externalId, device_id: deviceId, t, user_hash } = vector;
    expect(boundUserHash(secret, { externalId, deviceId }, { nowMs: t * 1000 + 999 })).toBe(user_hash);
  });

  it('is not made without a secret', () => {
    expect(() => userHash('', 'u-42')).toThrow(TypeError);
    expect(() => boundUserHash('', { externalId: 'u-42', deviceId: 'dev_1' })).toThrow(TypeError);
  });
});
