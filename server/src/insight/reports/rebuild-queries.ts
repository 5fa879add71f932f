// SQL: the time span of an app's events.
import { getRow, type Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/** Finds the times of the first and the last event of these names; undefined when there is none. */
export async function findEventRange(
  sql: Sql,
  appId: Uuid,
  names: readonly string[],
): Promise<{ first: Date; last: Date } | undefined> {
  const { first, last } = await getRow(sql<{ first: Date | null; last: Date | null }[]>`
    SELECT min(at) AS first, max(at) AS last FROM events WHERE app_id = ${appId} AND name = ANY(${names}::text[])`);
  return first && last ? { first, last } : undefined;
}
