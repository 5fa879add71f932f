// Text under the name of a property: a CSV knows no types, the catalog does. What a key is there decides how its text is read; of a
// new key all the texts that are seen together decide, and whoever knows better says so in the header. Pure.
import type { PropertyType, PropertyValue } from '../properties/property.ts';

/** A value as text, under its key. */
export interface Cell {
  readonly key: string;
  readonly text: string;
  /** As the header says; null: it does not. */
  readonly type: PropertyType | null;
}

/** A number as JSON writes one, so that neither 007 nor +49 is taken for one; and not longer than what is kept of it. */
const number = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?$/;
const boolean = /^(?:true|false)$/i;

/** More keys than an app can have: a file may name a new one in each line. */
const keysMax = 10_000;

export class CellTypes {
  readonly #types: Map<string, PropertyType>;

  /** Begins with what the app's catalog knows. */
  constructor(catalog: ReadonlyMap<string, PropertyType>) {
    this.#types = new Map(catalog);
  }

  /** Decides the types of keys that are new, by all texts that are seen at once. */
  learn(cells: Iterable<Cell>): void {
    const found = new Map<string, PropertyType>();
    for (const { key, text, type } of cells) {
      if (type !== null || this.#types.has(key)) continue;
      const seen = typeOfText(text);
      const former = found.get(key);
      found.set(key, former === undefined || former === seen ? seen : 'string');
    }
    for (const [key, type] of found) if (this.#types.size < keysMax) this.#types.set(key, type);
  }

  /** What cannot be read as its type stays text: the catalog will call it a conflict. */
  read(cells: readonly Cell[]): Record<string, PropertyValue> {
    // Without a prototype: `__proto__` is a key like any other.
    const values: Record<string, PropertyValue> = Object.create(null);
    for (const { key, text, type } of cells) values[key] = readText(text, type ?? this.#types.get(key) ?? 'string');
    return values;
  }
}

function typeOfText(text: string): PropertyType {
  if (boolean.test(text)) return 'boolean';
  return number.test(text) && Number.isFinite(Number(text)) ? 'number' : 'string';
}

function readText(text: string, type: PropertyType): PropertyValue {
  if (type === 'string' || typeOfText(text) !== type) return text;
  return type === 'number' ? Number(text) : text.toLowerCase() === 'true';
}
