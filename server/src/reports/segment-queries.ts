// SQL: who of some people is in a segment. Only the audience's own table is asked, and only about these.
import type { CheckedFilter } from '../audience/check-filter.ts';
import { filterToSql } from '../audience/filter-to-sql.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/** The devices among these, and of these users, that a filter matches now, whether they can be reached or not. */
export async function listDevicesInSegment(
  { tx, clock, appId }: { tx: Tx; clock: Clock; appId: Uuid },
  filter: CheckedFilter,
  of: { readonly deviceIds: readonly Uuid[]; readonly externalIds: readonly string[] },
): Promise<{ deviceId: Uuid; userId: Uuid | null }[]> {
  const matches = filterToSql({ tx, appId, now: clock.now }, filter);
  return tx<{ deviceId: Uuid; userId: Uuid | null }[]>`
    SELECT a.device_id, a.user_id FROM audience a
    WHERE a.app_id = ${appId} AND (a.device_id = ANY(${of.deviceIds as Uuid[]}::uuid[])
      OR a.external_id = ANY(${of.externalIds as string[]}::text[])) AND ${matches}`;
}
