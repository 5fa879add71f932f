import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSeal, parseMasterKey, SealError } from './seal.ts';

const place = { table: 'credentials', column: 'secret', rowId: '1', appId: 'a' };

describe('R-44 a sealed secret', () => {
  it('opens to what was sealed, and its record shows nothing of it', () => {
    const seal = createSeal(randomBytes(32));
    const record = seal.seal('whsec_äöü', place);
    expect(record).toMatch(/^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]+$/);
    expect(seal.open(record, place).toString()).toBe('whsec_äöü');
    expect(record).not.toContain(Buffer.from('whsec').toString('base64url').slice(0, 5));
  });

  it('never repeats a nonce', () => {
    const seal = createSeal(randomBytes(32));
    const nonces = Array.from({ length: 1000 }, () => seal.seal('x', place).split('.')[2]);
    expect(new Set(nonces).size).toBe(1000);
  });

  it('R-45 fails closed when one bit is flipped, anywhere in the record', () => {
    const seal = createSeal(randomBytes(32));
    const [version, kid, nonce, sealed] = seal.seal('secret', place).split('.') as [string, string, string, string];
    for (const [n, part] of [nonce, sealed].entries()) {
      const bytes = Buffer.from(part, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const altered = Buffer.from(bytes);
        altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const text = altered.toString('base64url');
        const record = n === 0 ? `${version}.${kid}.${text}.${sealed}` : `${version}.${kid}.${nonce}.${text}`;
        expect(() => seal.open(record, place)).toThrow(SealError);
      }
    }
  });

  it('R-44 refuses a record whose tag was cut short, although its first bytes are right', () => {
    const seal = createSeal(randomBytes(32));
    const record = seal.seal('', place);
    const [, , , tag = ''] = record.split('.');
    expect(Buffer.from(tag, 'base64url')).toHaveLength(16);
    for (const kept of [0, 4, 8, 12, 13, 14, 15]) {
      const cut = Buffer.from(tag, 'base64url').subarray(0, kept).toString('base64url');
      expect(() => seal.open(record.replace(tag, cut), place)).toThrow(SealError);
    }
    expect(seal.open(record, place)).toHaveLength(0);
  });

  it.each(['table', 'column', 'rowId', 'appId'] as const)('R-45 does not open when copied to another %s', (part) => {
    const seal = createSeal(randomBytes(32));
    expect(() => seal.open(seal.seal('secret', place), { ...place, [part]: 'other' })).toThrow(SealError);
  });

  it('R-45 opens under the previous key, and not under an unknown one', () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)];
    const record = createSeal(older).seal('secret', place);
    expect(createSeal(newer, older).open(record, place).toString()).toBe('secret');
    expect(() => createSeal(newer).open(record, place)).toThrow(/neither MASTER_KEY nor MASTER_KEY_PREVIOUS/);
  });

  it.each(['', 'v1', 'v2.a.b.c', 'v1.a.b.c.d', 'plain text'])('R-45 refuses %j, which is no record', (record) => {
    expect(() => createSeal(randomBytes(32)).open(record, place)).toThrow(SealError);
  });

  it.each(['', 'short', randomBytes(31).toString('base64'), randomBytes(33).toString('base64'), 'ä'.repeat(44)])(
    'R-45 a master key of %j is refused with the name of its variable',
    (text) => {
      expect(() => parseMasterKey(text, 'MASTER_KEY')).toThrow(/^MASTER_KEY must be 32 bytes/);
    },
  );
});
