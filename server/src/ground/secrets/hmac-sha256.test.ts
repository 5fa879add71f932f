import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hmacSha256, hmacsSha256 } from './hmac-sha256.ts';

describe('HMAC-SHA256', () => {
  // The cases of RFC 4231, sections 4.2, 4.3 and 4.4, whose key fits into a block.
  it.each([
    ['0b'.repeat(20), '4869205468657265', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
    [
      '4a656665',
      '7768617420646f2079612077616e7420666f72206e6f7468696e673f',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    ['aa'.repeat(20), 'dd'.repeat(50), '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe'],
  ])('meets the published vector with the key %s', (key, message, expected) => {
    expect(hmacSha256(Buffer.from(key, 'hex'), Buffer.from(message, 'hex')).toString('hex')).toBe(expected);
  });

  it('agrees with node:crypto for every length of key and message that it takes', () => {
    for (let keyBytes = 0; keyBytes <= 64; keyBytes++) {
      for (const messageBytes of [0, 1, 55, 56, 63, 64, 65, 119, 120, 255, 256]) {
        const [key, message] = [randomBytes(keyBytes), randomBytes(messageBytes)];
        const expected = createHmac('sha256', key).update(message).digest();
        expect(hmacSha256(key, message)).toEqual(expected);
        const many = hmacsSha256(key, messageBytes);
        many(randomBytes(messageBytes));
        expect(Buffer.from(many(message), 'latin1')).toEqual(expected);
        const startBytes = messageBytes >> 1;
        const behind = hmacsSha256(key, messageBytes - startBytes, message.subarray(0, startBytes));
        behind(randomBytes(messageBytes - startBytes));
        expect(Buffer.from(behind(message.subarray(startBytes)), 'latin1')).toEqual(expected);
      }
    }
  });

  it('gives results that a later call leaves alone', () => {
    const [key, message] = [randomBytes(32), randomBytes(32)];
    const first = hmacSha256(key, message);
    const copy = Buffer.from(first);
    hmacSha256(randomBytes(64), randomBytes(256));
    expect(first).toEqual(copy);
  });

  it('refuses keys, messages and counts beyond its buffers', () => {
    expect(() => hmacSha256(Buffer.alloc(65), Buffer.alloc(1))).toThrow(RangeError);
    expect(() => hmacSha256(Buffer.alloc(32), Buffer.alloc(257))).toThrow(RangeError);
    expect(() => hmacsSha256(Buffer.alloc(65), 1)).toThrow(RangeError);
    expect(() => hmacsSha256(Buffer.alloc(32), 257)).toThrow(RangeError);
    expect(() => hmacsSha256(Buffer.alloc(32), 200, Buffer.alloc(57))).toThrow(RangeError);
    expect(() => hmacsSha256(Buffer.alloc(32), 5)(Buffer.alloc(4))).toThrow(RangeError);
  });
});
