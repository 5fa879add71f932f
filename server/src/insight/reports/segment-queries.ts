// SQL: the people with events in a range who are in a segment. One statement for any number of
// people, so that a filter's conditions on events are computed only once.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { CheckedFilter } from '../../people/audience/check-filter.ts';
import { filterToSql } from '../../people/audience/filter-to-sql.ts';
import type { AttributedName } from './attribution.ts';
import type { Range } from './periods.ts';

/**
 * Lists the devices that a filter matches now, active or not, among the devices of a range's events
 * and all devices of the users of these events and devices. At most `limit`.
 */
export async function listDevicesInSegment(
  { tx, clock, appId }: { tx: Tx; clock: Clock; appId: Uuid },
  filter: CheckedFilter,
  of: { readonly names: readonly AttributedName[]; readonly range: Range; readonly limit: number },
): Promise<{ deviceId: Uuid; userId: Uuid | null }[]> {
  const { names, range, limit } = of;
  const matches = filterToSql({ tx, appId, now: clock.now }, filter);
  return tx`
    WITH of_range AS MATERIALIZED (
      SELECT DISTINCT device_id, external_id FROM events
      WHERE app_id = ${appId} AND name = ANY(${names as AttributedName[]}::text[])
        AND at >= ${new Date(range.fromMs)} AND at < ${new Date(range.toMs)}
    ), users_of_range AS (
      SELECT external_id FROM of_range WHERE external_id IS NOT NULL
      UNION
      SELECT o.external_id FROM of_range r JOIN audience o ON o.app_id = ${appId} AND o.device_id = r.device_id
      WHERE r.external_id IS NULL AND o.user_id IS NOT NULL
    ), devices_of_range AS MATERIALIZED (
      SELECT device_id FROM of_range WHERE device_id IS NOT NULL
      UNION
      SELECT o.device_id FROM users_of_range u JOIN audience o ON o.app_id = ${appId} AND o.external_id = u.external_id
    )
    SELECT a.device_id, a.user_id FROM devices_of_range d JOIN audience a ON a.app_id = ${appId} AND a.device_id = d.device_id
    WHERE ${matches} LIMIT ${limit}`;
}
