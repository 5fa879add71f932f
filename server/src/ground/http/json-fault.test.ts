import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonFault } from './json-fault.ts';

it.each([
  ['{"a": 1,}', 1, 9, '}'],
  ["{'a': 1}", 1, 2, "'"],
  ['{"a" 1}', 1, 6, '1'],
  ['{\n  "title": "Sale"\n  "body": "Now"\n}', 3, 3, '"'],
  ['{"title": "Sale', 1, 16, null],
  ['{"title": "a\nb"}', 1, 13, '\n'],
  ['[1, 2', 1, 6, null],
  ['{"a": tru}', 1, 10, '}'],
  ['{"a": .5}', 1, 7, '.'],
  ['{"a": 01}', 1, 8, '1'],
  ['{"a": "\\x"}', 1, 9, 'x'],
  ['{"a": "\\u12"}', 1, 12, '"'],
  ['{"a": 1e}', 1, 9, '}'],
  ['-', 1, 2, null],
  ['{"a": tru', 1, 10, null],
  ['undefined', 1, 1, 'u'],
  ['{} {}', 1, 4, '{'],
  ['NaN', 1, 1, 'N'],
  ['{"a": 🔔}', 1, 7, '🔔'],
])('finds where a text stops being JSON: %j', (text, line, column, found) => {
  expect(() => JSON.parse(text)).toThrow();
  expect(findJsonFault(text)).toEqual({ line, column, found });
});

it('finds a fault that neither the text before it has, nor the text after it changes', () => {
  const texts = fc.oneof(fc.json({ maxDepth: 4 }), fc.json().chain(damaged), fc.string());
  fc.assert(
    fc.property(texts, (text) => {
      const fault = findJsonFault(text);
      if (fault === undefined) JSON.parse(text);
      else {
        const lines = text.split('\n').slice(0, fault.line - 1);
        const at = lines.join('\n').length + Math.min(lines.length, 1) + fault.column - 1;
        expect(findJsonFault(text.slice(0, at))?.found ?? null).toBeNull();
        const upTo = text.slice(0, at + (fault.found?.length ?? 0));
        expect(findJsonFault(upTo)).toEqual(fault);
      }
    }),
    { numRuns: 2000 },
  );
});

/** A copy with some characters removed or inserted. */
function damaged(text: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat(text.length), fc.nat(3), fc.constantFrom('', ',', '"', '}', ']', '\\', '0', 'e', ' '))
    .map(([at, length, insert]) => text.slice(0, at) + insert + text.slice(at + length));
}
