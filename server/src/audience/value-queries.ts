// SQL: the different values of one column of text over an app's active devices, one behind the other as an index holds them. Never reads
// all devices to find them.
import { nowOf } from '../platform/clock.ts';
import type { Test } from './check-filter.ts';
import { indexPrefix } from './index-queries.ts';
import type { AudienceContext } from './queries.ts';
import { testToSql } from './test-to-sql.ts';

/** A column of text, and the part of it that is looked for. */
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
  /** Where processes share the work, of one of them. */
  readonly devices: number;
}

/**
 * How many values does the planner expect, and how many devices with one, where it would read them by the column's own index?
 * Null: it would not.
 */
export async function estimateValues({ tx, appId }: AudienceContext, column: string): Promise<ExpectedValues | null> {
  const [row] = await tx<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>`
    EXPLAIN (FORMAT JSON) SELECT a.${tx(column)} FROM audience a
    WHERE a.app_id = ${appId} AND a.active AND a.${tx(column)} IS NOT NULL GROUP BY a.${tx(column)}`;
  const plan = Object.values(row ?? {})[0]?.[0]?.Plan;
  const devices = plan && rowsOfIndex(plan, indexPrefix + column);
  return plan && devices !== undefined ? { values: plan['Plan Rows'], devices } : null;
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

/** The first value behind another one, null: of all, and whether the part is found in it, by the same comparison as on a device's row. */
export async function findNextValue(
  { tx, clock, appId }: AudienceContext,
  { column, test }: TextPart,
  after: string | null,
): Promise<NextValue | undefined> {
  const value = tx`a.${tx(column)}`;
  // No text comes before the empty one.
  const [row] = await tx<NextValue[]>`
    SELECT ${value} AS value, ${testToSql(tx, nowOf(tx, clock), value, test)} AS is_match FROM audience a
    WHERE a.app_id = ${appId} AND a.active AND ${after === null ? tx`${value} >= ''` : tx`${value} > ${after}::text`}
    ORDER BY ${value} LIMIT 1`;
  return row;
}
