// The short forms of an answer: its first row, its one value, its one column. Each takes a
// statement, and the function that asks says the type.

type Asked = PromiseLike<readonly object[]>;

/** The first row; undefined when there is none. */
export async function findRow<Row extends object>(asked: PromiseLike<readonly Row[]>): Promise<Row | undefined> {
  return (await asked)[0];
}

/** The first row of a statement that always returns one. */
export async function getRow<Row extends object>(asked: PromiseLike<readonly Row[]>): Promise<Row> {
  const [row] = await asked;
  if (!row) throw new Error('a statement that always returns a row returned none');
  return row;
}

/** The first column of the first row; undefined when there is none. */
export async function findValue<Value>(asked: Asked): Promise<Value | undefined> {
  const [row] = await asked;
  return row && firstOf<Value>(row);
}

/** The first column of the first row of a statement that always returns one. */
export async function getValue<Value>(asked: Asked): Promise<Value> {
  return firstOf<Value>(await getRow(asked));
}

/** The first column of every row. */
export async function listValues<Value>(asked: Asked): Promise<Value[]> {
  return Array.from(await asked, firstOf<Value>);
}

function firstOf<Value>(row: object): Value {
  return Object.values(row)[0];
}
