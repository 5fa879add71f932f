// Pages of the catalog with the keys that an index serves now. In apps of ordinary size they also
// count how many profiles have a value at this moment.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Turns } from '../../ground/http/turns.ts';
import { createTogether } from '../../ground/pacing/together.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import {
  type CatalogRow,
  countUsersByProperty,
  countUsersUpTo,
  findCatalogRow,
  listIndexedAudienceColumns,
  listProperties,
} from './queries.ts';

/** Profiles by property; undefined for an app with too many users to count now. */
type Counts = ReadonlyMap<number, number> | undefined;

/**
 * Up to this number of users a count takes some milliseconds. Larger apps get the stored count,
 * which is at most an hour old (contract 5.4).
 */
const usersCountedLiveMax = 10_000;
/**
 * Up to this number of users every read counts, because counting costs less than the rest of the
 * read.
 */
const usersCountedAlwaysMax = 200;
/** Milliseconds for which the count of a larger app is shown again: 2,000 users take 20 ms (measured). */
const countShownMs = 1000;
/** Apps whose counts a process keeps. */
const appsCountedMax = 1_000;

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
  return countOnce(sql, countValues(sql, appId))(listProperties(sql, appId, afterKey, limit, search));
}

/** Reads one key. `rows` is empty when the catalog does not have it. */
export async function readCatalogKey(sql: Sql, appId: Uuid, key: string): Promise<CatalogPage> {
  const row = findCatalogRow(sql, appId, key);
  return countOnce(sql, countValues(sql, appId))(row.then((found) => (found ? [found] : [])));
}

export interface CatalogPlace {
  /** Null: the first page. */
  readonly afterKey: string | null;
  readonly limit: number;
}

/** Reads a page of an app's catalog. */
export type ReadCatalog = (appId: Uuid, place: CatalogPlace) => Promise<CatalogPage>;

/**
 * Creates a reader whose requests of one app share reads. A request that arrives during a read waits
 * for the next one, so every answer shows all keys from before its request (contract 1). Counts of an
 * app with many users may be a second older. An app has one read under way at a time.
 */
export function createCatalogReader({
  sql,
  clock,
  turns,
  waitMs,
}: {
  readonly sql: Sql;
  readonly clock: Pick<Clock, 'steadyMs'>;
  readonly turns: Turns;
  readonly waitMs: number;
}): ReadCatalog {
  const recent = new Map<Uuid, { readonly counts: Counts; readonly atMs: number }>();
  const count = async (appId: Uuid): Promise<Counts> => {
    const atMs = clock.steadyMs();
    const known = recent.get(appId);
    if (known && atMs - known.atMs < countShownMs) return known.counts;
    const { counts, users } = await countValuesAndUsers(sql, appId);
    recent.delete(appId);
    if (recent.size >= appsCountedMax) recent.clear();
    if (users > usersCountedAlwaysMax) recent.set(appId, { counts, atMs });
    return counts;
  };
  const line = createTogether<CatalogPlace, CatalogPage>(
    (appId, places) => turns.run(appId, () => readPages(sql, count(appId), appId, places)),
    { turnsMax: 1, itemsMax: placesAtOnce, waitMs },
  );
  return (appId, place) => line.run(appId, place);
}

/** A guess. An app that asks for more at once is served in several reads. */
const placesAtOnce = 100;

async function readPages(
  sql: Sql,
  counting: Promise<Counts>,
  appId: Uuid,
  places: readonly CatalogPlace[],
): Promise<readonly PromiseSettledResult<CatalogPage>[]> {
  const withCounts = countOnce(sql, counting);
  const pages = new Map<string, PromiseSettledResult<CatalogPage>>();
  const read: PromiseSettledResult<CatalogPage>[] = [];
  for (const { afterKey, limit } of places) {
    const place = JSON.stringify([afterKey, limit]);
    // Pages are read one after the other, because a turn may use only one connection.
    const page = pages.get(place) ?? (await settled(withCounts(listProperties(sql, appId, afterKey, limit))));
    pages.set(place, page);
    read.push(page);
  }
  return read;
}

async function settled<Result>(work: Promise<Result>): Promise<PromiseSettledResult<Result>> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome;
}

/** Reads indexes and counts once for all pages that are read at the same time. */
function countOnce(
  sql: Sql,
  counting: Promise<Counts>,
): (reading: Promise<readonly CatalogRow[]>) => Promise<CatalogPage> {
  const looking = Promise.all([listIndexedAudienceColumns(sql), counting]);
  return async (reading) => {
    const [rows, [indexedColumns, counts]] = await Promise.all([reading, looking]);
    if (counts === undefined) return { rows, indexedColumns };
    return { rows: rows.map((row) => ({ ...row, usersCount: counts.get(row.id) ?? 0 })), indexedColumns };
  };
}

async function countValues(sql: Sql, appId: Uuid): Promise<Counts> {
  return (await countValuesAndUsers(sql, appId)).counts;
}

async function countValuesAndUsers(
  sql: Sql,
  appId: Uuid,
): Promise<{ readonly counts: Counts; readonly users: number }> {
  const users = await countUsersUpTo(sql, appId, usersCountedLiveMax + 1);
  return { users, counts: users > usersCountedLiveMax ? undefined : await countUsersByProperty(sql, appId) };
}
