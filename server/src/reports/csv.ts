// Rows as CSV (RFC 4180): for whoever opens a report in a spreadsheet. What a caller wrote is never a formula there. Pure.
import { Answer } from '../platform/http-server.ts';

export type Cell = string | number | null;

/** A name that somebody gave: in a spreadsheet it shall stay text, whatever it begins with. */
export function textCell(text: string): string {
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}

/** An answer of status 200. `further`: headers beside the content type. */
export function csvAnswer(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  further: Readonly<Record<string, string>> = {},
): Answer {
  const lines = [columns, ...rows].map((cells) => cells.map(writeCell).join(','));
  return new Answer(200, { 'content-type': 'text/csv; charset=utf-8', ...further }, `${lines.join('\r\n')}\r\n`);
}

function writeCell(cell: Cell): string {
  const text = cell === null ? '' : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Does the caller ask for CSV by name, and not for JSON rather? What is not asked for by name is JSON. */
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
