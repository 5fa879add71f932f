import { createECDH, type ECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecryptError, decryptPush, parseCodingHeader } from './decrypt.ts';

// An independent implementation to compare with. It has no types.
const ece: { encrypt(plaintext: Buffer, options: Record<string, string | number | ECDH>): Buffer } = createRequire(
  import.meta.url,
)('http_ece');

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');

// RFC 8291 section 5 and Appendix A.
const rfcBody = bytes(
  'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
);
const rfcKeys = {
  privateKey: bytes('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94'),
  publicKey: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
  auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
};

const receiver = createECDH('prime256v1');
receiver.generateKeys();
const keys = { privateKey: receiver.getPrivateKey(), publicKey: receiver.getPublicKey(), auth: randomBytes(16) };

function encryptElsewhere(plaintext: Buffer, options: { rs?: number; pad?: number } = {}): Buffer {
  const sender = createECDH('prime256v1');
  sender.generateKeys();
  return ece.encrypt(plaintext, {
    version: 'aes128gcm',
    privateKey: sender,
    dh: keys.publicKey.toString('base64url'),
    authSecret: keys.auth.toString('base64url'),
    ...options,
  });
}

describe('decryptPush', () => {
  test('opens the example of RFC 8291', () => {
    expect(rfcBody).toHaveLength(144);
    expect(decryptPush(rfcBody, rfcKeys).toString('utf8')).toBe('When I grow up, I want to be a watermelon');
  });

  test('opens everything that http_ece encrypts, padded or not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3993 }), fc.nat({ max: 100 }), (plain, pad) => {
        const room = Math.min(pad, 3993 - plain.length);
        const body = encryptElsewhere(Buffer.from(plain), { rs: 4096, pad: room });
        expect(decryptPush(body, keys).equals(Buffer.from(plain))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test.each([0, 86, 100, 143])('drops a body whose octet %i was changed', (index) => {
    const changed = Buffer.from(rfcBody);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    expect(() => decryptPush(changed, rfcKeys)).toThrow(DecryptError);
  });

  test('drops a body made for another subscription, or for another auth secret of the same subscription', () => {
    expect(() => decryptPush(rfcBody, keys)).toThrow(/tag does not fit/);
    expect(() => decryptPush(rfcBody, { ...rfcKeys, auth: keys.auth })).toThrow(/tag does not fit/);
  });

  test('drops more than one record, as RFC 8291 section 4 has it', () => {
    expect(() => decryptPush(encryptElsewhere(Buffer.alloc(200), { rs: 100 }), keys)).toThrow(/record size 100/);
  });

  test.each([
    ['an empty body', Buffer.alloc(0), /shorter than/],
    ['a body that ends in its header', rfcBody.subarray(0, 60), /inside the key id/],
    ['a record without delimiter', rfcBody.subarray(0, 86 + 16), /no room/],
    ['a compressed key', Buffer.concat([rfcBody.subarray(0, 20), Buffer.from([33, 2]), Buffer.alloc(80)]), /65 octets/],
    [
      'a key off the curve',
      Buffer.concat([rfcBody.subarray(0, 22), Buffer.alloc(64, 7), rfcBody.subarray(86)]),
      /P-256/,
    ],
  ])('drops %s and says why', (_what, body, reason) => {
    expect(() => decryptPush(body, rfcKeys)).toThrow(reason);
  });
});

test('the header of the RFC example reads as printed there', () => {
  const header = parseCodingHeader(rfcBody);
  expect(header.salt.toString('base64url')).toBe('DGv6ra1nlYgDCS1FRnbzlw');
  expect(header.recordSize).toBe(4096);
  expect(header.ciphertext.toString('base64url')).toBe(
    '8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ',
  );
});
