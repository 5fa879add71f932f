// SQL: the different values of one column over an app's active devices: of a text column one after
// the other from an index, and of any column the frequent ones. No statement reads all devices.

import { beginsWith, findRow, getValue, listValues, type Sql, unprepared } from '@carillon/postgres';
import { nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Operand, Test } from './check-filter.ts';
import { operandColumn } from './filter-to-sql.ts';
import { indexPrefix } from './index-queries.ts';
import type { AudienceContext } from './queries.ts';
import { testToSql } from './test-to-sql.ts';

/** A text column, and the part that is looked for. */
export interface TextPart {
  /** A known word or a slot, never a caller's text. */
  readonly column: string;
  readonly test: Test;
}

interface PlanNode {
  readonly 'Plan Rows': number;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

export interface ExpectedValues {
  readonly values: number;
  /** The number of devices that the plan reads; in a parallel plan, of one process. */
  readonly devices: number;
}

/**
 * Returns how many values and devices the planner expects, or null when it would not read them from
 * the column's own index.
 */
export async function estimateValues({ tx, appId }: AudienceContext, column: string): Promise<ExpectedValues | null> {
  const [{ Plan: plan }] = await getValue<[{ Plan: PlanNode }]>(tx`
    EXPLAIN (FORMAT JSON) SELECT a.${tx(column)} FROM audience a
    WHERE a.app_id = ${appId} AND a.active AND a.${tx(column)} IS NOT NULL GROUP BY a.${tx(column)}`);
  const devices = rowsOfIndex(plan, indexPrefix + column);
  return devices !== undefined ? { values: plan['Plan Rows'], devices } : null;
}

function rowsOfIndex(node: PlanNode, index: string): number | undefined {
  if (node['Index Name'] === index) return node['Plan Rows'];
  for (const inner of node.Plans ?? []) {
    const rows = rowsOfIndex(inner, index);
    if (rows !== undefined) return rows;
  }
  return undefined;
}

export interface NextValue {
  readonly value: string;
  readonly isMatch: boolean;
}

/**
 * Finds the first value after `after` (null: the very first), and whether it contains the part.
 * Compares as on a device's row.
 */
export async function findNextValue(
  { tx, clock, appId }: AudienceContext,
  { column, test }: TextPart,
  after: string | null,
): Promise<NextValue | undefined> {
  const value = tx`a.${tx(column)}`;
  // No text sorts before the empty text.
  return findRow(tx`
    SELECT ${value} AS value, ${testToSql(tx, nowOf(tx, clock), value, test)} AS is_match FROM audience a
    WHERE a.app_id = ${appId} AND a.active AND ${after === null ? tx`${value} >= ''` : tx`${value} > ${after}::text`}
    ORDER BY ${value} LIMIT 1`);
}

/**
 * The number of devices that `listFrequentValues` reads. An index finds them within milliseconds.
 */
const devicesLookedAt = 5_000;

interface FrequentQuestion {
  readonly operand: Operand;
  readonly type: 'string' | 'number';
  /** The beginning of a value; null: any value. */
  readonly search: string | null;
}

/** Lists the values that the newest active devices have most often. */
export async function listFrequentValues(
  { sql, appId }: { readonly sql: Sql; readonly appId: Uuid },
  { operand, type, search }: FrequentQuestion,
  limit: number,
): Promise<(string | number)[]> {
  const begins =
    search === null
      ? sql``
      : type === 'string'
        ? sql`AND ${beginsWith(sql, sql`lower(value)`, search)}`
        : sql`AND starts_with(value::text, ${search}::text)`;
  return listValues(
    unprepared(sql`
    SELECT value
    FROM (
      SELECT ${operandColumn(sql, operand)} AS value FROM audience a WHERE a.app_id = ${appId} AND a.active
      ORDER BY a.created_at DESC, a.device_id DESC LIMIT ${devicesLookedAt}
    ) AS newest
    WHERE value IS NOT NULL ${begins}
    GROUP BY value ORDER BY count(*) DESC, value LIMIT ${limit}`),
  );
}
