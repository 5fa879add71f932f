// Text of a property in a CSV: the file knows no types, the catalog does. The catalog's type of a
// key decides how its text is read. For a new key the texts that are read together decide, unless
// the header names a type. Pure.
import type { PropertyType, PropertyValue } from '../properties/property.ts';

/** A value as text, with its key. */
export interface Cell {
  readonly key: string;
  readonly text: string;
  /** The type in the header; null when the header names none. */
  readonly type: PropertyType | null;
}

/**
 * A number as JSON writes it, so that neither 007 nor +49 matches, with no more digits than a
 * double keeps.
 */
const number = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?$/;
const boolean = /^(?:true|false)$/i;

/** More keys than an app can have; a file could name a new one in each line. */
const keysMax = 10_000;

export class CellTypes {
  readonly #types: Map<string, PropertyType>;

  /** Begins with the types in the app's catalog. */
  constructor(catalog: ReadonlyMap<string, PropertyType>) {
    this.#types = new Map(catalog);
  }

  /** Decides the types of new keys by all texts that are read together. */
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

  /**
   * Reads texts as values. A text that does not match its type stays a text, which the catalog
   * reports as a conflict.
   */
  read(cells: readonly Cell[]): Record<string, PropertyValue> {
    // Without a prototype, because `__proto__` is a key like any other.
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
