import { expect, test } from 'vitest';
import { canonicalFilter } from './canonical-filter.ts';

const leaf = (field: string, op: string, value: unknown) => ({ field, op, value });

test.each([
  [leaf('device.locale', 'eq', 'iw-IL'), leaf('device.locale', 'eq', 'he-IL')],
  [leaf('device.locale', 'neq', 'en_uk'), leaf('device.locale', 'neq', 'en-GB')],
  [leaf('device.locale', 'in', ['iw', 'he', 'de']), leaf('device.locale', 'in', ['he', 'de'])],
  [leaf('language', 'not_in', ['in', 'PT-br']), leaf('language', 'not_in', ['id', 'pt-BR'])],
  [leaf('country', 'eq', 'de'), leaf('country', 'eq', 'DE')],
  [
    { and: [{ not: leaf('country', 'in', ['at']) }, { or: [leaf('language', 'eq', 'iw'), { event: 'buy' }] }] },
    { and: [{ not: leaf('country', 'in', ['AT']) }, { or: [leaf('language', 'eq', 'he'), { event: 'buy' }] }] },
  ],
])('%j becomes %j', (filter, canonical) => {
  const before = structuredClone(filter);
  expect(canonicalFilter(filter)).toEqual(canonical);
  expect(filter).toEqual(before);
  expect(canonicalFilter(canonical)).toBe(canonical);
});

test.each([
  ['a part of a text', leaf('device.locale', 'starts_with', 'iw')],
  ['no value', { field: 'language', op: 'exists' }],
  ['a property', leaf('properties.country', 'eq', 'de')],
  ['a text that is no locale', leaf('device.locale', 'eq', 'C')],
  ['a language whose canonical form selects fewer users', leaf('language', 'eq', 'en-UK')],
  ['a condition on events', { event: 'buy', where: [leaf('properties.locale', 'eq', 'iw')] }],
  ['a value of another type', leaf('country', 'eq', 7)],
  ['no filter', 'iw'],
  ['nothing', undefined],
])('%s stays as written', (_what, filter) => {
  expect(canonicalFilter(filter)).toBe(filter);
});
