// Writes rows as text, one record each: NDJSON with all fields, or CSV (RFC 4180) with the named
// columns. Text that would begin a formula is marked as text (`values/csv`), and `import` removes
// the mark. Pure.
import { readTextCell, textCell, writeRow } from '../../ground/values/csv.ts';
import type { Row, Table } from './export-tables.ts';

export const formatNames = ['ndjson', 'csv'] as const;
export type FormatName = (typeof formatNames)[number];

export interface RowFormat {
  /** The text before the first row. */
  readonly head: string;
  write(row: Row): string;
  /** Reads the key of a written row; undefined: the text is no row of this table. */
  readKey(record: string): string[] | undefined;
}

export function rowFormat(name: FormatName, { key, columns }: Table): RowFormat {
  if (name === 'ndjson') {
    return {
      head: '',
      write: (row) => `${JSON.stringify(row)}\n`,
      readKey(record) {
        const row = readObject(record);
        const cells = key.map((column) => row?.[column]);
        return cells.every((cell) => typeof cell === 'string') ? cells : undefined;
      },
    };
  }
  return {
    head: writeRow(columns),
    write: (row) => writeRow(columns.map((column) => textOf(cellOf(row, column)))),
    readKey(record) {
      // The cells of the key come first, and further cells follow, so each ends at a comma.
      const cells: string[] = [];
      let rest = record;
      for (const _column of key) {
        const [whole, quoted, plain] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*)),/.exec(rest) ?? [];
        if (whole === undefined) return undefined;
        cells.push(readTextCell(quoted?.replaceAll('""', '"') ?? plain ?? ''));
        rest = rest.slice(whole.length);
      }
      return cells;
    },
  };
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function cellOf(row: Row, column: string): unknown {
  const [, key] = /^properties\.([^:]+):/.exec(column) ?? [];
  if (key === undefined) return row[column];
  const properties = row['properties'] as Record<string, unknown>;
  return Object.hasOwn(properties, key) ? properties[key] : null;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? textCell(value) : String(value);
}
