import { expect, test } from 'vitest';
import type { User } from '../api/objects.ts';
import { editOf, fieldOf, fieldOfIssue, keysOf, valuesOf } from './user-values.ts';

const seen = '2026-11-21T10:15:30.123Z';
const ada: User = {
  id: 'usr_02y9GVDsTuJUi2BOoCH5G3',
  external_id: 'u-42',
  first_name: 'Ada',
  country: 'DE',
  language: null,
  timezone: null,
  properties: { plan: 'pro', country: 'AT', age: 30 },
  devices: [],
  created_at: seen,
  updated_at: seen,
};
const base = valuesOf(ada);

test('a property of the name of an attribute is a field of its own', () => {
  expect(base).toMatchObject({ country: 'DE', 'property country': 'AT', language: '' });
  expect(keysOf(base)).toEqual(['plan', 'country', 'age']);
});

test.each([
  ['nothing', {}, { updated_at: seen }],
  ['an emptied attribute', { first_name: '' }, { updated_at: seen, first_name: null }],
  ['a new attribute', { language: 'de' }, { updated_at: seen, language: 'de' }],
  ['a changed property', { [fieldOf('age')]: 31 }, { updated_at: seen, properties: { age: 31 } }],
  ['a removed property', { [fieldOf('plan')]: null }, { updated_at: seen, properties: { plan: null } }],
  ['an empty text, which is a value', { [fieldOf('plan')]: '' }, { updated_at: seen, properties: { plan: '' } }],
  ['a new property', { [fieldOf('vip')]: true }, { updated_at: seen, properties: { vip: true } }],
] as const)('a save sends only what changed: %s', (_what, change, edit) =>
  expect(editOf(base, { ...base, ...change }, seen)).toEqual(edit),
);

test.each([
  [['properties', 'age'], 'property age'],
  [['timezone'], 'timezone'],
  [['properties'], undefined],
  [[], undefined],
] as const)('an issue at %j marks its field', (path, field) => expect(fieldOfIssue(path)).toBe(field));
