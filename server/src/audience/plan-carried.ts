// What an index carries beside its own column: what segments compare together with it under one `and`, so that such a filter is counted
// out of the index alone. Pure.

/** Columns that an app's segments compare under one `and`. */
export interface ColumnsTogether {
  readonly columns: readonly string[];
  /** Of the app, counted up to a great number. */
  readonly devices: number;
}

/** Each makes every entry longer, in an index that every write of the column pays for. */
const carriedMax = 4;

/**
 * An entry has at most 2,704 bytes (PostgreSQL refuses the row otherwise): the app, a text of 1,024 bytes, the user's number and
 * the platform's unit leave so many.
 */
const carriedBytesMax = 1_500;

/** The most that a value takes: of a text in UTF-8, with its length. Columns that are not named here are not carried. */
function bytesOf(column: string): number {
  if (/^(number|bool)_|_at$/.test(column)) return 8;
  if (/^text_/.test(column)) return 1_028;
  // A first name has at most 128 characters of three bytes, every other field of a device or user at most 64.
  return column === 'first_name' ? 388 : column === 'external_id' ? Number.POSITIVE_INFINITY : 196;
}

/**
 * What an index over a column should carry, in order of names. What it carries already comes first, so that it is not built anew to carry
 * something else instead; then what serves the most devices. All that stands under an `and` is carried, or nothing of it: else
 * the rows would be read all the same.
 */
export function planCarried(
  column: string,
  together: readonly ColumnsTogether[],
  built: readonly string[],
): readonly string[] {
  const others = together
    .filter(({ columns }) => columns.includes(column))
    .map(({ columns, devices }) => ({ columns: columns.filter((one) => one !== column), devices }))
    .map((one) => ({ ...one, isBuilt: one.columns.every((other) => built.includes(other)) }))
    .sort(
      (one, other) =>
        Number(other.isBuilt) - Number(one.isBuilt) ||
        other.devices - one.devices ||
        one.columns.length - other.columns.length ||
        (one.columns.join() < other.columns.join() ? -1 : 1),
    );
  let carried = new Set<string>();
  for (const { columns } of others) {
    const more = new Set([...carried, ...columns]);
    const bytes = [...more].reduce((sum, one) => sum + bytesOf(one), 0);
    if (more.size <= carriedMax && bytes <= carriedBytesMax) carried = more;
  }
  return [...carried].sort();
}
