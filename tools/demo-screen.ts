// The demo's output on a terminal: steps, tables and timelines. Colours are used only when a person
// looks at them.
import { stripVTControlCharacters, styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

const isColoured =
  process.env['FORCE_COLOR'] !== undefined || (process.stdout.isTTY && process.env['NO_COLOR'] === undefined);

export function paint(style: Style, text: string): string {
  return isColoured ? styleText(style, text) : text;
}

let isSilent = false;

/** Suppresses all further output, because the demo was interrupted. */
export function silence(): void {
  isSilent = true;
}

export function print(line = ''): void {
  if (isSilent) return;
  process.stdout.write(line === '' ? '\n' : `  ${line}\n`);
}

export function heading(text: string): void {
  print();
  print(paint('bold', text));
  print();
}

/** Shows a step that takes a moment: its name, then its result and duration. */
export async function step<Result>(
  name: string,
  work: () => Promise<Result>,
  tell: (result: Result) => string,
): Promise<Result> {
  const startedAt = performance.now();
  const label = pad(name, 10);
  if (process.stdout.isTTY && !isSilent) process.stdout.write(`  ${paint('dim', `… ${label}`)}\r`);
  try {
    const result = await work();
    const seconds = (performance.now() - startedAt) / 1000;
    print(`${paint('green', '✓')} ${paint('bold', label)} ${tell(result)}  ${paint('dim', `${seconds.toFixed(1)} s`)}`);
    return result;
  } catch (error) {
    print(`${paint('red', '✗')} ${paint('bold', label)}`);
    throw error;
  }
}

/**
 * A framed table with headings. Columns of numbers are aligned right; the last row may be a sum.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[], hasSum = false): void {
  const widths = headings.map((name, i) => Math.max(widthOf(name), ...rows.map((row) => widthOf(row[i] ?? ''))));
  const isNumber = headings.map((_name, i) => rows.every((row) => /^\d*$/.test(row[i] ?? '')));
  const rule = (left: string, middle: string, right: string): string =>
    paint('dim', left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right);
  const line = (cells: readonly string[], style?: Style): string => {
    const bar = paint('dim', '│');
    const padded = cells.map((cell, i) => pad(cell, widths[i] ?? 0, isNumber[i] ?? false));
    return `${bar} ${padded.map((cell) => (style ? paint(style, cell) : cell)).join(` ${bar} `)} ${bar}`;
  };
  print(rule('┌', '┬', '┐'));
  print(line(headings, 'bold'));
  print(rule('├', '┼', '┤'));
  rows.forEach((row, i) => {
    const isSum = hasSum && i === rows.length - 1;
    if (isSum) print(rule('├', '┼', '┤'));
    print(isSum ? line(row, 'bold') : line(row));
  });
  print(rule('└', '┴', '┘'));
}

export function pad(text: string, width: number, toRight = false): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return toRight ? spaces + text : text + spaces;
}

// Terminals give East Asian characters two columns (Unicode TR11), and combining characters none.
function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text).normalize('NFC')) {
    if (/\p{Mn}/u.test(character)) continue;
    const isWide = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/.test(
      character,
    );
    width += isWide ? 2 : 1;
  }
  return width;
}
