import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openReceiptToken, receiptTokensOf } from './receipt-token.ts';

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 0xc0 + i));
const batchId = '00112233-4455-6677-8899-aabbccddeeff';
const token = 'AgARIjNEVWZ3iJmqu8zd7v8B9I1KSRQLGRqsz7lIF2Ii8kw';
const former = 'AQGS86R7bE1ej5AaKzxNXm-fjn1sW0o5KBcG9eTTwrGgABEiM0RVZneImaq7zN3u_5iN-uWC-pFKDKtNztO8AqE';

describe('R-48 a receipt token', () => {
  it('is the vector of the contract, 47 characters', () => {
    expect(receiptTokensOf(key, batchId)(500)).toBe(token);
    expect(token).toHaveLength(47);
    expect(openReceiptToken([key], token)).toEqual({ batchId, place: 500 });
  });

  it('of version 1 opens to the values of the vector of the contract', () => {
    expect(openReceiptToken([key], former)).toEqual({ batchId, deviceId: '9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0' });
  });

  it.each([token, former])('opens under a previous key and under no other: %s', (text) => {
    expect(openReceiptToken([randomBytes(32), key], text)).toEqual(openReceiptToken([key], text));
    expect(openReceiptToken([randomBytes(32)], text)).toBeUndefined();
  });

  it.each([token, former])('opens for none of 200 alterations of one character: %s', (text) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let i = 0; i < 200; i++) {
      const at = i % text.length;
      const other = alphabet[(alphabet.indexOf(text[at] ?? '') + 1 + (i % 62)) % 64] ?? 'A';
      const altered = text.slice(0, at) + other + text.slice(at + 1);
      if (altered !== text) expect(openReceiptToken([key], altered)).toBeUndefined();
    }
  });

  it.each(
    [token, former].flatMap((text) => [
      ...['', text.slice(1), `${text}A`, `${text.slice(0, -1)}=`, `${text.slice(0, -1)}é`, 'x'.repeat(text.length)],
    ]),
  )('does not open from %j', (text) => {
    expect(openReceiptToken([key], text)).toBeUndefined();
  });

  it('of one version does not open as the other, whatever its length', () => {
    const asFormer = Buffer.concat([Buffer.from(token, 'base64url'), Buffer.alloc(30)]);
    const asPresent = Buffer.from(former, 'base64url').subarray(0, 35);
    for (const bytes of [asFormer, asPresent]) {
      expect(openReceiptToken([key], bytes.toString('base64url'))).toBeUndefined();
    }
  });

  it('names its own place among many of one batch, to the last that two bytes hold', () => {
    const tokenAt = receiptTokensOf(key, batchId);
    const places = [0, 1, 255, 256, 999, 65_535];
    expect(places.map((place) => openReceiptToken([key], tokenAt(place)))).toEqual(
      places.map((place) => ({ batchId, place })),
    );
    for (const place of [-1, 65_536, Number.NaN]) expect(() => tokenAt(place)).toThrow(RangeError);
  });
});
