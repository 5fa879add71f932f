import { createECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encrypt, plaintextBytesMax } from './encrypt.ts';

// An implementation by other authors. It has no types.
const foreign: {
  decrypt(body: Buffer, keys: { version: string; privateKey: unknown; authSecret: Buffer }): Buffer;
} = createRequire(import.meta.url)('http_ece');

function subscriber() {
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  return { keys, p256dh: keys.getPublicKey(), auth: randomBytes(16) };
}

function open(body: Buffer | undefined, { keys, auth }: ReturnType<typeof subscriber>): Buffer {
  return foreign.decrypt(body ?? Buffer.alloc(0), { version: 'aes128gcm', privateKey: keys, authSecret: auth });
}

const bytes = (text: string) => Buffer.from(text, 'base64url');

test('RFC 8291, section 5 and appendix A: the published body, byte for byte', () => {
  const body = encrypt(
    bytes('V2hlbiBJIGdyb3cgdXAsIEkgd2FudCB0byBiZSBhIHdhdGVybWVsb24'),
    bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
    bytes('BTBZMqHH6r4Tts7J_aSIgg'),
    { privateKey: bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'), salt: bytes('DGv6ra1nlYgDCS1FRnbzlw') },
  );
  expect(body?.length).toBe(144);
  expect(body?.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  );
});

describe('http_ece reads what was encrypted', () => {
  test('at any size up to the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: plaintextBytesMax }), (size) => {
        const plaintext = randomBytes(size);
        const reader = subscriber();
        expect(open(encrypt(plaintext, reader.p256dh, reader.auth), reader)).toEqual(plaintext);
      }),
      { numRuns: 200, examples: [[0], [1], [plaintextBytesMax]] },
    );
  });

  test('the largest message fills the 4,096 bytes that a push service must accept', () => {
    const { p256dh, auth } = subscriber();
    expect(encrypt(Buffer.alloc(plaintextBytesMax), p256dh, auth)?.length).toBe(4_096);
  });
});

test('every message has a key pair and a salt of its own, over many messages', () => {
  const { p256dh, auth } = subscriber();
  const bodies = Array.from({ length: 600 }, () => encrypt(Buffer.from('same'), p256dh, auth)?.toString('hex') ?? '');
  expect(new Set(bodies.map((hex) => hex.slice(0, 32))).size).toBe(600);
  expect(new Set(bodies.map((hex) => hex.slice(42, 172))).size).toBe(600);
});

test('only the subscriber can read it', () => {
  const [reader, stranger] = [subscriber(), subscriber()];
  const body = encrypt(Buffer.from('secret'), reader.p256dh, reader.auth);
  expect(() => open(body, stranger)).toThrow();
  expect(() => open(body, { ...reader, auth: randomBytes(16) })).toThrow();
});

test.each([
  ['off the curve', Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)])],
  ['at infinity', Buffer.alloc(65)],
  ['too short', Buffer.alloc(10, 4)],
  ['empty', Buffer.alloc(0)],
])('a key %s encrypts nothing, and the next message is not harmed', (_name, p256dh) => {
  expect(encrypt(Buffer.from('x'), p256dh, randomBytes(16))).toBeUndefined();
  const reader = subscriber();
  expect(open(encrypt(Buffer.from('x'), reader.p256dh, reader.auth), reader).toString()).toBe('x');
});
