import { describe, expect, it } from 'vitest';
import { changesOf, takeOver } from './draft-merge.ts';

const base = { name: 'Shop', default_url: '', hours: 24 };

describe('two people who edit one object', () => {
  it('are told the fields that the other one changed, and no field that only they changed themselves', () => {
    const theirs = { ...base, default_url: 'https://shop.example' };
    expect(changesOf(base, { ...base, name: 'Mine' }, theirs)).toEqual([
      { field: 'default_url', before: '', theirs: 'https://shop.example' },
    ]);
  });

  it('see both values of a field that both changed', () => {
    expect(changesOf(base, { ...base, name: 'Mine' }, { ...base, name: 'Theirs' })).toEqual([
      { field: 'name', before: 'Shop', theirs: 'Theirs', yours: 'Mine' },
    ]);
  });

  it('have no conflict when both typed the same', () => {
    expect(changesOf(base, { ...base, name: 'Same' }, { ...base, name: 'Same' })).toEqual([
      { field: 'name', before: 'Shop', theirs: 'Same' },
    ]);
  });

  it('keep what they typed, and take every other change', () => {
    const theirs = { name: 'Theirs', default_url: 'https://shop.example', hours: 24 };
    expect(takeOver(base, { ...base, name: 'Mine', hours: 48 }, theirs)).toEqual({
      name: 'Mine',
      default_url: 'https://shop.example',
      hours: 48,
    });
  });

  it('keep a field that they added, take one that the other one added, and lose one that was taken away', () => {
    const before = { name: 'Ada', 'property plan': 'pro', 'property trial': true };
    const mine = { ...before, 'property level': 3 };
    const theirs = { name: 'Ada', 'property plan': 'pro', 'property vip': true };
    expect(takeOver<Record<string, unknown>>(before, mine, theirs)).toEqual({
      name: 'Ada',
      'property plan': 'pro',
      'property level': 3,
      'property vip': true,
    });
    expect(changesOf<Record<string, unknown>>(before, mine, theirs)).toEqual([
      { field: 'property trial', before: true, theirs: undefined },
      { field: 'property vip', before: undefined, theirs: true },
    ]);
  });
});
