// Random filters over a small world, so that most of them match some devices and not all.
import fc from 'fast-check';

/** Values of properties and of filters. They are few, because otherwise no two would be equal. */
export const texts = [
  'pro',
  'Pro',
  'free',
  '',
  "it's; DROP TABLE audience--",
  '%_\\',
  'größe',
  '日本',
  '🔔x',
  '__proto__',
  'null',
];
export const numbers = [0, 1, -1, 2.5, 1e308, -1e308, 5e-324, 9_007_199_254_740_992, 0.1, 100];
export const countries = ['DE', 'FR', 'JP'];
export const languages = ['de', 'pt-BR', 'fr'];
export const eventNames = ['purchase', 'article_read', 'session_start'];

const letterCase = (words: readonly string[]) =>
  fc.tuple(fc.constantFrom(...words), fc.boolean()).map(([word, isUpper]) => (isUpper ? word.toUpperCase() : word));

interface TextField {
  readonly field: string;
  readonly values: fc.Arbitrary<string>;
}

const textFields: readonly TextField[] = [
  ...['properties.plan', 'properties.__proto__', 'properties.far', 'first_name', 'device.app_version'].map((field) => ({
    field,
    values: fc.constantFrom(...texts),
  })),
  { field: 'external_id', values: fc.constantFrom('u-1', 'u-2', 'U-1', 'u-3') },
  { field: 'country', values: letterCase(countries) },
  { field: 'language', values: letterCase(languages) },
  { field: 'timezone', values: fc.constantFrom('Europe/Berlin', 'Asia/Tokyo') },
  { field: 'device.locale', values: letterCase(['de-DE', 'fr']) },
  { field: 'device.os', values: fc.constantFrom('iOS', 'Android') },
];

const partsOf = (values: fc.Arbitrary<string>) =>
  fc.tuple(values, fc.nat(3), fc.nat(3)).map(([text, from, length]) => {
    const points = [...text];
    return points.slice(from, from + length + 1).join('') || points[0] || 'x';
  });

const textLeaf = fc.constantFrom(...textFields).chain(({ field, values }) =>
  fc.oneof(
    fc.record({ field: fc.constant(field), op: fc.constantFrom('eq', 'neq'), value: values }),
    fc.record({
      field: fc.constant(field),
      op: fc.constantFrom('in', 'not_in'),
      value: fc.array(values, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      field: fc.constant(field),
      op: fc.constantFrom('contains', 'not_contains', 'starts_with', 'ends_with'),
      value: partsOf(values),
    }),
    fc.record({ field: fc.constant(field), op: fc.constantFrom('exists', 'not_exists') }),
  ),
);

const platformLeaf = fc.record({
  field: fc.constant('device.platform'),
  op: fc.constantFrom('eq', 'neq'),
  value: fc.constantFrom('web', 'ios', 'android'),
});

const number = fc.constantFrom(...numbers);
const numberLeaf = fc.constantFrom('properties.age', 'properties.far_number').chain((field) =>
  fc.oneof(
    fc.record({
      field: fc.constant(field),
      op: fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'),
      value: number,
    }),
    fc.record({
      field: fc.constant(field),
      op: fc.constantFrom('in', 'not_in'),
      value: fc.array(number, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ field: fc.constant(field), op: fc.constantFrom('exists', 'not_exists') }),
  ),
);

const booleanLeaf = fc
  .constantFrom('properties.trial', 'properties.far_flag', 'device.identified')
  .chain((field) =>
    fc.oneof(
      fc.record({ field: fc.constant(field), op: fc.constantFrom('eq', 'neq'), value: fc.boolean() }),
      fc.record({ field: fc.constant(field), op: fc.constantFrom('exists', 'not_exists') }),
    ),
  );

const duration = fc.constantFrom('1m', '59m', '1h', '23h', '24h', '1d', '36h', '7d', '30d', '365d');
const instantAround = (now: Date) =>
  fc
    .integer({ min: -40 * 24 * 60, max: 60 })
    .map((minutes) => new Date(now.getTime() + minutes * 60_000).toISOString());

const timeLeaf = (now: Date) =>
  fc
    .constantFrom('created_at', 'device.created_at', 'device.last_seen_at')
    .chain((field) =>
      fc.oneof(
        fc.record({ field: fc.constant(field), op: fc.constantFrom('before', 'after'), value: instantAround(now) }),
        fc.record({ field: fc.constant(field), op: fc.constant('within_last'), value: duration }),
        fc.record({ field: fc.constant(field), op: fc.constantFrom('exists', 'not_exists') }),
      ),
    );

const condition = fc.oneof(
  fc.record({
    field: fc.constant('properties.amount'),
    op: fc.constantFrom('eq', 'neq', 'gt', 'lte'),
    value: fc.constantFrom(0, 10, 50, 99.9),
  }),
  fc.record({
    field: fc.constantFrom('properties.section', 'properties.amount'),
    op: fc.constantFrom('eq', 'neq', 'contains', 'not_contains'),
    value: fc.constantFrom('news', 'sport', 'x'),
  }),
  fc.record({ field: fc.constant('properties.gift'), op: fc.constantFrom('eq', 'neq'), value: fc.boolean() }),
  fc.record({
    field: fc.constantFrom('properties.section', 'properties.gift', 'properties.amount'),
    op: fc.constantFrom('exists', 'not_exists'),
  }),
);

const eventLeaf = (now: Date) =>
  fc.record(
    {
      event: fc.constantFrom(...eventNames, 'never_tracked'),
      count: fc.record({ op: fc.constantFrom('gte', 'lte', 'gt', 'lt', 'eq'), value: fc.nat(4) }),
      within: duration,
      last: fc.oneof(
        fc.record({ op: fc.constantFrom('before', 'after'), value: instantAround(now) }),
        fc.record({ op: fc.constant('within_last'), value: duration }),
      ),
      where: fc.array(condition, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ['event'] },
  );

/** A filter that the grammar accepts, as JSON. Its durations count from `now`. */
export function randomFilter(now: Date): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const leaf = fc.oneof(textLeaf, textLeaf, platformLeaf, numberLeaf, booleanLeaf, timeLeaf(now), eventLeaf(now));
  return fc.letrec<{ node: Readonly<Record<string, unknown>> }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf as fc.Arbitrary<Readonly<Record<string, unknown>>>,
      fc.record({ and: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ or: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('node') }),
    ),
  })).node;
}
