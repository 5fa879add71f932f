// Plans the columns that an index carries beside its own: those that segments compare together with
// it under one `and`. Such a filter is then counted from the index alone. Pure.

/** Columns that an app's segments compare under one `and`. */
export interface ColumnsTogether {
  readonly columns: readonly string[];
  /** Devices of the app, counted up to a maximum. */
  readonly devices: number;
}

/**
 * Carried columns of one index at most: each makes every entry longer, and every write of the
 * indexed column pays for that.
 */
const carriedMax = 4;

/**
 * Bytes that the carried columns may take. PostgreSQL refuses a row whose entry is longer than
 * 2,704 bytes; the app, a text of 1,024 bytes, the user and the platform's unit take the
 * rest.
 */
const carriedBytesMax = 1_500;

/**
 * The most bytes that a value of the column takes; for a text in UTF-8, including its length. A
 * column that is not named here is never carried.
 */
function bytesOf(column: string): number {
  if (/^(number|bool)_|_at$/.test(column)) return 8;
  if (/^text_/.test(column)) return 1_028;
  // A first name has at most 128 characters of three bytes; every other field of a device or user
  // has at most 64.
  return column === 'first_name' ? 388 : column === 'external_id' ? Number.POSITIVE_INFINITY : 196;
}

/**
 * Returns the columns that an index should carry, sorted by name. Columns that the index carries
 * already come first, so that the index is not rebuilt only to exchange them. Next come the columns
 * that serve the most devices. The columns of one `and` are carried together or not at all, because
 * one missing column makes the count read the rows.
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
