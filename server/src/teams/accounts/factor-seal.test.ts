import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createSeal, SealError } from '../../ground/secrets/seal.ts';
import { createFactorSeal } from './factor-seal.ts';

const fixture = new URL('../../../test/fixtures/accounts-of-before.json', import.meta.url);
const { rows, codes } = JSON.parse(readFileSync(fixture, 'utf8'));
const [row] = rows.second_factors.filter(({ is_verified }: { is_verified: boolean }) => is_verified);
const key = Buffer.alloc(32, 'accounts of before');
const other = Buffer.alloc(32, 'another key');
const factors = createFactorSeal(createSeal(key), { key });
const id: string = row.account_id;

it('opens what better-auth encrypted, also under the former master key', () => {
  const rotating = createFactorSeal(createSeal(other, key), { key: other, previous: key });
  for (const each of [factors, rotating]) {
    expect(JSON.parse(each.open(id, 'backup_codes', row.backup_codes).toString())).toEqual(codes);
    expect(each.open(id, 'secret', row.secret)).toHaveLength(32);
  }
});

it('R-45 opens no record that was altered, cut short, moved, or made under another key', () => {
  const flipped = (record: string, at: number): string => {
    const digit = record.at(at) === '0' ? '1' : '0';
    return record.slice(0, at) + digit + record.slice(at + 1 || undefined);
  };
  const former: string = row.secret;
  const sealed = factors.seal(id, 'secret', 'a seed');
  expect(factors.open(id, 'secret', sealed).toString()).toBe('a seed');
  const body = former.lastIndexOf('$') + 1;
  for (const at of [body, body + 40, body + 50, former.length - 2]) {
    expect(() => factors.open(id, 'secret', flipped(former, at)), `digit ${at}`).toThrow(SealError);
  }
  for (const length of [body + 2, body + 48, body + 80, former.length - 2]) {
    expect(() => factors.open(id, 'secret', former.slice(0, length)), `length ${length}`).toThrow(SealError);
  }
  expect(() => factors.open('another account', 'secret', sealed)).toThrow(SealError);
  expect(() => factors.open(id, 'backup_codes', sealed)).toThrow(SealError);
  const stranger = createFactorSeal(createSeal(other), { key: other });
  for (const record of [former, sealed]) expect(() => stranger.open(id, 'secret', record)).toThrow(SealError);
});
