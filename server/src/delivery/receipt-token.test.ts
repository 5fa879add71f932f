import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { mintUuid } from '../platform/ids.ts';
import { openReceiptToken, receiptTokensOf } from './receipt-token.ts';

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 0xc0 + i));
const subject = {
  messageId: '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f',
  deviceId: '9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0',
  batchId: '00112233-4455-6677-8899-aabbccddeeff',
};
const token = 'AQGS86R7bE1ej5AaKzxNXm-fjn1sW0o5KBcG9eTTwrGgABEiM0RVZneImaq7zN3u_5iN-uWC-pFKDKtNztO8AqE';

describe('R-48 a receipt token', () => {
  it('is the vector of the contract', () => {
    expect(receiptTokensOf(key, subject.messageId, subject.batchId)(subject.deviceId)).toBe(token);
    expect(openReceiptToken([key], token)).toEqual(subject);
  });

  it('opens under a previous key and under no other', () => {
    expect(openReceiptToken([randomBytes(32), key], token)).toEqual(subject);
    expect(openReceiptToken([randomBytes(32)], token)).toBeUndefined();
  });

  it('opens for none of 200 alterations of one character', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let i = 0; i < 200; i++) {
      const at = i % token.length;
      const other = alphabet[(alphabet.indexOf(token[at] ?? '') + 1 + (i % 62)) % 64] ?? 'A';
      const altered = token.slice(0, at) + other + token.slice(at + 1);
      if (altered !== token) expect(openReceiptToken([key], altered)).toBeUndefined();
    }
  });

  it.each(['', token.slice(1), `${token}A`, `${token.slice(0, -1)}=`, `${token.slice(0, -1)}é`, 'x'.repeat(87)])(
    'does not open from %j',
    (text) => {
      expect(openReceiptToken([key], text)).toBeUndefined();
    },
  );

  it('names its own device among many of one batch', () => {
    const tokenOf = receiptTokensOf(key, subject.messageId, subject.batchId);
    const devices = Array.from({ length: 20 }, () => mintUuid());
    expect(devices.map((device) => openReceiptToken([key], tokenOf(device))?.deviceId)).toEqual(devices);
  });
});
