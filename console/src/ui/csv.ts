// CSV (RFC 4180) that is safe in a spreadsheet: a text never starts a formula, because it gets a
// leading apostrophe, which spreadsheets read as the mark of text. Numbers stay numbers. Pure.

type Cell = string | number | boolean | null | undefined;

/** Characters with which a spreadsheet starts a formula, or which it removes first. */
const beginsFormula = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

export function writeCsv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map((row) => `${row.map(writeCell).join(',')}\r\n`).join('');
}

function writeCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = beginsFormula.test(cell) ? `'${cell}` : cell;
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
