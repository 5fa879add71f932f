import { describe, expect, it } from 'vitest';
import type { Property } from '../properties/property.ts';
import { checkFilter } from './check-filter.ts';
import { parseDuration, parseFilter } from './filter.ts';

const catalog = new Map<string, Property>(
  (
    [
      { id: 1, key: 'plan', type: 'string', slot: 1 },
      { id: 2, key: 'age', type: 'number', slot: 1 },
      { id: 3, key: 'trial', type: 'boolean', slot: 1 },
      { id: 4, key: '__proto__', type: 'string', slot: 2 },
    ] as const
  ).map((property) => [property.key, property]),
);

/** Formats each issue as `code at path`, with the path as in a request, under `audience.filter`. */
function issuesOf(json: unknown): string[] {
  const parsed = parseFilter(json, ['filter']);
  const issues = 'issues' in parsed ? parsed.issues : null;
  if (issues) return issues.map(({ code, path }) => `${code} at ${path.join('.')}`);
  const checked = 'filter' in parsed ? checkFilter(parsed.filter, catalog) : { issues: [] };
  return 'issues' in checked ? checked.issues.map(({ code, path }) => `${code} at ${path.join('.')}`) : [];
}

const leaf = { field: 'country', op: 'eq', value: 'DE' };
const nested = (depth: number): object => (depth === 1 ? leaf : { not: nested(depth - 1) });

describe('a filter is accepted', () => {
  it.each([
    ['German pro users', { and: [leaf, { field: 'properties.plan', op: 'eq', value: 'pro' }] }],
    [
      'phones not seen for 30 days',
      {
        and: [
          { field: 'device.platform', op: 'in', value: ['ios', 'android'] },
          { not: { field: 'device.last_seen_at', op: 'within_last', value: '30d' } },
        ],
      },
    ],
    ['those with a plan', { field: 'properties.plan', op: 'exists' }],
    [
      'two large purchases',
      {
        event: 'purchase',
        count: { op: 'gte', value: 2 },
        within: '90d',
        where: [{ field: 'properties.amount', op: 'gte', value: 50 }],
      },
    ],
    ['those who never came', { not: { event: 'session_start' } }],
    ['a latest event', { event: 'purchase', last: { op: 'before', value: '2026-01-01T00:00:00Z' } }],
    ['an ordinary name', { field: 'properties.__proto__', op: 'eq', value: 'x' }],
    ['a depth of 10', nested(10)],
    ['200 nodes', { and: Array.from({ length: 199 }, () => leaf) }],
    ['a list of 1,000', { field: 'country', op: 'in', value: Array.from({ length: 1000 }, (_, i) => `x${i}`) }],
    ['a text of 1,024', { field: 'first_name', op: 'eq', value: 'x'.repeat(1024) }],
    ['the longest duration', { field: 'created_at', op: 'within_last', value: '365d' }],
  ])('%s', (_what, json) => {
    expect(issuesOf(json)).toEqual([]);
  });
});

