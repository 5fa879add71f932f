import { describe, expect, it } from 'vitest';
import { hashToken } from '../../ground/secrets/checked-token.ts';
import { mintKey, scopeOfKey } from './key.ts';

const bytes = (from: number): Buffer => Buffer.from(Array.from({ length: 32 }, (_, i) => from + i));

describe('R-40 an API key', () => {
  it('is the vector of the contract, for both scopes', () => {
    const server = mintKey('server', bytes(0x00));
    expect(server.text).toBe('sk_live_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2L6EQX');
    expect(server.hash.toString('hex')).toBe('0a667d1dbc48302b8dfcadffec9cd83b47bffe4ff6e4028d38675ce0caf3bc38');
    expect(mintKey('client', bytes(0x20)).text).toBe('ck_live_7cMxemzhJjkW31yzTx5H07wJF2A2uBEOEec26ubYMsJ045q4F');
  });

  it('shows its first 12 and last 4 characters and hashes to 32 bytes', () => {
    const key = mintKey('server');
    expect(key.text).toHaveLength(57);
    expect(key.text.startsWith(key.start)).toBe(true);
    expect(key.start).toHaveLength(12);
    expect(key.text.endsWith(key.last4)).toBe(true);
    expect(hashToken(key.text)).toEqual(key.hash);
    expect(scopeOfKey(key.text)).toBe('server');
  });

  const good = mintKey('client').text;
  it.each([
    ['one character changed', good.slice(0, 20) + (good[20] === 'a' ? 'b' : 'a') + good.slice(21)],
    ['one character short', good.slice(0, -1)],
    ['one character more', `${good}0`],
    ['a foreign character', `${good.slice(0, 30)}-${good.slice(31)}`],
    ['another scope in front', `sk${good.slice(2)}`],
    ['no prefix', good.slice(8)],
    ['nothing', ''],
  ])('is found to be invalid without a query: %s', (_why, text) => {
    expect(scopeOfKey(text)).toBeUndefined();
  });
});
