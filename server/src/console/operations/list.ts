// Pages of the lists that people make by hand: apps, keys, tokens, members, webhooks, credentials,
// sessions. Each is read whole and cut here, because it is short; long lists are cut by SQL.
import { z } from 'zod';
import { type Cursors, type Page, type Position, pageQuery, toPage } from '../../ground/http/page.ts';
import { searchField } from './schemas.ts';

/** The query of a list without names to search for. */
export const listQuery = z.strictObject(pageQuery(200));

/** The query of a list that `q` searches. `words` names the searched fields. */
export function searchedListQuery(words: string) {
  return z.strictObject({ ...pageQuery(200), q: searchField.describe(words).optional() });
}

interface Asked {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly q?: string | undefined;
}

interface ListForm<Row, Item> {
  /** The list and its owner. A cursor is valid only for these. */
  readonly scope: readonly string[];
  /** Unique values by which the rows are ordered. */
  keyOf(row: Row): Position;
  readonly isNewestFirst?: boolean;
  /** The public id of a row, which `q` names exactly. */
  idOf(row: Row): string;
  /** Texts of a row. `q` may be the beginning of one, letter case ignored. */
  textsOf?(row: Row): readonly string[];
  present(row: Row): Item;
}

/** Selects the requested page of all rows. Throws the 400 for a foreign cursor. */
export function pageOf<Row, Item>(
  cursors: Cursors,
  rows: readonly Row[],
  { limit, cursor, q }: Asked,
  { scope, keyOf, isNewestFirst = false, idOf, textsOf = () => [], present }: ListForm<Row, Item>,
): Page<Item> {
  const direction = isNewestFirst ? -1 : 1;
  const compare = (a: Position, b: Position): number => direction * comparePositions(a, b);
  const bound = [...scope, q ?? null];
  const after = cursor === undefined ? undefined : cursors.read(cursor, bound);
  const wanted = q?.toLowerCase();
  const isFound = (row: Row): boolean =>
    wanted === undefined || idOf(row) === q || textsOf(row).some((text) => text.toLowerCase().startsWith(wanted));
  const shown = rows
    .filter((row) => isFound(row) && (after === undefined || compare(keyOf(row), after) > 0))
    .toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  return toPage(shown.slice(0, limit + 1), limit, present, (last) => cursors.write(keyOf(last), bound));
}

/** Both rows come from the same list, so values at the same place have the same type. Pure. */
function comparePositions(a: Position, b: Position): number {
  for (const [place, value] of a.entries()) {
    const other = b[place] ?? value;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}
