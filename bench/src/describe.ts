// Prints results: every work's figures are rows of the same table.
import type { Figure } from './figures.ts';
import type { Result } from './results.ts';

/** Busy cores below this are the background work of an idle system. */
const busyCores = 0.2;

/** The columns of every work. A column that is empty in every row is omitted. */
const columns: readonly (readonly [title: string, cell: (figure: Figure) => string | number])[] = [
  ['FIGURE', ({ name, beside }) => (beside ? `${name}, beside ${beside.side}` : name)],
  ['VALUE', ({ value }) => value],
  ['', ({ unit }) => unit],
  ['BESIDE', ({ beside }) => beside?.value ?? ''],
  ['RATIO', ({ beside }) => (beside ? `${beside.ratio} ×` : '')],
  ['WANTED', wanted],
  ['', (figure) => (isMissed(figure) ? 'MISSED' : '')],
];

function wanted({ beside, atMost, atLeast }: Figure): string {
  const unit = beside ? ' ×' : '';
  if (atMost !== undefined) return `≤ ${atMost}${unit}`;
  return atLeast === undefined ? '' : `≥ ${atLeast}${unit}`;
}

function isMissed({ value, beside, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Figure): boolean {
  const judged = beside?.ratio ?? value;
  return typeof judged === 'number' && (judged > atMost || judged < atLeast);
}

/** The whole result. Figures of a smoke run mean nothing, so no targets are shown with them. */
export function describe({ work, params, figures, machine, commit, foreign_cores: others = 0 }: Result): string {
  const { quick: isQuick, ...sizes } = params;
  const shown = isQuick ? figures.map(({ atMost: _most, atLeast: _least, ...figure }) => figure) : figures;
  return [
    `${work}: ${Object.entries(sizes)
      .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
      .join(', ')}`,
    '',
    table(shown),
    '',
    ...(others > busyCores
      ? [`Other programs kept ${others} cores busy: these are not the figures of an idle machine.`]
      : []),
    `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}${machine.postgres === null ? '' : `, PostgreSQL ${machine.postgres}`}, commit ${commit}`,
  ].join('\n');
}

/** The first figure of a result, for a line. */
export function describeChief({ figures: [chief] }: Result): string {
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
