// SQL: the latest events of an app, for people who watch them arrive.

import { listValues, type Sql, unprepared } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { SubjectEvent } from './history-queries.ts';

export interface ArrivedEvent extends SubjectEvent {
  readonly name: string;
}

/** Lists the names of an app's latest events. */
export async function listLastNames(sql: Sql, appId: Uuid, limit: number): Promise<string[]> {
  return listValues(sql`
    SELECT name FROM (
      SELECT name, last_at FROM event_names WHERE app_id = ${appId}
      UNION ALL
      SELECT name, last_at FROM rollup_deltas WHERE app_id = ${appId}
    ) AS counted
    GROUP BY name ORDER BY max(last_at) DESC, name LIMIT ${limit}`);
}

const daysBack = 7;

/**
 * Lists the last events of these names within a week by their own time, up to `limit` of each name.
 * The last received event comes first. Events of the subjects in `erased` are omitted.
 */
export async function listLastEvents(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  names: readonly string[],
  { erased, limit }: { readonly erased: readonly Uuid[]; readonly limit: number },
): Promise<ArrivedEvent[]> {
  const ofNobodyErased = erased.length === 0 ? sql`` : sql`AND subject_id <> ALL(${erased}::uuid[])`;
  // One part for each name: the index by name and time gives the last rows without a sort.
  const parts = names.map(
    (name, i) => sql`${i === 0 ? sql`` : sql`UNION ALL`} (
      SELECT id, name, at, device_id, external_id, properties FROM events
      WHERE app_id = ${appId} AND name = ${name} AND at > ${clock.now} - ${daysBack} * interval '1 day'
        ${ofNobodyErased}
      ORDER BY at DESC LIMIT ${limit})`,
  );
  // The id is minted when the event is received, so its order is that of receiving.
  return unprepared(sql`SELECT * FROM (${parts}) AS last ORDER BY id DESC`);
}
