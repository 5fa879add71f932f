// Makes values for requests: values that a schema describes, and values that an attacker would
// send. Ids are written as placeholders (`@device:7`), which are replaced by known ids when a
// request is sent.
import fc from 'fast-check';
import type { Schema } from './description.ts';

export const pools = ['device', 'message', 'segment', 'user'] as const;
export type Pool = (typeof pools)[number];

/** A placeholder such as `@device:7`. `@stranger-device:7` stands for an id of the other app. */
export const place: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('', '', '', 'stranger-'), fc.constantFrom(...pools), fc.nat(1000))
  .map(([whose, pool, number]) => `@${whose}${pool}:${number}`);

const hostileTexts = [
  ...['', ' ', '\u0000', 'a\u0000b', '\ud800', '\udfff\ud800', '\u202e', '\ufeff', 'a\r\nx-injected: y', '\u001b[31m'],
  ...["'; DROP TABLE devices; --", '" OR 1=1 --', '$1', '%s%n', '\\', '../../../../etc/passwd', '%00', '%', '%zz'],
  ...['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'size', 'first', 'last'],
  ...[
    '{{properties.x}}',
    '{{ "a" | upcase }}',
    '{% for i in (1..9) %}',
    '{{',
    '{%',
    '{{first_name | default: }}',
    '#{7*7}',
  ],
  ...[
    'http://169.254.169.254/',
    'https://127.0.0.1/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://u:p@x.example',
  ],
  ...['2026-02-30T00:00:00Z', '2026-01-01T00:00:00', '+275760-09-13T00:00:00Z', '1999-12-31T23:59:59Z', '24:00', 'P1D'],
  ...['UK', 'xx', 'de_DE', 'Europe/Nowhere', '+01:00', 'ﷺ', '👩‍👩‍👧', 'é', 'e\u0301', 'x'.repeat(5_000)],
] as const;

const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);

export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...hostileTexts),
  fc.constantFrom<unknown>(null, true, false, 0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e300, 5e-324),
  fc.constantFrom<unknown>({}, [], [[]], [null], deep(31), deep(40), JSON.parse('{"__proto__":{"x":1}}')),
  fc.array(fc.constantFrom<unknown>('a', 1, null), { minLength: 51, maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  place,
);

/** Values that a schema describes, as far as its keywords are supported. */
export function valuesOf(schema: Schema, resolve: (ref: string) => Schema, depth = 0): fc.Arbitrary<unknown> {
  const inner = (given: unknown): fc.Arbitrary<unknown> => valuesOf(given as Schema, resolve, depth + 1);
  if (depth > 7) return fc.constant(null);
  if (typeof schema['$ref'] === 'string') return inner(resolve(schema['$ref']));
  if ('const' in schema) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...schema['enum']);
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
  if (choices) return fc.oneof(...choices.map(inner));
  const all = schema['allOf'] as Schema[] | undefined;
  if (all) {
    return fc
      .tuple(...all.map(inner))
      .map((parts) => Object.assign({}, ...parts.filter((part) => typeof part === 'object')));
  }
  const types = [schema['type'] ?? (schema['properties'] ? 'object' : 'string')].flat() as string[];
  return fc.oneof(...types.map((type) => valuesOfType(type, schema, inner)));
}

function valuesOfType(
  type: string,
  schema: Schema,
  inner: (given: unknown) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: Number(schema['minimum'] ?? -10), max: Number(schema['maximum'] ?? 1_000_000) });
    case 'number':
      return fc.double({ min: Number(schema['minimum'] ?? -1e6), max: Number(schema['maximum'] ?? 1e6), noNaN: true });
    case 'array': {
      const least = Number(schema['minItems'] ?? 0);
      return fc.array(inner(schema['items'] ?? {}), { minLength: least, maxLength: Math.max(least, 4) });
    }
    case 'object':
      return objectOf(schema, inner);
    default:
      return textOf(schema);
  }
}

function objectOf(schema: Schema, inner: (given: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  const required = (schema['required'] ?? []) as string[];
  const known = fc.record(Object.fromEntries(properties.map(([name, each]) => [name, inner(each)])), {
    requiredKeys: required.filter((name) => properties.some(([key]) => key === name)) as never[],
  });
  const more = schema['additionalProperties'];
  if (typeof more !== 'object' || more === null) return known;
  const keys = fc.oneof(fc.stringMatching(/^[a-z_]{1,8}$/), fc.constantFrom('__proto__', 'plan', 'size', 'a.b', ''));
  return fc
    .tuple(known, fc.dictionary(keys, inner(more), { maxKeys: 4 }))
    .map(([one, other]) => ({ ...other, ...one }));
}

function textOf(schema: Schema): fc.Arbitrary<unknown> {
  const { pattern, format } = schema;
  if (format === 'date-time') {
    const instants = { min: new Date('2026-01-01'), max: new Date('2028-01-01'), noInvalidDate: true };
    return fc.date(instants).map((date) => date.toISOString());
  }
  if (typeof pattern === 'string') {
    const prefix = /^\^(dev|msg|seg)_/.exec(pattern)?.[1];
    if (prefix) return place;
    return fc.stringMatching(new RegExp(pattern));
  }
  const least = Number(schema['minLength'] ?? 0);
  return fc.string({ minLength: least, maxLength: Math.max(least, Math.min(Number(schema['maxLength'] ?? 20), 40)) });
}
