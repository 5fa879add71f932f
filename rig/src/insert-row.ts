// One row into any table, for tests that write what the service would take long to make.
import type { Sql } from '@carillon/postgres';
import type { Value } from '../../packages/postgres/src/db.ts';

type Cell = Value | Readonly<Record<string, unknown>>;

/** Columns are in snake_case, or in camelCase as rows are read. An object goes into a document. */
export async function insertRow(sql: Sql, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = Object.keys(row).map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const values = (Object.values(row) as Cell[]).map((cell, index) => {
    const value = isDocument(cell) ? sql.json(cell) : (cell as Value);
    return index === 0 ? sql`${value}` : sql`, ${value}`;
  });
  await sql`INSERT INTO ${sql(table)} (${sql(columns)}) VALUES (${values})`;
}

const isDocument = (cell: Cell): boolean =>
  typeof cell === 'object' && cell !== null && Object.getPrototypeOf(cell) === Object.prototype;
