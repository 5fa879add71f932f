// Statements as tagged templates. Values become parameters; a nested statement, a name or a list of
// assignments becomes text. A statement runs once, when somebody awaits it.
import { bareArray } from './array-text.ts';
import { json, Parameter, textOf, typeOf } from './values.ts';

// biome-ignore lint/suspicious/noExplicitAny: only the statement knows the columns of an untyped row
export type Row = Record<string, any>;

/** The rows of an answer. `count`: the rows that the statement returned or changed. */
export type Rows<List extends readonly unknown[]> = List & { readonly count: number };

/** Rows in the format of their COPY, in pieces of any size. */
export type RowsToCopy = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * A value of a template. Statements of a list follow each other. Objects are wrapped by `tx.json`,
 * so that no document is sent by accident.
 */
export type Value =
  | string
  | number
  | bigint
  | boolean
  | Date
  | Uint8Array
  | null
  | Parameter
  | Names
  | Assignments
  | Columns
  // biome-ignore lint/suspicious/noExplicitAny: any statement can be nested
  | Statement<any>
  | readonly Value[];

/** A statement as text with `$1`, `$2` … and the values in the protocol's form. */
export interface Compiled {
  readonly text: string;
  readonly values: readonly (string | Buffer | null)[];
  /** The type of each value; 0: the server decides. */
  readonly types: readonly number[];
  /** Sent in one message without parameters; may contain several statements. */
  readonly isSimple: boolean;
  /** True: a connection may keep it as a prepared statement. */
  readonly isKept: boolean;
  /** The lines of code where it is written, for the stack of its errors. */
  readonly origin: string;
}

type Run = (statement: Statement<readonly unknown[]>) => Promise<Rows<readonly unknown[]>>;

/** A statement that runs when it is awaited for the first time, or when it is nested in another. */
export class Statement<List extends readonly unknown[] = Row[]> implements Promise<Rows<List>> {
  readonly [Symbol.toStringTag] = 'Statement';
  readonly strings: readonly string[];
  readonly args: readonly Value[];
  readonly isSimple: boolean;
  /** False: no connection keeps it as a prepared statement. */
  isKept = true;
  /** Encoded rows, for a statement COPY … FROM STDIN. */
  copied: RowsToCopy | undefined;
  readonly #run: Run;
  #answer: Promise<Rows<List>> | undefined;

  constructor(strings: readonly string[], args: readonly Value[], run: Run, isSimple = false) {
    this.strings = strings;
    this.args = args;
    this.isSimple = isSimple;
    this.#run = run;
  }

  /** Begins to run now. */
  execute(): Promise<Rows<List>> {
    this.#answer ??= this.#run(this) as Promise<unknown> as Promise<Rows<List>>;
    return this.#answer;
  }

  /**
   * Runs COPY … FROM STDIN with these rows, encoded in the format of the statement. They are taken
   * when the server is ready for them. When taking one throws, the server stores none.
   */
  async copy(rows: RowsToCopy): Promise<void> {
    this.copied = rows;
    await this.execute();
  }

  /** Gets its answer from outside and does not run by itself. */
  answerBy(answer: Promise<Rows<readonly unknown[]>>): void {
    this.#answer = answer as Promise<unknown> as Promise<Rows<List>>;
  }

