// Renders any document for a person: a list as a table, fields as lines, and what is shown once
// apart from the rest. Pure.
import { inOneLine } from '../../ground/values/one-line.ts';

export interface Look {
  /** The fields that are shown, in this order. Absent: all. */
  readonly columns?: readonly string[] | undefined;
  /** Fields that are shown this once, such as a key. */
  readonly once?: readonly string[] | undefined;
  /** Sentences below the document. */
  readonly also?: readonly string[] | undefined;
}

/**
 * Makes text from the database safe for a terminal. What no name may hold becomes U+FFFD, so that
 * the text cannot move the cursor, break or reverse a line, or colour the rest (R-81).
 */
export function printable(text: string): string {
  return inOneLine(text, '\uFFFD');
}

/** Rows shown of a list within a document; `--json` has them all. */
const innerRowsMax = 20;

export function render(document: object, { columns, once = [], also = [] }: Look = {}): string {
  const { data, has_more: hasMore, ...fields } = document as Record<string, unknown>;
  const secrets = Object.entries(fields).filter(([name, value]) => once.includes(name) && value !== null);
  const paragraphs = isList(data)
    ? [listed(data, columns), ...(hasMore ? ['There are more; see them with: --limit'] : [])]
    : described(
        Object.entries(fields).filter(([name]) => !once.includes(name)),
        columns,
      );
  if (secrets.length > 0) paragraphs.push(lines(secrets, '  '), 'Shown this once.');
  return [...paragraphs, ...also].join('\n\n');
}

function described(
  all: readonly [string, unknown][],
  columns: readonly string[] = all.map(([name]) => name),
): string[] {
  const fields = all.filter(([name]) => columns.includes(name));
  const simple = fields.filter(([, value]) => !isList(value));
  const lists = fields.filter((field): field is [string, object[]] => isList(field[1]) && field[1].length > 0);
  return [
    ...(simple.length > 0 ? [lines(simple, '')] : []),
    ...lists.map(([name, rows]) => {
      const more = rows.length - innerRowsMax;
      return `${titleOf(name)}:\n${listed(rows.slice(0, innerRowsMax))}${more > 0 ? `\nand ${more} more` : ''}`;
    }),
  ];
}

function lines(fields: readonly (readonly [string, unknown])[], indent: string): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${indent}${titleOf(name).padEnd(width)}  ${cellOf(value)}`.trimEnd())
    .join('\n');
}

function listed(rows: readonly object[], columns?: readonly string[]): string {
  const [first] = rows;
  if (!first) return 'There is none.';
  const names = columns ?? Object.keys(first).filter((name) => !isList((first as Record<string, unknown>)[name]));
  return table(
    names.map((name) => titleOf(name).toUpperCase()),
    rows.map((row) => names.map((name) => cellOf((row as Record<string, unknown>)[name]))),
  );
}

/**
 * Formats rows as columns under their headings, two spaces apart. The last column is not padded.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows].map((row) => row.map(printable));
  const widths = headings.map((_heading, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function titleOf(name: string): string {
  return name.replaceAll('_', ' ');
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cellOf).join(' ');
  if (typeof value !== 'object') return printable(String(value));
  const fields = Object.entries(value);
  return fields.length === 0 ? '-' : fields.map(([name, each]) => `${titleOf(name)} ${cellOf(each)}`).join(', ');
}

/** A list of documents; a list of words is shown in one line. */
function isList(value: unknown): value is object[] {
  return Array.isArray(value) && (value.length === 0 || (typeof value[0] === 'object' && !(value[0] instanceof Date)));
}
