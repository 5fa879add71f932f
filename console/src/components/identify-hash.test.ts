import { expect, test } from 'vitest';
import { checkHash } from './identify-hash.ts';

// The published vectors of the contract.
const secret = 'idsec_oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3uLm6u7y9vr8';
const deviceId = 'dev_4r4tgBwaHmRyQNukgzmqsi';
const atMs = 1_795_256_130_000;
const simple = '9da8dee619d79dc1ea67f5732ed8a5ad81418744f58ee1afd7eee52f2c51329c';
const bound = 't=1795256130,v1=112fe8f19410a317a5b579395925fabe5a41abca51f34b4e0fd9e36da200b865';
const claim = { secret, externalId: 'u-42', deviceId: '', hash: simple };

test('both forms of the published vectors are right', async () => {
  expect(await checkHash(claim, atMs)).toBeNull();
  expect(await checkHash({ ...claim, deviceId, hash: bound }, atMs)).toBeNull();
});

test.each([
  ['another external id', { externalId: 'u-43' }, 'differs'],
  ['another secret', { secret: 'idsec_other' }, 'differs'],
  ['upper-case digits', { hash: simple.toUpperCase() }, 'malformed'],
  ['the bound form without a device', { hash: bound }, 'no_device'],
  ['the bound form of another device', { hash: bound, deviceId: 'dev_other' }, 'differs'],
])('%s is told', async (_name, change, fault) => {
  expect(await checkHash({ ...claim, ...change }, atMs)).toMatchObject({ fault });
});

test('a bound hash is stale after a day', async () => {
  expect(await checkHash({ ...claim, deviceId, hash: bound }, atMs + 86_400_000)).toBeNull();
  expect(await checkHash({ ...claim, deviceId, hash: bound }, atMs + 86_401_000)).toEqual({ fault: 'stale' });
});