describe('a filter is refused', () => {
  it.each<[string, unknown, string[]]>([
    ['no object', 'country = DE', ['invalid_type at filter']],
    ['null', null, ['invalid_type at filter']],
    ['a list', [leaf], ['invalid_type at filter']],
    ['an empty object', {}, ['empty_group at filter']],
    ['an empty group', { and: [] }, ['empty_group at filter.and']],
    ['an empty group within', { or: [leaf, { and: [] }] }, ['empty_group at filter.or.1.and']],
    ['a group that is no list', { and: leaf }, ['invalid_type at filter.and']],
    ['two forms at once', { and: [leaf], or: [leaf] }, ['exactly_one_required at filter']],
    ['a group beside a comparison', { and: [leaf], field: 'country' }, ['exactly_one_required at filter']],
    ['a key more', { ...leaf, case: 'any' }, ['unrecognized_keys at filter.case']],
    ['only unknown keys', { xor: [leaf] }, ['unrecognized_keys at filter.xor']],
    ['a comparison without a field', { op: 'eq', value: 1 }, ['required at filter.field']],
    ['a value alone', { value: 1 }, ['required at filter.field']],
    ['a comparison without an operator', { field: 'country' }, ['required at filter.op']],
    ['a field that is no text', { field: 7, op: 'eq', value: 1 }, ['invalid_type at filter.field']],
    ['an unknown field', { field: 'city', op: 'eq', value: 'x' }, ['invalid_value at filter.field']],
    ['a field of the prototype', { field: 'constructor', op: 'exists' }, ['invalid_value at filter.field']],
    ['an unknown property', { field: 'properties.gone', op: 'exists' }, ['unknown_property at filter.field']],
    [
      'an operator of another type',
      { field: 'properties.plan', op: 'gt', value: 'x' },
      ['operator_not_allowed at filter.op'],
    ],
    ['a word that is no operator', { field: 'country', op: '=', value: 'x' }, ['operator_not_allowed at filter.op']],
    ['a number for a text', { field: 'country', op: 'eq', value: 7 }, ['value_type_mismatch at filter.value']],
    ['a text for a number', { field: 'properties.age', op: 'gt', value: '7' }, ['value_type_mismatch at filter.value']],
    ['null for a value', { field: 'country', op: 'eq', value: null }, ['value_type_mismatch at filter.value']],
    ['no value', { field: 'country', op: 'eq' }, ['required at filter.value']],
    ['a value for exists', { field: 'country', op: 'exists', value: true }, ['unrecognized_keys at filter.value']],
    ['a value of a list', { field: 'country', op: 'in', value: ['DE', 7] }, ['value_type_mismatch at filter.value.1']],
    [
      'a number beyond all doubles',
      { field: 'properties.age', op: 'in', value: [7, Number.POSITIVE_INFINITY] },
      ['invalid_value at filter.value.1'],
    ],
    ['a text for a list', { field: 'country', op: 'in', value: 'DE' }, ['value_type_mismatch at filter.value']],
    ['an empty list', { field: 'country', op: 'in', value: [] }, ['empty_group at filter.value']],
    [
      'a list of 1,001',
      { field: 'country', op: 'in', value: Array.from({ length: 1001 }, () => 'x') },
      ['too_big at filter.value'],
    ],
    ['a part of nothing', { field: 'country', op: 'contains', value: '' }, ['too_small at filter.value']],
    ['a text of 1,025', { field: 'country', op: 'eq', value: 'x'.repeat(1025) }, ['too_big at filter.value']],
    ['a platform there is not', { field: 'device.platform', op: 'eq', value: 'tv' }, ['invalid_value at filter.value']],
    [
      'an instant without an offset',
      { field: 'created_at', op: 'before', value: '2026-01-01' },
      ['invalid_format at filter.value'],
    ],
    [
      'a number for an instant',
      { field: 'created_at', op: 'after', value: 7 },
      ['value_type_mismatch at filter.value'],
    ],
    [
      'a duration of weeks',
      { field: 'created_at', op: 'within_last', value: '3w' },
      ['invalid_format at filter.value'],
    ],
    ['a duration of 366 days', { field: 'created_at', op: 'within_last', value: '366d' }, ['too_big at filter.value']],
    ['a depth of 11', nested(11), [`too_deep at filter${'.not'.repeat(10)}`]],
    ['201 nodes', { and: Array.from({ length: 200 }, () => leaf) }, ['too_many_nodes at filter']],
    [
      '201 nodes with conditions',
      { and: Array.from({ length: 100 }, () => ({ event: 'x', where: [{ field: 'properties.a', op: 'exists' }] })) },
      ['too_many_nodes at filter'],
    ],
    ['an event without a name', { event: '' }, ['too_small at filter.event']],
    ['an event of 129 characters', { event: 'x'.repeat(129) }, ['too_big at filter.event']],
    ['an event with a key more', { event: 'x', since: '1d' }, ['unrecognized_keys at filter.since']],
    ['half an event', { event: 'x', count: { op: 'gte', value: 1.5 } }, ['invalid_type at filter.count.value']],
    ['a count below 0', { event: 'x', count: { op: 'gte', value: -1 } }, ['too_small at filter.count.value']],
    ['a count without a value', { event: 'x', count: { op: 'gte' } }, ['required at filter.count.value']],
    [
      'a count that is not',
      { event: 'x', count: { op: 'neq', value: 1 } },
      ['operator_not_allowed at filter.count.op'],
    ],
    ['a window of years', { event: 'x', within: '2y' }, ['invalid_format at filter.within']],
    [
      'a latest event of another kind',
      { event: 'x', last: { op: 'eq', value: '1d' } },
      ['operator_not_allowed at filter.last.op'],
    ],
    ['an empty list of conditions', { event: 'x', where: [] }, ['empty_group at filter.where']],
    [
      'six conditions',
      { event: 'x', where: Array.from({ length: 6 }, () => ({ field: 'properties.a', op: 'exists' })) },
      ['too_big at filter.where'],
    ],
    [
      "a condition on a user's field",
      { event: 'x', where: [{ field: 'country', op: 'eq', value: 'DE' }] },
      ['invalid_value at filter.where.0.field'],
    ],
    [
      'a condition with an object',
      { event: 'x', where: [{ field: 'properties.a', op: 'eq', value: {} }] },
      ['value_type_mismatch at filter.where.0.value'],
    ],
    [
      'a condition with a number beyond all doubles',
      { event: 'x', where: [{ field: 'properties.a', op: 'gt', value: Number.POSITIVE_INFINITY }] },
      ['invalid_value at filter.where.0.value'],
    ],
    [
      'a condition with such a number in its list',
      { event: 'x', where: [{ field: 'properties.a', op: 'in', value: [1, Number.NEGATIVE_INFINITY] }] },
      ['invalid_value at filter.where.0.value.1'],
    ],
    [
      'a condition without the value that its operator needs',
      { event: 'x', where: [{ field: 'properties.a', op: 'eq' }] },
      ['required at filter.where.0.value'],
    ],
    [
      'a condition whose word is no operator',
      { event: 'x', where: [{ field: 'properties.a', op: 'toString' }] },
      ['operator_not_allowed at filter.where.0.op'],
    ],
    [
      'a condition by time, which events do not have',
      { event: 'x', where: [{ field: 'properties.a', op: 'within_last' }] },
      ['operator_not_allowed at filter.where.0.op'],
    ],
    [
      'a condition of two types',
      { event: 'x', where: [{ field: 'properties.a', op: 'in', value: ['x', 1] }] },
      ['value_type_mismatch at filter.where.0.value.1'],
    ],
    [
      'two faults, both named',
      {
        and: [
          { field: 'country', op: 'gt', value: 1 },
          { field: 'properties.gone', op: 'exists' },
        ],
      },
      ['operator_not_allowed at filter.and.0.op', 'unknown_property at filter.and.1.field'],
    ],
  ])('%s', (_what, json, expected) => {
    expect(issuesOf(json)).toEqual(expected);
  });

  it('with the operators and values that would do', () => {
    const parsed = parseFilter({ and: [leaf, { field: 'properties.trial', op: 'gt', value: true }] });
    const checked = 'filter' in parsed ? checkFilter(parsed.filter, catalog) : parsed;
    expect(checked).toEqual({
      issues: [
        {
          path: ['and', 1, 'op'],
          code: 'operator_not_allowed',
          message: "Operator 'gt' is not allowed on boolean property 'trial'.",
          allowed: ['eq', 'neq', 'exists', 'not_exists'],
        },
      ],
    });
  });

  it('without reading on when it has far too many nodes', () => {
    const wide = { and: Array.from({ length: 100_000 }, () => ({ and: [] })) };
    const parsed = parseFilter(wide);
    // This issue comes first, because an answer lists at most fifty.
    expect('issues' in parsed && parsed.issues[0]?.code).toBe('too_many_nodes');
    expect('issues' in parsed && parsed.issues.length).toBeLessThanOrEqual(201);
  });
});

describe('a duration', () => {
  it.each([
    ['1m', 60_000],
    ['90m', 5_400_000],
    ['9999h', 35_996_400_000],
    ['30d', 2_592_000_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', 'd', '0d', '01d', '10000m', '1.5h', '-1d', '1D', '1 d', '1s'])('is not "%s"', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});
