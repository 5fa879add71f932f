import { describe, expect, it } from 'vitest';
import type { Property } from '../properties/property.ts';
import { copyProfile, type Profile } from './profile-copy.ts';

const profile: Profile = {
  userId: '0192f3a4-7b6c-7d5e-8f90-1a2b3c4d5e6f',
  externalId: 'u-42',
  createdAt: new Date('2026-11-21T10:15:30.123Z'),
  firstName: 'Ada',
  country: 'DE',
  language: 'de',
  timezone: 'Europe/Berlin',
  properties: { 1: 'pro', 2: 31, 4: 'past the slots' },
};
const slotted: Property[] = [
  { id: 1, key: 'plan', type: 'string', slot: 1 },
  { id: 2, key: 'age', type: 'number', slot: 1 },
  { id: 3, key: 'vip', type: 'boolean', slot: 2 },
];

// One slot in use brings the other nine of its block along.
const blocks = Object.fromEntries(
  ['text', 'number', 'bool'].flatMap((word) =>
    Array.from({ length: 10 }, (_, i) => [`${word}_${String(i + 1).padStart(2, '0')}`, null]),
  ),
);

describe('the copy of a profile', () => {
  it("has the user's columns, and a property in its slot or in the overflow", () => {
    expect(copyProfile(profile, {}, slotted)).toEqual({
      columns: {
        ...blocks,
        user_id: profile.userId,
        external_id: 'u-42',
        user_created_at: profile.createdAt,
        first_name: 'Ada',
        country: 'DE',
        language: 'de',
        user_timezone: 'Europe/Berlin',
        user_block: null,
        user_bit: 0,
        text_01: 'pro',
        number_01: 31,
      },
      overflow: { 4: 'past the slots' },
    });
  });

  it("shows a device's own value only where the user has none", () => {
    const { columns, overflow } = copyProfile(profile, { 1: 'own', 3: true, 4: 'own', 5: 'own' }, slotted);
    expect(columns).toMatchObject({ text_01: 'pro', bool_02: true });
    expect(overflow).toEqual({ 4: 'past the slots', 5: 'own' });
  });

  it('clears everything that came from a user when the device belongs to nobody', () => {
    const { columns, overflow } = copyProfile(null, { 2: 7 }, slotted);
    expect(columns).toEqual({
      ...blocks,
      user_id: null,
      external_id: null,
      user_created_at: null,
      first_name: null,
      country: null,
      language: null,
      user_timezone: null,
      user_block: null,
      user_bit: 0,
      number_01: 7,
    });
    expect(overflow).toEqual({});
  });

  it('keeps false, zero and the empty string, which are values', () => {
    const values = { ...profile, properties: { 1: '', 2: 0, 3: false } };
    expect(copyProfile(values, { 1: 'own', 2: 1, 3: true }, slotted).columns).toMatchObject({
      text_01: '',
      number_01: 0,
      bool_02: false,
    });
  });
});
