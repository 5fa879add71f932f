// Cells of a CSV (RFC 4180) that a spreadsheet takes for what they are. Text that a caller wrote never begins a formula there: it
// gets an apostrophe before it, which spreadsheets know as the mark of text. Numbers stay numbers, negative ones too. Pure.

/**
 * By what a spreadsheet begins a formula, or a cell of its own (OWASP, CSV Injection): the signs, their full-width forms, and
 * characters that some spreadsheets drop before they look.
 */
const formula = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]';
const beginsFormula = new RegExp(`^'*${formula}`);
const isMarked = new RegExp(`^'+${formula}`);

/** Text as a cell. `readTextCell` gives it back, whatever it begins with. */
export function textCell(text: string): string {
  return beginsFormula.test(text) ? `'${text}` : text;
}

/** The text of a cell that `textCell` made; another cell is its own text. */
export function readTextCell(cell: string): string {
  return isMarked.test(cell) ? cell.slice(1) : cell;
}

/** A cell as it is written: in quotes where it needs them, also where a semicolon or a tab separates cells. */
export function writeCell(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
