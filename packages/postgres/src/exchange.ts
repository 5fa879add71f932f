// One round trip on a connection of `pg`: statements that are sent in one write and answered
// together. `pg` takes such an object in place of a query, as it takes its own cursors and COPY
// streams (https://node-postgres.com/apis/client, "client.query", `submit`).
import { type Connection, DatabaseError, type Submittable } from 'pg';
import type { Compiled, Row, Rows, RowsToCopy } from './statement.ts';
import { type Parse, parserOf } from './values.ts';
import type { Wire } from './wire.ts';

/** A statement that the server has prepared on a connection under this name. */
export interface Prepared {
  readonly name: string;
  /**
   * The columns of its result. Undefined before its first run, and after the server has lost its
   * plan.
   */
  columns: readonly Column[] | undefined;
}

interface Column {
  readonly name: string;
  readonly parse: Parse;
}

/**
 * A statement and its name on the connection. A statement without a name is planned for this run
 * only.
 */
export interface Ask extends Compiled {
  readonly prepared: Prepared | undefined;
  /** Rows for COPY … FROM STDIN. */
  readonly copied?: RowsToCopy | undefined;
}

export type Answer = Rows<Row[]> & { readonly command: string };

class RowList extends Array<Row> {
  static override get [Symbol.species]() {
    return Array;
  }
  /** The command and the number of its rows, as in `INSERT 0 5`. */
  #tag = '';
  get count(): number {
    return Number(this.#tag.slice(this.#tag.lastIndexOf(' ') + 1)) || 0;
  }
  get command(): string {
    return this.#tag.split(' ')[0] ?? '';
  }
  end(tag: string): this {
    this.#tag = tag;
    return this;
  }
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

const lostPlans = new WeakSet<object>();

/**
 * Returns whether the server refused a statement that it had run before on this connection, because
 * tables or columns have changed or the statement was deallocated. If it is sent again, the server
 * plans it again.
 */
export const hasLostPlan = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && lostPlans.has(error);

/**
 * 0A000: the result has other columns. 26000: the statement is gone. 42…: one of its types, columns
 * or operators has changed, except 42501, which is about rights.
 */
const isOfPlan = (error: Error): boolean =>
  error instanceof DatabaseError && /^(0A000|26000|42(?!501))/.test(error.code ?? '');

export class Exchange implements Submittable {
  /** The answers, in the order of the statements; complete when nothing failed. */
  readonly answers: Answer[] = [];
  /** The first error. The server skips every statement after a refused one. */
  error: Error | undefined;
  /** The number of the refused statement. */
  refusedAt = 0;
  /** When the server last sent an answer or a part of one, by `performance.now()`. */
  heardAtMs = 0;
  readonly #asks: readonly Ask[];
  readonly #wire: Wire;
  readonly #onError: (error: Error) => void;
  #rows = new RowList();
  #columns: readonly Column[] | undefined;

  /**
   * A statement in one message, or several that are each prepared. Without statements the exchange
   * only asks for a sign of life.
   */
  constructor(asks: readonly Ask[], wire: Wire, onError: (error: Error) => void) {
    this.#asks = asks;
    this.#wire = wire;
    this.#onError = onError;
  }

  submit(connection: Connection): void {
    const [first] = this.#asks;
    this.#columns = first?.prepared?.columns;
    if (first?.isSimple) {
      connection.query(first.text);
      return;
    }
    // If one statement cannot be written, nothing is sent.
    this.#wire.cork();
    for (const [index, ask] of this.#asks.entries()) {
      // A server holds its answers until there are many, or until it is told to send them.
      if (index > 0) connection.flush();
      send(connection, ask);
    }
    connection.sync();
    this.#wire.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.heardAtMs = performance.now();
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name: camelCase(name), parse: parserOf(dataTypeID) }));
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.heardAtMs = performance.now();
    // An unreadable value ends the connection, because it is unknown what the server did next.
    if (!this.error) this.#rows.push(rowOf(this.#columns ?? [], fields));
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.heardAtMs = performance.now();
    const prepared = this.#asks[this.answers.length]?.prepared;
    if (prepared) prepared.columns ??= this.#columns ?? [];
    this.answers.push(this.#rows.end(text));
    this.#rows = new RowList();
    this.#columns = this.#asks[this.answers.length]?.prepared?.columns;
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  handleError(error: Error): void {
    this.#refuse(error);
    this.#onError(error);
  }

  handleCopyInResponse(): void {
    void this.#copy(this.#wire);
  }

  // `pg` also calls these methods. Nothing here depends on them.
  handleReadyForQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}

  async #copy(wire: Wire): Promise<void> {
    // The COPY was refused or the connection was lost. The server takes no more rows, and may be at
    // the next statement.
    const isOver = (): boolean => this.error !== undefined || !wire.writable;
    try {
      for await (const bytes of this.#asks[0]?.copied ?? []) {
        if (isOver()) return;
        wire.write(header('d', bytes.length));
        if (!wire.write(bytes)) await drained(wire);
      }
      if (!isOver()) wire.write(header('c', 0));
    } catch (error) {
      if (isOver()) return;
      // Makes the server drop the rows so far; it answers with an error.
      this.#refuse(error as Error);
      wire.write(Buffer.concat([header('f', 1), Buffer.alloc(1)]));
    }
  }

  #refuse(error: Error): void {
    if (this.error) return;
    this.error = error;
    this.refusedAt = this.answers.length;
    // The server may have prepared the statement nevertheless, or lost its plan.
    const prepared = this.#asks[this.refusedAt]?.prepared;
    if (prepared?.columns && isOfPlan(error)) lostPlans.add(error);
    if (prepared) prepared.columns = undefined;
  }
}

/** Resolves when the stream takes more, or never will. */
function drained(wire: Wire): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      wire.off('drain', end).off('close', end);
      resolve();
    };
    wire.on('drain', end).on('close', end);
  });
}

/** `pg`'s types have one parameter more than its functions. */
const more = true;

function send(connection: Connection, { text, values, types, prepared }: Ask): void {
  const name = prepared?.name ?? '';
  const isKnown = prepared?.columns !== undefined;
  if (!isKnown) {
    // The server also accepts this for a statement that does not exist.
    if (prepared) connection.close({ type: 'S', name }, more);
    connection.parse({ name, text, types: types as readonly unknown[] as string[] }, more);
  }
  connection.bind({ statement: name, values: values as (string | Buffer | null)[] }, more);
  if (!isKnown) connection.describe({ type: 'P' }, more);
  connection.execute({}, more);
}

/** A message's type and length; the length counts itself. */
function header(type: string, bodyBytes: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.write(type);
  bytes.writeInt32BE(bodyBytes + 4, 1);
  return bytes;
}

function rowOf(columns: readonly Column[], fields: readonly (string | null)[]): Row {
  const row: Row = {};
  for (let i = 0; i < columns.length; i++) {
    const { name, parse } = columns[i] as Column;
    const text = fields[i] as string | null;
    row[name] = text === null ? null : parse(text);
  }
  return row;
}

const camelCase = (name: string): string => name.replaceAll(/(?<=.)_(.)/g, (_, letter: string) => letter.toUpperCase());
