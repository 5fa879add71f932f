import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { certificateFile } from '../../../../../rig/src/certificate.ts';
import { type GivenApnsCredential, parseApnsCredential } from './credential.ts';

const pemOf = (type: 'ec' | 'rsa' | 'ed25519', curve = 'P-256') => {
  const key =
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: curve })
      : type === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
        : generateKeyPairSync('ed25519');
  return { key, pem: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
};

const good = pemOf('ec');
const given: GivenApnsCredential = {
  p8: good.pem,
  keyId: 'ABC123DEFG',
  teamId: 'DEF123GHIJ',
  bundleId: 'com.example.shop',
  environment: 'sandbox',
};

function problemsOf(changed: Partial<GivenApnsCredential>): string[] {
  const parsed = parseApnsCredential({ ...given, ...changed });
  return 'issues' in parsed ? parsed.issues.map(({ path, message }) => `${path[0]}: ${message}`) : [];
}

test('a key file from Apple is accepted, with line breaks of any kind', () => {
  for (const p8 of [given.p8, given.p8.trim(), given.p8.replaceAll('\n', '\r\n')]) {
    const parsed = parseApnsCredential({ ...given, p8 });
    expect(parsed).toMatchObject({ credential: { keyId: 'ABC123DEFG', environment: 'sandbox' } });
  }
});

const certificate = readFileSync(certificateFile, 'utf8');
const publicPem = good.key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const encrypted = good.key.privateKey
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  .toString();

describe('a key file that cannot work is refused with the reason', () => {
  test.each([
    ['an empty one', '', /no PEM file/],
    ['bytes', '\u0000\u0001', /no PEM file/],
    ['the key without its lines', good.pem.split('\n')[1] ?? '', /no PEM file/],
    ['a service account', JSON.stringify({ type: 'service_account', private_key: good.pem }), /no PEM file/],
    ['a certificate', certificate, /a certificate/],
    ['a public key', publicPem, /public key/],
    ['an encrypted key', encrypted, /encrypted/],
    ['a damaged key', good.pem.replace(/[A-Za-z0-9+/]{20}\n-----END/, '\n-----END'), /damaged/],
    ['an RSA key', pemOf('rsa').pem, /kind rsa/],
    ['an Ed25519 key', pemOf('ed25519').pem, /kind ed25519/],
    ['a key on another curve', pemOf('ec', 'P-384').pem, /curve secp384r1/],
  ])('%s', (_what, p8, problem) => {
    expect(problemsOf({ p8 })).toEqual([expect.stringMatching(problem)]);
  });
});

test.each([
  [{ keyId: 'abc123defg' }, ['keyId: A key id is 10 capital letters and digits.']],
  [{ keyId: 'ABC123DEF' }, ['keyId: A key id is 10 capital letters and digits.']],
  [{ teamId: '' }, ['teamId: A team id is 10 capital letters and digits.']],
  [{ bundleId: 'com.example.shop\r\nx: y' }, ['bundleId: A bundle id is like com.example.shop.']],
  [{ bundleId: '.com' }, ['bundleId: A bundle id is like com.example.shop.']],
  [{ environment: 'development' }, ['environment: It is one of production, sandbox.']],
])('%j is refused', (changed, problems) => {
  expect(problemsOf(changed)).toEqual(problems);
});

test('R-44 no text about a key contains a part of the key', () => {
  const said = JSON.stringify(problemsOf({ p8: good.pem.replace('MIG', 'XXX'), keyId: 'x' }));
  expect(said).not.toContain(good.pem.split('\n')[1]?.slice(10, 30));
});
