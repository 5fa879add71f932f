// Templates of text and values alone, each value with a default or without: nearly all that people write. They are joined from
// their parts and mean what liquidjs would make of them, for a tenth of its time and memory. Reads nothing but what it fully
// understands; everything else is liquidjs's.
import { type Attribute, attributes } from './template-grammar.ts';

/** One value between two texts. */
interface Value {
  readonly attribute: Attribute | null;
  /** Of a property, where `attribute` is null. */
  readonly key: string;
  readonly fallback: string | undefined;
}

/** What a value is, before it is put into the text. */
export type ReadValue = (attribute: Attribute | null, key: string) => unknown;

export type PlainTemplate = (read: ReadValue, write: (value: unknown) => string) => string;

const blanks = '[ \\t\\r\\n\\u00a0]*';
// Quotes without escapes and without anything that could end a tag.
const quoted = `'([^'\\\\{}%]*)'|"([^"\\\\{}%]*)"`;
const output = new RegExp(
  `\\{\\{${blanks}(?:(${attributes.join('|')})|properties\\.([A-Za-z_][A-Za-z0-9_]*))${blanks}` +
    `(?:\\|${blanks}default${blanks}:${blanks}(?:${quoted})${blanks})?\\}\\}`,
  'y',
);

/**
 * `source` was accepted by the grammar, and `texts` is what stands around its tags. Undefined: it holds a tag that is more than a
 * value.
 */
export function readPlainTemplate(source: string, texts: readonly string[]): PlainTemplate | undefined {
  const [first = '', ...following] = texts;
  const parts: (readonly [value: Value, text: string])[] = [];
  let at = first.length;
  for (const text of following) {
    output.lastIndex = at;
    const found = output.exec(source);
    if (!found) return undefined;
    const [, attribute = null, key = '', single, double] = found;
    parts.push([{ attribute: attribute as Attribute | null, key, fallback: single ?? double }, text]);
    at = output.lastIndex + text.length;
  }
  return (read, write) => {
    let rendered = first;
    for (const [{ attribute, key, fallback }, text] of parts) {
      const value = read(attribute, key);
      // Contract 7.3: these take the default.
      const isMissing = value === undefined || value === null || value === '' || value === false;
      rendered += write(isMissing && fallback !== undefined ? fallback : value) + text;
    }
    return rendered;
  };
}
