import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  audienceFault,
  decodeToken,
  expiryFault,
  farExpiryFault,
  parseVapidHeader,
  readPublicKey,
  signatureFault,
  subjectFault,
} from './vapid.ts';

// RFC 8292 section 2.4.
const rfcToken =
  'eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA';
const rfcKey = 'BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs';
const expiry = 1_453_523_768;

function decoded(token: string) {
  const value = decodeToken(token);
  if (typeof value === 'string') throw new Error(value);
  return value;
}

function publicKey(text: string) {
  const value = readPublicKey(text);
  if (typeof value === 'string') throw new Error(value);
  return value;
}

describe('the example of RFC 8292', () => {
  test('is read, and all of its claims are valid at its time', () => {
    expect(parseVapidHeader(`vapid t=${rfcToken}, k=${rfcKey}`)).toEqual({ token: rfcToken, key: rfcKey });
    const token = decoded(rfcToken);
    expect(token.header).toEqual({ typ: 'JWT', alg: 'ES256' });
    expect(signatureFault(token, publicKey(rfcKey))).toBeNull();
    expect(audienceFault(token.claims, 'https://push.example.net')).toBeNull();
    expect(farExpiryFault(token.claims, expiry - 24 * 3600)).toBeNull();
    expect(subjectFault(token.claims)).toBeNull();
  });

  test('is invalid when one character of it is changed', () => {
    const changed = rfcToken.replace('i3CY', 'i3CZ');
    expect(signatureFault(decoded(changed), publicKey(rfcKey))).toMatch(/not made by the owner/);
  });
});

test.each([
  ['vapid k=K,t=T', { token: 'T', key: 'K' }],
  ['VAPID T="T" , K="K"', { token: 'T', key: 'K' }],
  ['WebPush T', 'the scheme is not vapid'],
  ['vapid', 'the scheme is not vapid'],
  ['vapid t=T', 'the parameter k is missing'],
  ['vapid k=K', 'the parameter t is missing'],
  ['vapid t=T, t=U, k=K', 'the parameter t is given twice'],
  ['vapid t=T, k', 'the parameter "k" has no value'],
])('the header %j is read as %j', (header, expected) => {
  expect(parseVapidHeader(header)).toEqual(expected);
});

test.each([
  ['a.b', /three parts/],
  ['a.b.', /base64url/],
  ['W10.W10.aaaa', /header is not a JSON object/],
  ['e30.W10.aaaa', /claims are not a JSON object/],
  ['e30.e30=.aaaa', /base64url/],
])('the token %j is refused', (token, reason) => {
  expect(decodeToken(token)).toMatch(reason);
});

test.each([
  [`${rfcKey}=`, /without padding/],
  [rfcKey.slice(0, 80), /65 octets/],
  [`BB${rfcKey.slice(2)}`, /on P-256/],
])('the key %s is refused', (key, reason) => {
  expect(readPublicKey(key)).toMatch(reason);
});

test('a token signed with another algorithm, or in DER form, is refused', () => {
  const { privateKey, publicKey: key } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const none = `${part({ typ: 'JWT', alg: 'none' })}.${part({ aud: 'https://a' })}`;
  expect(signatureFault(decoded(`${none}.AAAA`), key)).toMatch(/alg must be ES256/);
  const input = `${part({ typ: 'JWT', alg: 'ES256' })}.${part({ aud: 'https://a' })}`;
  const asDer = sign('sha256', Buffer.from(input), privateKey).toString('base64url');
  expect(signatureFault(decoded(`${input}.${asDer}`), key)).toMatch(/64 octets/);
});

describe('the claims', () => {
  const origin = 'https://push.example.net';
  test.each([
    [{ aud: origin }, null],
    [{ aud: ['https://other.example', origin] }, null],
    [{ aud: `${origin}/` }, /aud must be/],
    [{ aud: `${origin}:443` }, /aud must be/],
    [{}, /aud is missing/],
  ])('%j names the origin, or not', (claims, fault) => {
    if (fault === null) expect(audienceFault(claims, origin)).toBeNull();
    else expect(audienceFault(claims, origin)).toMatch(fault);
  });

  test('expire within 24 hours, to the second', () => {
    expect(farExpiryFault({ exp: 1000 + 86_400 }, 1000)).toBeNull();
    expect(farExpiryFault({ exp: 1000 + 86_401 }, 1000)).toMatch(/more than 24 hours/);
  });

  test.each([
    [{ exp: 1001 }, null],
    [{ exp: 1000 }, /passed/],
    [{ exp: '1001' }, /not a number/],
    [{}, /missing/],
  ])('%j ends in time at 1000, or not', (claims, fault) => {
    if (fault === null) expect(expiryFault(claims, 1000)).toBeNull();
    else expect(expiryFault(claims, 1000)).toMatch(fault);
  });

  test.each([
    [{}, null],
    [{ sub: 'mailto:push@example.com' }, null],
    [{ sub: 'https://example.com/contact' }, null],
    [{ sub: 'push@example.com' }, /mailto: or https:/],
    [{ sub: 'http://example.com' }, /mailto: or https:/],
    [{ sub: 7 }, /not a string/],
  ])('%j names a contact, or not', (claims, fault) => {
    if (fault === null) expect(subjectFault(claims)).toBeNull();
    else expect(subjectFault(claims)).toMatch(fault);
  });
});
