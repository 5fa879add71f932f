// Text of a property in a CSV: the file knows no types, the catalog does. The catalog's type of a
// key decides how its text is read. For a new key, all texts read together decide, unless the
// header names a type. Pure.
import type { PropertyType, PropertyValue } from '../properties/property.ts';

/** A value as text, with its key. An object or a list is no text, and is passed on as it is. */
export interface Cell {
  readonly key: string;
  readonly text: string | object;
  /** The type in the header; null when the header names none. */
  readonly type: PropertyType | null;
}

/** A number as JSON writes it, so that neither 007 nor +49 matches. */
const numberForm = /^-?(\d|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** No double needs more characters. */
const numberLengthMax = 40;
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
      if (type !== null || typeof text !== 'string' || this.#types.has(key)) continue;
      const seen = typeOfText(text);
      const former = found.get(key);
      found.set(key, former === undefined || former === seen ? seen : 'string');
    }
    for (const [key, type] of found) if (this.#types.size < keysMax) this.#types.set(key, type);
  }

  /**
   * Reads texts as values. A text that does not match its type stays a text, which the catalog
   * reports as a conflict. A text that does not match the header's type is dropped, because it could
   * give a new key another type.
   */
  read(cells: readonly Cell[], dropped: string[] = []): Record<string, PropertyValue | object> {
    // Without a prototype, because `__proto__` is a key like any other.
    const values: Record<string, PropertyValue | object> = Object.create(null);
    for (const { key, text, type } of cells) {
      const value = typeof text === 'string' ? readText(text, type ?? this.#types.get(key) ?? 'string') : text;
      if (type === null || typeof value === type) values[key] = value;
      else dropped.push(`properties.${key}: It is no ${type}, as the header says it is.`);
    }
    return values;
  }
}

function typeOfText(text: string): PropertyType {
  if (boolean.test(text)) return 'boolean';
  return isNumber(text) ? 'number' : 'string';
}

function readText(text: string, type: PropertyType): PropertyValue {
  if (type === 'string' || typeOfText(text) !== type) return text;
  return type === 'number' ? Number(text) : text.toLowerCase() === 'true';
}

/**
 * Returns whether a double can represent the number exactly as written. 10^400, digits that a
 * double would round, and integers beyond 2^53 (which are ids) count as text.
 */
export function isNumber(text: string): boolean {
  const parts = text.length > numberLengthMax ? null : numberForm.exec(text);
  if (!parts) return false;
  const value = Number(text);
  if (parts[2] === undefined && parts[3] === undefined) return Number.isSafeInteger(value);
  return Number.isFinite(value) && significand(text) === significand(String(value));
}

/** The digits of a number without zeros at either end, and the power of ten of the last digit. */
function significand(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = numberForm.exec(text) ?? [];
  const all = whole + fraction;
  const digits = all.replace(/(?<!0)0+$/, '');
  const power = Number(exponent) - fraction.length + all.length - digits.length;
  return digits.replace(/^0+/, '') === '' ? '0' : `${digits.replace(/^0+/, '')}e${power}`;
}
