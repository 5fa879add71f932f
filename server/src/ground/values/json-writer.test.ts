import fc from 'fast-check';
import { test } from 'vitest';
import { JsonWriter } from './json-writer.ts';

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

test('objects are written as JSON.stringify writes them, whatever is in them', () => {
  fc.assert(
    fc.property(values, values, values, fc.dictionary(texts, values), (one, two, three, others) => {
      const json = new JsonWriter();
      json.member('one', one);
      json.open('two');
      json.open('others');
      json.members(others);
      json.close();
      json.member('inner', two);
      json.close();
      json.member('three', three);
      return json.end() === JSON.stringify({ one, two: { others, inner: two }, three });
    }),
  );
});

test('the members of any object stand before, between and behind others', () => {
  const object = fc.dictionary(fc.string({ minLength: 4 }), values).filter((some) => !('one' in some || 'two' in some));
  fc.assert(
    fc.property(object, object, values, (some, more, two) => {
      const json = new JsonWriter();
      json.members(some);
      json.member('one', 1);
      json.member('two', two);
      json.members(more);
      const parts = [some, { one: 1 }, { two }, more].map((part) => JSON.stringify(part).slice(1, -1));
      return json.end() === `{${parts.filter((part) => part !== '').join(',')}}`;
    }),
  );
});