  // biome-ignore lint/suspicious/noThenProperty: a statement is a promise that begins late
  then<Result = Rows<List>, Other = never>(
    onAnswer?: ((rows: Rows<List>) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Result | Other> {
    return this.execute().then(onAnswer, onError);
  }

  catch<Other = never>(onError?: ((error: unknown) => Other | PromiseLike<Other>) | null): Promise<Rows<List> | Other> {
    return this.then(undefined, onError);
  }

  finally(onEnd?: (() => void) | null): Promise<Rows<List>> {
    return this.execute().finally(onEnd);
  }
}

/** Names of columns or tables, quoted and separated by commas. */
export class Names {
  readonly text: string;
  constructor(names: readonly string[]) {
    this.text = names.map(quoteName).join(', ');
  }
}

/** `"column" = value, …` for UPDATE … SET. */
export class Assignments {
  readonly columns: Readonly<Record<string, Value>>;
  constructor(columns: Readonly<Record<string, Value>>) {
    this.columns = columns;
  }
}

/** The types that items are sent in. One in `json` or `jsonb` is any value that JSON can hold; null is NULL. */
export type ColumnType =
  | 'uuid'
  | 'smallint'
  | 'int'
  | 'bigint'
  | 'float8'
  | 'numeric'
  | 'text'
  | 'boolean'
  | 'timestamptz'
  | 'json'
  | 'jsonb';

/** Properties of items by the type of their columns. */
export type ColumnsByType<Key> = { readonly [Type in ColumnType]?: readonly Key[] };

/** `unnest($1::type[], …) AS name (column, …)`: items as rows. */
export class Columns {
  readonly name: string;
  readonly columns: ColumnsByType<string>;
  readonly items: readonly object[];
  constructor(name: string, columns: ColumnsByType<string>, items: readonly object[]) {
    this.name = name;
    this.columns = columns;
    this.items = items;
  }
}

/** A dot separates the parts of a name, as in `schema.table`. */
const quoteName = (name: string): string => `"${name.replaceAll('"', '""').replaceAll('.', '"."')}"`;

/** Makes statements that one connection or pool runs. */
export interface Tag {
  <List extends readonly (object | undefined)[] = Row[]>(
    strings: TemplateStringsArray,
    ...values: readonly Value[]
  ): Statement<List>;
  /** One or more names. */
  (names: string | readonly string[]): Names;
  /** The assignments of an UPDATE. */
  (columns: Readonly<Record<string, Value>>): Assignments;
  /**
   * Items as the rows of a FROM, one column for each of these properties: the names of columns are
   * those of the properties in snake_case.
   */
  rows<Item extends object>(name: string, columns: ColumnsByType<keyof Item & string>, items: readonly Item[]): Columns;
  /**
   * Text from the caller, without parameters, in one message. It leaves no portal open, so its
   * snapshot ends with it.
   */
  unsafe<List extends readonly (object | undefined)[] = Row[]>(text: string): Statement<List>;
  /** A document as `jsonb`. */
  json(document: unknown): Parameter;
}

export function createTag(run: Run): Tag {
  const tag = (first: TemplateStringsArray | string | readonly string[] | object, ...values: Value[]) => {
    if (typeof first === 'string') return new Names([first]);
    if (!Array.isArray(first)) return new Assignments(first as Readonly<Record<string, Value>>);
    if (!('raw' in first)) return new Names(first as readonly string[]);
    noteOrigin(first as readonly string[], tag);
    return new Statement(first as readonly string[], values, run);
  };
  return Object.assign(tag, {
    rows: (name: string, columns: ColumnsByType<string>, items: readonly object[]) => new Columns(name, columns, items),
    unsafe: (text: string) => new Statement([text], [], run, true),
    json: (document: unknown) => new Parameter(document, json.jsonb),
  }) as Tag;
}

/** The protocol counts the values of a statement in 16 bits. */
const valuesMax = 65_535;

export function compile(statement: Statement<readonly unknown[]>): Compiled {
  const parts = { text: '', values: [] as (string | Buffer | null)[], types: [] as number[] };
  write(parts, statement);
  if (parts.values.length > valuesMax) throw new RangeError(`a statement has more than ${valuesMax} values`);
  const { isSimple, isKept } = statement;
  // Operators read the text in pg_stat_activity, so it starts with its first word.
  const text = parts.text.trim();
  return { ...parts, text, isSimple, isKept, origin: origins.get(statement.strings) ?? '' };
}

type Parts = Pick<Compiled, 'text'> & { text: string; values: (string | Buffer | null)[]; types: number[] };

function write(parts: Parts, { strings, args }: Statement<readonly unknown[]>): void {
  parts.text += strings[0];
  for (let i = 0; i < args.length; i++) {
    writeValue(parts, args[i] as Value);
    parts.text += strings[i + 1];
  }
}

function writeValue(parts: Parts, value: Value): void {
  if (value instanceof Statement) write(parts, value);
  else if (value instanceof Names) parts.text += value.text;
  else if (value instanceof Assignments) writeAssignments(parts, value);
  else if (value instanceof Columns) writeColumns(parts, value);
  else if (Array.isArray(value) && value[0] instanceof Statement) writeList(parts, value);
  else {
    parts.values.push(textOf(value));
    parts.text += `$${parts.types.push(typeOf(value))}`;
  }
}

function writeList(parts: Parts, statements: readonly Statement[]): void {
  for (const statement of statements) {
    parts.text += ' ';
    write(parts, statement);
  }
}

function writeAssignments(parts: Parts, { columns }: Assignments): void {
  for (const [index, [column, value]] of Object.entries(columns).entries()) {
    parts.text += `${index === 0 ? '' : ', '}${assigned(column)} = `;
    writeValue(parts, value);
  }
}

/** Numbers and UUIDs need no quotes. */
const bareTypes: ReadonlySet<ColumnType> = new Set(['uuid', 'smallint', 'int', 'bigint', 'float8', 'numeric']);

function writeColumns(parts: Parts, { name, columns, items }: Columns): void {
  const values: string[] = [];
  const names: string[] = [];
  for (const [type, keys] of Object.entries(columns) as [ColumnType, readonly string[]][])
    for (const key of keys) {
      const column = items.map((item) => (item as Readonly<Record<string, unknown>>)[key]);
      if (column.includes(undefined)) throw new TypeError(`an item of ${name} has an undefined ${key}`);
      parts.values.push(columnText(type, column));
      values.push(`$${parts.types.push(0)}::${type}[]`);
      names.push(snakeCase(key));
    }
  parts.text += `unnest(${values.join(', ')}) AS ${name} (${names.join(', ')})`;
}

function columnText(type: ColumnType, values: readonly unknown[]): string | Buffer | null {
  if (bareTypes.has(type)) return bareArray(values as readonly (string | number | null)[]);
  if (type !== 'json' && type !== 'jsonb') return textOf(values);
  return textOf(values.map((value) => (value === null ? null : JSON.stringify(value))));
}

/** There are few names of columns: those in the code, and the numbered slots. */
const quotedColumns = new Map<string, string>();

function assigned(column: string): string {
  const known = quotedColumns.get(column);
  if (known !== undefined) return known;
  const quoted = quoteName(snakeCase(column));
  quotedColumns.set(column, quoted);
  return quoted;
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Stored once for each template, because the stack of a server's error contains none of our code.
 */
const origins = new WeakMap<readonly string[], string>();

function noteOrigin(strings: readonly string[], above: (...parameters: never[]) => unknown): void {
  if (origins.has(strings)) return;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 4;
  const here = { stack: '' };
  Error.captureStackTrace(here, above);
  Error.stackTraceLimit = stackTraceLimit;
  origins.set(strings, here.stack.slice(here.stack.indexOf('\n') + 1));
}
