// Reports as CSV, for a spreadsheet: the rows of the JSON answer, with a column for each path into
// them. Pure.

import { Answer } from '../../ground/http/server.ts';
import { textCell, writeRow } from '../../ground/values/csv.ts';

/** Columns of texts from a caller, which must not begin a formula. */
const textColumns: ReadonlySet<string> = new Set(['name', 'title']);

/**
 * Builds an answer of status 200. A column is a path into the rows, such as `direct.amount`, which
 * is headed `direct_amount`. It is empty where a row has no value.
 */
export function csvAnswer(
  columns: readonly string[],
  rows: readonly object[],
  nextCursor: string | null = null,
): Answer<200> {
  const lines = [
    columns.map((column) => column.replaceAll('.', '_')),
    ...rows.map((row) => columns.map((column) => cellAt(row, column))),
  ];
  const cursor: Record<string, string> = nextCursor === null ? {} : { 'x-next-cursor': nextCursor };
  return new Answer(200, { 'content-type': 'text/csv; charset=utf-8', ...cursor }, lines.map(writeRow).join(''));
}

function cellAt(row: object, column: string): string | number | null {
  let value: unknown = row;
  for (const key of column.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[key];
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'string') return textColumns.has(column) ? textCell(value) : value;
  return typeof value === 'number' ? value : null;
}

/**
 * Returns whether the caller asks for CSV by name and does not prefer JSON. Every other request
 * gets JSON.
 */
export function wantsCsv(accept: readonly string[]): boolean {
  let csv = 0;
  let json = 0;
  for (const range of accept.join(',').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const quality = given === undefined ? 1 : Number(given);
    if (!(quality > 0)) continue;
    if (type === 'text/csv') csv = Math.max(csv, quality);
    if (type === 'application/json') json = Math.max(json, quality);
  }
  return csv > json;
}
