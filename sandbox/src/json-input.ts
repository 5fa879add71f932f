// Reads foreign JSON: every member by name and type, and none may be unknown. Errors name the
// member and the fault; values are never coerced.

/** The input is wrong. `path` names the member. */
export class InputError extends Error {
  override readonly name = 'InputError';
  readonly path: string;

  constructor(path: string, message: string) {
    super(path === '' ? message : `${path}: ${message}`);
    this.path = path;
  }
}

/** The members of one object, each read once. `end` refuses members that nobody read. */
export class Fields {
  readonly #left: Map<string, unknown>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new InputError(path, 'must be an object');
    }
    this.#left = new Map(Object.entries(value));
    this.#path = path;
  }

  take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }

  /** null and absent mean the same. */
  optional<T>(name: string, read: (name: string) => T): T | null {
    const value = this.#left.get(name);
    if (value !== undefined && value !== null) return read(name);
    this.#left.delete(name);
    return null;
  }

  text(name: string): string {
    const value = this.take(name);
    if (typeof value !== 'string') throw this.#wrong(name, 'must be a string');
    return value;
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (typeof value !== 'boolean') throw this.#wrong(name, 'must be true or false');
    return value;
  }

  number(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.take(name);
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw this.#wrong(name, `must be a number from ${least} to ${most}`);
    }
    return value;
  }

  integer(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.take(name);
    if (!isInteger(value, least, most)) throw this.#wrong(name, `must be a whole number from ${least} to ${most}`);
    return value;
  }

  /** One integer or a list of integers. */
  integers(name: string, least: number): number[] {
    const value = this.take(name);
    const list: unknown[] = Array.isArray(value) ? value : [value];
    return list.map((each) => {
      if (!isInteger(each, least, Number.MAX_SAFE_INTEGER)) {
        throw this.#wrong(name, `must be whole numbers from ${least}`);
      }
      return each;
    });
  }

  numberOrText(name: string): number | string {
    const value = this.take(name);
    if (typeof value !== 'string' && typeof value !== 'number') throw this.#wrong(name, 'must be a number or a string');
    return value;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const value = this.take(name);
    const found = allowed.find((each) => each === value);
    if (found === undefined) throw this.#wrong(name, `must be one of ${allowed.join(', ')}`);
    return found;
  }

  /** An object of strings. */
  texts(name: string): Record<string, string> {
    const fields = new Fields(this.take(name), this.#at(name));
    return Object.fromEntries([...fields.#left.keys()].map((each) => [each.toLowerCase(), fields.text(each)]));
  }

  list(name: string): unknown[] {
    const value = this.take(name);
    if (!Array.isArray(value)) throw this.#wrong(name, 'must be a list');
    return value;
  }

  end(): void {
    const [unknown] = this.#left.keys();
    if (unknown !== undefined) throw this.#wrong(unknown, 'is not known here');
  }

  #wrong(name: string, message: string): InputError {
    return new InputError(this.#at(name), message);
  }

  #at(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

function isInteger(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
}
