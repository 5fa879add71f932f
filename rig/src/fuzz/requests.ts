// Makes requests to one operation: from its example or its schema, with a few places made wrong,
// with parameters of all kinds, and sometimes with a body that is no JSON.
import fc from 'fast-check';
import type { Description, Operation } from './description.ts';
import { hostile, place, valuesOf } from './values.ts';

export interface FuzzRequest {
  readonly operation: Operation;
  /** Values of the path's parameters, by name. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Begins with its question mark. */
  readonly query: string;
  readonly key: 'server' | 'client' | 'none' | 'wrong';
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body. */
  readonly body: string | null;
}

interface Change {
  readonly at: number;
  readonly kind: 'replace' | 'remove' | 'add';
  readonly value: unknown;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(1000),
  kind: fc.constantFrom('replace', 'replace', 'remove', 'add'),
  value: hostile,
});

export function requestsTo(operation: Operation, { resolve }: Description): fc.Arbitrary<FuzzRequest> {
  const text = fc.oneof(place, hostile).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query');
  const parameters = fc.record(Object.fromEntries(inPath.map((name) => [name, text])));
  const query = fc.record(
    Object.fromEntries([
      ...inQuery.map(({ name, schema }) => [name, fc.oneof(valuesOf(schema, resolve), hostile)] as const),
      ['nonsense', hostile],
    ]),
    { requiredKeys: [] },
  );
  const keys = fc.oneof(
    { arbitrary: fc.constant('server' as const), weight: 170 },
    { arbitrary: fc.constant('client' as const), weight: 28 },
    // Kept rare: above 300 such requests a minute, an address is delayed by a second each.
    { arbitrary: fc.constantFrom('none' as const, 'wrong' as const), weight: 1 },
  );
  const headers = fc.record(
    {
      'idempotency-key': fc.oneof(
        fc.stringMatching(/^[\x21-\x7e]{1,20}$/),
        fc.constantFrom('one', 'two', 'x'.repeat(300)),
      ),
      'content-type': fc.constantFrom(
        'application/json; charset=utf-8',
        'text/plain',
        'application/x-www-form-urlencoded',
      ),
      accept: fc.constantFrom('text/csv', '*/*', 'text/html'),
    },
    { requiredKeys: [] },
  );
  return fc
    .record({
      parameters,
      query: fc.oneof({ arbitrary: fc.constant({}), weight: 3 }, { arbitrary: query, weight: 1 }),
      key: keys,
      headers: fc.oneof({ arbitrary: fc.constant({}), weight: 4 }, { arbitrary: headers, weight: 1 }),
      body: bodyOf(operation, resolve),
    })
    .map(({ query: asked, ...request }) => ({ ...request, operation, query: queryOf(asked) }));
}

function bodyOf({ body, method }: Operation, resolve: Description['resolve']): fc.Arbitrary<string | null> {
  if (!body) return method === 'GET' ? fc.constant(null) : fc.constantFrom(null, null, '', '{}', '[]', 'x');
  const value = fc.oneof(fc.constant(body.example), valuesOf(body.schema, resolve));
  const changed = fc
    .tuple(value, fc.array(change, { maxLength: 3 }))
    .map(([given, changes]) => JSON.stringify(changes.reduce(applyChange, structuredClone(given))) ?? 'null');
  return fc.oneof(
    { arbitrary: changed, weight: 30 },
    // Bodies that JSON.stringify never writes.
    { arbitrary: changed.map((text) => text.replace(/\d+/, '1e400')), weight: 1 },
    { arbitrary: changed.map((text) => text.slice(0, text.length / 2)), weight: 1 },
    {
      arbitrary: fc.constantFrom('', 'null', '[]', '1', '"x"', '{"a":1,"a":2}', '\ufeff{}', 'x'.repeat(300_000)),
      weight: 1,
    },
    { arbitrary: fc.constant('['.repeat(100_000)), weight: 1 },
  );
}

type Holder = Record<string, unknown> | unknown[];

// A place is a key of an object or an index of a list.
function placesIn(value: unknown, found: { holder: Holder; key: string }[] = []): { holder: Holder; key: string }[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const key of Object.keys(value)) {
    found.push({ holder: value as Holder, key });
    placesIn((value as Record<string, unknown>)[key], found);
  }
  return found;
}

function applyChange(value: unknown, { at, kind, value: given }: Change): unknown {
  // A copy: a value that contained itself would have no end.
  const other = JSON.parse(JSON.stringify(given));
  const places = placesIn(value);
  const chosen = places[at % Math.max(1, places.length)];
  if (!chosen) return kind === 'remove' ? value : other;
  const holder = chosen.holder as Record<string, unknown>;
  // defineProperty instead of an assignment, because `__proto__` must become a key.
  const set = (key: string): void => {
    Object.defineProperty(holder, key, { value: other, enumerable: true, configurable: true, writable: true });
  };
  if (kind === 'replace') set(chosen.key);
  else if (kind === 'add' && Array.isArray(chosen.holder)) chosen.holder.push(other);
  else if (kind === 'add') set(typeof other === 'string' && other.length < 100 ? other : 'nonsense');
  else if (!Array.isArray(chosen.holder)) delete holder[chosen.key];
  return value;
}

function queryOf(asked: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(asked).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name}=${encodeURIComponent(text.toWellFormed())}`;
  });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
