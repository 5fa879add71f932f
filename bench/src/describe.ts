// Prints results: every work's figures are rows of the same table.

import { figuresOf, othersOf } from './figures.ts';
import type { Part } from './profile.ts';
import type { Figure, Result } from './results.ts';

/** Busy cores below this are the background work of an idle system. */
const busyCores = 0.2;

/** The columns of every work. A column that is empty in every row is omitted. */
const columns: readonly (readonly [title: string, cell: (figure: Figure) => string | number])[] = [
  ['FIGURE', ({ name }) => name],
  ['VALUE', ({ value }) => value],
  ['', ({ unit }) => unit],
  ['RATIO', ({ ratio }) => (ratio === undefined ? '' : `${ratio} ×`)],
  ['WANTED', wanted],
  ['', (figure) => (isMissed(figure) ? 'MISSED' : '')],
];

function wanted({ atMost, atLeast }: Figure): string {
  if (typeof atMost === 'number') return `≤ ${atMost}`;
  return typeof atLeast === 'number' ? `≥ ${atLeast}` : '';
}

function isMissed({ value, atMost, atLeast }: Figure): boolean {
  if (typeof value === 'string') return false;
  return (typeof atMost === 'number' && value > atMost) || (typeof atLeast === 'number' && value < atLeast);
}

/** The whole result. Figures of a smoke run mean nothing, so no targets are shown with them. */
export function describe(result: Result, parts: readonly Part[]): string {
  const { work, params, machine, commit } = result;
  const { quick: isQuick, ...sizes } = params;
  const figures = figuresOf(result, parts);
  const others = othersOf(result);
  return [
    `${work}: ${Object.entries(sizes)
      .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
      .join(', ')}`,
    '',
    table(isQuick === true ? figures.map(({ atMost: _most, atLeast: _least, ...figure }) => figure) : figures),
    '',
    ...(others > busyCores
      ? [`Other programs kept ${others} cores busy: these are not the figures of an idle machine.`]
      : []),
    `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}${machine.postgres === null ? '' : `, PostgreSQL ${machine.postgres}`}, commit ${commit}`,
  ].join('\n');
}

/** The first figure of a result, for a line. */
export function describeChief(result: Result): string {
  const [chief] = figuresOf(result);
  return chief === undefined ? '' : `${chief.name} ${chief.value} ${chief.unit}`.trimEnd();
}

/** Columns are as wide as their widest cell; numbers are aligned right. */
function table(figures: readonly Figure[]): string {
  const filled = columns
    .map(([title, cell]) => [title, ...figures.map(cell)])
    .filter(([, ...cells]) => cells.some((cell) => cell !== ''));
  const widths = filled.map((cells) => Math.max(...cells.map((cell) => String(cell).length)));
  const pad = (cell: string | number, width: number): string =>
    typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
  return [undefined, ...figures]
    .map((_, row) => `  ${filled.map((cells, i) => pad(cells[row] ?? '', widths[i] ?? 0)).join('  ')}`.trimEnd())
    .join('\n');
}
