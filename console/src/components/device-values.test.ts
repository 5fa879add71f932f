import { expect, test } from 'vitest';
import { deviceEditOf, deviceValuesOf } from './device-values.ts';
import { fieldOf } from './user-values.ts';

const seen = '2026-11-21T10:15:30.123Z';
const base = deviceValuesOf({
  locale: 'de-DE',
  timezone: null,
  environment: null,
  properties: { topic: 'sport', locale: 'north' },
});

test('a property of the name of a fact is a field of its own', () => {
  expect(base).toEqual({
    locale: 'de-DE',
    timezone: '',
    environment: '',
    'property topic': 'sport',
    'property locale': 'north',
  });
});

test.each([
  ['nothing', {}, { updated_at: seen }],
  ['an emptied fact', { locale: '' }, { updated_at: seen, locale: null }],
  ['a new fact', { timezone: 'Europe/Berlin' }, { updated_at: seen, timezone: 'Europe/Berlin' }],
  ['an environment', { environment: 'sandbox' }, { updated_at: seen, environment: 'sandbox' }],
  ['a removed property', { [fieldOf('topic')]: null }, { updated_at: seen, properties: { topic: null } }],
] as const)('a save sends only what changed: %s', (_what, change, edit) =>
  expect(deviceEditOf(base, { ...base, ...change }, seen)).toEqual(edit),
);
