// SQL: whether each leaf of some filters is true of a few devices now, and the value that decides.
// The predicate is that of a send, for single rows.

import { type Fragment, getValue, type Sql, unprepared } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { CheckedFilter } from './check-filter.ts';
import { countedToSql } from './event-to-sql.ts';
import type { CheckedLeafOfAnyKind } from './explain-filter.ts';
import { filterToSql, operandColumn } from './filter-to-sql.ts';
import type { SqlContext } from './test-to-sql.ts';

export interface LeavesOfDevice {
  readonly deviceId: Uuid;
  readonly truths: readonly boolean[];
  /**
   * The value that each leaf compares; null: missing. For an event leaf `{count, last_at}`: the
   * events that it counts, and the instant of the latest one.
   */
  readonly actuals: readonly unknown[];
}

export interface LeafQuestion {
  readonly appId: Uuid;
  readonly deviceIds: readonly Uuid[];
  /** The users and devices whose events count for these devices. */
  readonly subjects: readonly Uuid[];
  readonly leaves: readonly CheckedLeafOfAnyKind[];
}

/** Reads the devices' audience rows and asks each leaf of them, in one statement. */
export async function askLeaves(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  { appId, deviceIds, subjects, leaves }: LeafQuestion,
): Promise<LeavesOfDevice[]> {
  const context: SqlContext = { tx: sql, appId, now: clock.now, subjects };
  const truths = leaves.map((leaf, i) => sql`${i === 0 ? sql`` : sql`,`} (${filterToSql(context, leaf)}) IS TRUE`);
  const actuals = leaves.map((leaf, i) => sql`${i === 0 ? sql`` : sql`,`} ${actualToSql(context, leaf)}`);
  return unprepared(sql`
    SELECT a.device_id, ARRAY[${truths}] AS truths, to_jsonb(ARRAY[${actuals}]) AS actuals
    FROM audience a WHERE a.app_id = ${appId} AND a.device_id = ANY(${deviceIds}::uuid[])`);
}

/** Counts, for each filter, the active devices among these that it selects now. One statement. */
export async function countSelected(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  {
    appId,
    deviceIds,
    subjects,
    filters,
  }: Omit<LeafQuestion, 'leaves'> & { readonly filters: readonly CheckedFilter[] },
): Promise<readonly number[]> {
  const context: SqlContext = { tx: sql, appId, now: clock.now, subjects };
  const counts = filters.map(
    (filter, i) => sql`${i === 0 ? sql`` : sql`,`} count(*) FILTER (WHERE ${filterToSql(context, filter)})::int`,
  );
  return getValue(
    unprepared(sql`
    SELECT ARRAY[${counts}] AS counts FROM audience a
    WHERE a.app_id = ${appId} AND a.active AND a.device_id = ANY(${deviceIds}::uuid[])`),
  );
}

function actualToSql(context: SqlContext, leaf: CheckedLeafOfAnyKind): Fragment {
  const { tx } = context;
  if (leaf.kind === 'event') return countedToSql(context, leaf);
  if ('builtin' in leaf.operand && leaf.operand.builtin === 'device.identified')
    return tx`to_jsonb(a.user_id IS NOT NULL)`;
  return tx`to_jsonb(${operandColumn(tx, leaf.operand)})`;
}
