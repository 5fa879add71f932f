import fc from 'fast-check';
import { test } from 'vitest';
import { member, membersOf, nested, objectOf, quoted } from './json-text.ts';

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\ud800', '🔔', 'ä') }),
);
const values = fc.oneof(
  texts,
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(undefined),
);

test('a text is written as JSON.stringify writes it, whatever is in it', () => {
  fc.assert(fc.property(texts, (text) => quoted(text) === JSON.stringify(text)));
});

test('an object is written without its undefined members', () => {
  fc.assert(
    fc.property(values, values, fc.dictionary(texts, values), (one, two, others) => {
      const members = member('one', one) + nested('two', member('inner', two)) + nested('others', membersOf(others));
      return objectOf(members) === JSON.stringify({ one, two: { inner: two }, others });
    }),
  );
});
