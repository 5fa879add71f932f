// A page of the catalog with the keys that an index serves now. In apps of ordinary size it also
// counts how many profiles have a value at this moment.
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import {
  type CatalogRow,
  countUsersByProperty,
  findCatalogRow,
  hasMoreUsersThan,
  listIndexedAudienceColumns,
  listProperties,
} from './queries.ts';

/**
 * Users up to which a count takes some milliseconds. Larger apps get the stored count, which is at
 * most an hour old.
 */
const usersCountedLiveMax = 10_000;

export interface CatalogPage {
  readonly rows: readonly CatalogRow[];
  readonly indexedColumns: ReadonlySet<string>;
}

/** Reads the catalog after a key. `search`: the beginning of a key. */
export async function listCatalog(
  sql: Sql,
  appId: Uuid,
  afterKey: string | null,
  limit: number,
  search: string | null = null,
): Promise<CatalogPage> {
  return withCounts(sql, appId, listProperties(sql, appId, afterKey, limit, search));
}

/** Reads one key. `rows` is empty when the catalog does not have it. */
export async function readCatalogKey(sql: Sql, appId: Uuid, key: string): Promise<CatalogPage> {
  const row = findCatalogRow(sql, appId, key);
  return withCounts(
    sql,
    appId,
    row.then((found) => (found ? [found] : [])),
  );
}

async function withCounts(sql: Sql, appId: Uuid, reading: Promise<readonly CatalogRow[]>): Promise<CatalogPage> {
  const [rows, indexedColumns, isLarge] = await Promise.all([
    reading,
    listIndexedAudienceColumns(sql),
    hasMoreUsersThan(sql, appId, usersCountedLiveMax),
  ]);
  if (isLarge) return { rows, indexedColumns };
  const counts = await countUsersByProperty(sql, appId);
  return { rows: rows.map((row) => ({ ...row, usersCount: counts.get(row.id) ?? 0 })), indexedColumns };
}
