// IndexedDB in memory, as far as the SDK uses it: asynchronous requests, cloned values, one
// transaction at a time per database, completion after the last request. The tests in e2e use real
// browsers.

type Key = string | number;
type Row = Record<string, unknown>;

class Request<Result> {
  result!: Result;
  error: Error | null = null;
  onsuccess: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onupgradeneeded: (() => void) | null = null;
}

class Table {
  readonly rows = new Map<Key, Row>();
  readonly indexes = new Map<string, string>();
  readonly keyPath: string;
  readonly isNumbered: boolean;
  #last = 0;

  constructor(keyPath: string, isNumbered: boolean) {
    this.keyPath = keyPath;
    this.isNumbered = isNumbered;
  }

  createIndex(name: string, keyPath: string): void {
    this.indexes.set(name, keyPath);
  }

  put(value: Row): Key {
    const row = structuredClone(value);
    if (this.isNumbered) row[this.keyPath] ??= ++this.#last;
    const key = row[this.keyPath] as Key;
    this.rows.set(key, row);
    return key;
  }

  where(index: string, value: unknown, count = Number.POSITIVE_INFINITY): [Key, Row][] {
    const path = this.indexes.get(index) ?? '';
    const matching = [...this.rows].filter(([, row]) => row[path] === value);
    return matching.sort(([a], [b]) => Number(a) - Number(b)).slice(0, count);
  }
}

class Transaction {
  oncomplete: (() => void) | null = null;
  onabort: (() => void) | null = null;
  error: Error | null = null;
  readonly #table: Table;
  readonly #work: (() => void)[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  objectStore() {
    const table = this.#table;
    const ask = <Result>(read: () => Result): Request<Result> => this.#ask(read);
    return {
      get: (key: Key) => ask(() => structuredClone(table.rows.get(key))),
      put: (value: Row) => ask(() => table.put(value)),
      add: (value: Row) => ask(() => table.put(value)),
      delete: (key: Key) => ask(() => void table.rows.delete(key)),
      index: (name: string) => ({
        getAll: (value: unknown, count?: number) =>
          ask(() => table.where(name, value, count).map(([, row]) => structuredClone(row))),
        getAllKeys: (value: unknown) => ask(() => table.where(name, value).map(([key]) => key)),
      }),
    };
  }

  #ask<Result>(read: () => Result): Request<Result> {
    const request = new Request<Result>();
    this.#work.push(() => {
      request.result = read();
      request.onsuccess?.();
    });
    return request;
  }

  async run(): Promise<void> {
    for (let work = this.#work.shift(); work; work = this.#work.shift()) {
      await undefined;
      work();
    }
    this.oncomplete?.();
  }
}

/**
 * A new, empty `indexedDB`. With `isClosed` every open fails, as in a browser that blocks storage.
 */
export function indexedDbInMemory(isClosed = false) {
  const tables = new Map<string, Table>();
  let queue = Promise.resolve();
  return {
    /** All rows of a store, for inspection. */
    rows: (name: string): Row[] => [...(tables.get(name)?.rows.values() ?? [])],
    open() {
      const request = new Request<unknown>();
      queueMicrotask(() => {
        if (isClosed) {
          request.error = new DOMException('Storage is blocked.', 'SecurityError');
          request.onerror?.();
          return;
        }
        request.result = {
          createObjectStore(name: string, options: { keyPath: string; autoIncrement?: boolean }) {
            const table = new Table(options.keyPath, options.autoIncrement ?? false);
            tables.set(name, table);
            return table;
          },
          transaction(name: string) {
            const transaction = new Transaction(tables.get(name) ?? new Table('', false));
            queue = queue.then(() => transaction.run());
            return transaction;
          },
          close() {},
        };
        if (tables.size === 0) request.onupgradeneeded?.();
        request.onsuccess?.();
      });
      return request;
    },
  };
}
