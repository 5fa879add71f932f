// Cells of a CSV (RFC 4180) that are safe in a spreadsheet. A caller's text never starts a formula:
// it gets a leading apostrophe, which spreadsheets read as the mark of text. Numbers stay numbers,
// negative ones too. Pure.

/**
 * Characters with which a spreadsheet starts a formula or a new cell (OWASP, CSV Injection): the
 * signs, their full-width forms, and characters that some spreadsheets remove first.
 */
const formula = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]';
const beginsFormula = new RegExp(`^'*${formula}`);
const isMarked = new RegExp(`^'+${formula}`);

/** A text as a cell. `readTextCell` returns the same text, whatever it begins with. */
export function textCell(text: string): string {
  return beginsFormula.test(text) ? `'${text}` : text;
}

/** The text of a cell that `textCell` wrote; any other cell is its own text. */
export function readTextCell(cell: string): string {
  return isMarked.test(cell) ? cell.slice(1) : cell;
}

/**
 * Writes a cell, in quotes when it needs them. A semicolon and a tab need them too, because they
 * separate cells in some programs.
 */
export function writeCell(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes a row with its line end. Null is an empty cell. */
export function writeRow(cells: readonly (string | number | null)[]): string {
  return `${cells.map((cell) => (cell === null ? '' : writeCell(String(cell)))).join(',')}\r\n`;
}
