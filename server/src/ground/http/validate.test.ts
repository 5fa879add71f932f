import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Issue, issueOf } from '../values/issue.ts';
import { ApiError } from './api-error.ts';
import { validate } from './validate.ts';

function issuesOf(schema: z.ZodType, value: unknown, at?: readonly (string | number)[]): readonly Issue[] {
  try {
    validate(schema, value, at);
  } catch (error) {
    if (error instanceof ApiError) return error.details.issues ?? [];
  }
  throw new Error('not refused');
}

const schema = z.strictObject({
  name: z.string().min(2).max(4),
  age: z.number().min(0).max(150).optional(),
  plan: z.enum(['free', 'pro']).optional(),
  flag: z.literal(true).optional(),
  tags: z.array(z.string()).min(1).max(2).optional(),
  either: z.union([z.string(), z.number()]).optional(),
  inner: z.strictObject({ key: z.string().regex(/^[a-z]+$/) }).optional(),
  map: z.record(z.string().regex(/^[a-z]$/, 'A key is one letter.'), z.number()).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
});

describe('validate', () => {
  it('returns the value as the schema reads it', () => {
    expect(validate(schema, { name: 'Ada', age: 36 })).toEqual({ name: 'Ada', age: 36 });
    expect(validate(z.string().transform(Number), '5')).toBe(5);
  });

  it.each<[string, unknown, Partial<Issue>]>([
    ['no body', undefined, { path: [], code: 'required', message: 'The body is empty: send a JSON object.' }],
    ['a body of another type', [], { path: [], code: 'invalid_type', message: 'The body must be an object.' }],
    ['null', null, { path: [], code: 'invalid_type' }],
    ['a missing field', {}, { path: ['name'], code: 'required', message: 'name is required.' }],
    ['null in a required field', { name: null }, { path: ['name'], code: 'invalid_type' }],
    ['another type', { name: 7 }, { path: ['name'], code: 'invalid_type', message: 'name must be a string.' }],
    ['too short', { name: 'A' }, { path: ['name'], code: 'too_small' }],
    ['too long', { name: 'Ada L.' }, { path: ['name'], code: 'too_big' }],
    ['too small', { name: 'Ada', age: -1 }, { path: ['age'], code: 'too_small' }],
    ['too large', { name: 'Ada', age: 151 }, { path: ['age'], code: 'too_big' }],
    ['infinity', { name: 'Ada', age: Number.POSITIVE_INFINITY }, { path: ['age'], code: 'invalid_type' }],
    ['no item', { name: 'Ada', tags: [] }, { path: ['tags'], code: 'too_small' }],
    ['too many items', { name: 'Ada', tags: ['a', 'b', 'c'] }, { path: ['tags'], code: 'too_big' }],
    ['an item of another type', { name: 'Ada', tags: ['a', 1] }, { path: ['tags', 1], code: 'invalid_type' }],
    ['none of a union', { name: 'Ada', either: true }, { path: ['either'], code: 'invalid_type' }],
    [
      'a form that does not fit',
      { name: 'Ada', inner: { key: 'A1' } },
      { path: ['inner', 'key'], code: 'invalid_format' },
    ],
    ['an impossible date', { name: 'Ada', at: '2026-02-30T00:00:00Z' }, { path: ['at'], code: 'invalid_format' }],
    ['a date without offset', { name: 'Ada', at: '2026-02-03T00:00:00' }, { path: ['at'], code: 'invalid_format' }],
    [
      'a key that does not fit',
      { name: 'Ada', map: { AB: 1 } },
      { path: ['map', 'AB'], code: 'invalid_format', message: 'A key is one letter.' },
    ],
    ['a value under a key', { name: 'Ada', map: { a: 'x' } }, { path: ['map', 'a'], code: 'invalid_type' }],
  ])('%s', (_what, value, issue) => {
    expect(issuesOf(schema, value)).toEqual([expect.objectContaining(issue)]);
  });

  it('a closed set is listed in allowed', () => {
    expect(issuesOf(schema, { name: 'Ada', plan: 'gold' })).toEqual([
      { path: ['plan'], code: 'invalid_value', message: 'plan must be one of: free, pro.', allowed: ['free', 'pro'] },
    ]);
    expect(issuesOf(schema, { name: 'Ada', flag: false })).toMatchObject([{ code: 'invalid_value', allowed: [true] }]);
    expect(issuesOf(z.strictObject({ plan: z.enum(['free']) }), {})).toMatchObject([{ code: 'required' }]);
  });

  it('every unknown field is an issue of its own, with the known ones of its object', () => {
    expect(issuesOf(schema, { name: 'Ada', nmae: 1, inner: { key: 'a', kye: 2 } })).toEqual([
      {
        path: ['inner', 'kye'],
        code: 'unrecognized_keys',
        message: 'inner.kye is not a known field.',
        allowed: ['key'],
      },
      {
        path: ['nmae'],
        code: 'unrecognized_keys',
        message: 'nmae is not a known field.',
        allowed: ['name', 'age', 'plan', 'flag', 'tags', 'either', 'inner', 'map', 'at'],
      },
    ]);
  });

  it('R-72 __proto__ and constructor are unknown fields like any other', () => {
    const value = JSON.parse('{"name":"Ada","__proto__":{"a":1},"constructor":2,"toString":3}');
    expect(issuesOf(schema, value).map(({ path, code }) => [path, code])).toEqual([
      [['__proto__'], 'unrecognized_keys'],
      [['constructor'], 'unrecognized_keys'],
      [['toString'], 'unrecognized_keys'],
    ]);
  });

  it('all faults are reported at once', () => {
    expect(issuesOf(schema, { name: 7, age: 'x', plan: null }).map(({ path }) => path)).toEqual([
      ['name'],
      ['age'],
      ['plan'],
    ]);
  });

  it('a place before the value is put before every path', () => {
    expect(issuesOf(schema, { name: 7 }, ['idempotency-key'])).toMatchObject([{ path: ['idempotency-key', 'name'] }]);
  });

  it('a refinement speaks in the codes of the contract', () => {
    const refined = schema.superRefine((value, ctx) => {
      const issue: Issue = { path: ['age'], code: 'too_soon', message: 'Not yet.', limit: 18, allowed: [18] };
      ctx.issues.push(issueOf(issue, value));
    });
    expect(issuesOf(refined, { name: 'Ada' })).toEqual([
      { path: ['age'], code: 'too_soon', message: 'Not yet.', limit: 18, allowed: [18] },
    ]);
    const plain = z.string().refine((text) => text === 'x', { error: 'It is x.' });
    expect(issuesOf(plain, 'y')).toEqual([{ path: [], code: 'invalid_value', message: 'It is x.' }]);
  });

  it('names a single issue in its own words, and several by their number', () => {
    const messageOf = (value: unknown): string => {
      try {
        validate(schema, value);
      } catch (error) {
        return (error as ApiError).message;
      }
      return '';
    };
    expect(messageOf({})).toBe('name is required.');
    expect(messageOf({ name: 7, age: 'x' })).toBe('2 fields are invalid.');
  });

  it('never repeats a value: it may be a secret', () => {
    const secret = 'sk_live_secret';
    for (const value of [
      secret,
      { name: secret },
      { name: 'Ada', plan: secret, age: secret, inner: { key: secret } },
    ]) {
      expect(JSON.stringify(issuesOf(schema, value))).not.toContain(secret);
    }
  });
});
