import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import vectors from '../../../docs/vectors.json' with { type: 'json' };
import { findProofFault } from './identify-proof.ts';

const { user_hash: hashes, user_token: tokens } = vectors;
const now = tokens.exp - 60;
const appId = 'app_02y9GVDsTuJUi2BOoCH5G3';
const deviceId = 'dev_4r4tgBwaHmRyQNukgzmqsi';
const claim = { externalId: 'u-42', deviceId: '', appId, isDeviceRequired: false };

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function signed(claims: object, header: object = { alg: 'HS256' }): string {
  const text = `${encode(header)}.${encode({ sub: 'u-42', exp: now + 60, ...claims })}`;
  return `${text}.${createHmac('sha256', tokens.secret).update(text).digest('base64url')}`;
}
const faultOf = (proof: string, change: object = {}) =>
  findProofFault({ ...claim, secret: tokens.secret, proof, ...change }, now * 1000);

test.each(hashes.valid)('the published hash is right: $name', async ({ external_id: externalId, user_hash: proof }) => {
  expect(await faultOf(proof, { secret: hashes.secret, externalId })).toBeNull();
});

test.each(tokens.valid)(
  'the published token is right: $name',
  async ({ external_id: externalId, user_token: proof }) => {
    expect(await faultOf(proof, { externalId, deviceId })).toBeNull();
  },
);

test.each([
  ['another external id', signed({}), { externalId: 'u-43' }, /sub is "u-42"/],
  ['another secret', signed({}), { secret: 'idjwt_other' }, /another secret/],
  ['the secret of hashes', signed({}), { secret: hashes.secret }, /idjwt_/],
  ['the secret of tokens', 'ab'.repeat(32), {}, /idsec_/],
  ['another algorithm', signed({}, { alg: 'none' }), {}, /alg is "none"/],
  ['crit', signed({}, { alg: 'HS256', crit: [] }), {}, /crit/],
  ['no claims', 'a.b.c', {}, /no JSON object/],
  ['four parts', `${signed({})}.x`, {}, /three parts/],
  ['too many characters', signed({ more: 'x'.repeat(2000) }), {}, /at most 2,048/],
  ['another app', signed({ aud: 'app_other' }), {}, /aud is "app_other"/],
  ['another device', signed({ device_id: 'dev_other' }), { deviceId }, /device_id is "dev_other"/],
  ['a device that is not given', signed({ device_id: deviceId }), {}, /names a device/],
  ['no device where one is required', signed({}), { deviceId, isDeviceRequired: true }, /no device_id/],
  ['a hash where the device is required', 'ab', { secret: hashes.secret, isDeviceRequired: true }, /cannot name/],
  ['no exp', signed({ exp: undefined }), {}, /needs an exp/],
  ['an exp that is past', signed({ exp: now - 60 }), {}, /expired 60 seconds ago/],
  ['an exp too far ahead', signed({ exp: now + 86_461 }), {}, /24 hours/],
  ['an nbf that is ahead', signed({ nbf: now + 61 }), {}, /not valid yet/],
  ['a hash of another user', hashes.valid[0]?.user_hash ?? '', { secret: hashes.secret, externalId: 'u' }, /Expected/],
  ['upper-case digits', 'AB'.repeat(32), { secret: hashes.secret }, /64 lower-case/],
  ['the bound form', 't=1,v1=ab', { secret: hashes.secret }, /bound form of earlier versions/],
])('%s is told', async (_name, proof, change, words) => {
  expect(await faultOf(proof, change)).toMatch(words);
});

test('a token for the app among others is right', async () => {
  expect(await faultOf(signed({ aud: ['app_other', appId], nbf: now }))).toBeNull();
});
