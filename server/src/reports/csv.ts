// Reports as CSV, for a spreadsheet. Cells with names from a caller are built with `textCell`.
// Pure.
import { writeRow } from '../ground/csv.ts';
import { Answer } from '../http/server.ts';

export type Cell = string | number | null;

/** Builds an answer of status 200. `further`: headers in addition to the content type. */
export function csvAnswer(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  further: Readonly<Record<string, string>> = {},
): Answer<200> {
  const text = [columns, ...rows].map(writeRow).join('');
  return new Answer(200, { 'content-type': 'text/csv; charset=utf-8', ...further }, text);
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
