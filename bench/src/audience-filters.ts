// The eight filters that audiences are measured by. Each has the form that a caller writes and the
// form of a count over JSONB.
import type { Fragment, Sql } from '@carillon/postgres';
import type { Uuid } from '../../server/src/ground/values/ids.ts';

export interface MeasuredFilter {
  readonly name: string;
  readonly filter: object;
  /** The condition over a table that keeps all properties in one JSONB column. */
  readonly jsonb: (sql: Sql) => Fragment;
  /** The filter matches few devices, so an index alone should answer it. */
  readonly isSelective: boolean;
}

const leaf = (field: string, op: string, value?: unknown): object =>
  value === undefined ? { field, op } : { field, op, value };

/**
 * The eight filters. `seenAfter` is an hour before the audience was made: a fixed time, so that
 * both sides count the same devices.
 */
export const measuredFilters = (seenAfter: Date): readonly MeasuredFilter[] => [
  {
    name: 'equals 0.1 %',
    filter: leaf('properties.campaign', 'eq', 'c-123'),
    jsonb: (sql) => sql`properties ->> 'campaign' = 'c-123'`,
    isSelective: true,
  },
  {
    name: 'equals 80 %',
    filter: leaf('properties.plan', 'eq', 'free'),
    jsonb: (sql) => sql`properties ->> 'plan' = 'free'`,
    isSelective: false,
  },
  {
    name: 'range 17 %',
    filter: { and: [leaf('properties.score', 'gte', 10), leaf('properties.score', 'lt', 27)] },
    jsonb: (sql) => sql`(properties ->> 'score')::float8 >= 10 AND (properties ->> 'score')::float8 < 27`,
    isSelective: false,
  },
  {
    name: 'AND of 3',
    filter: {
      and: [leaf('properties.plan', 'eq', 'free'), leaf('country', 'eq', 'DE'), leaf('properties.age', 'gt', 30)],
    },
    jsonb: (sql) => sql`properties ->> 'plan' = 'free' AND country = 'DE' AND (properties ->> 'age')::float8 > 30`,
    isSelective: false,
  },
  {
    name: 'OR + NOT',
    filter: { or: [leaf('properties.plan', 'eq', 'team'), { not: leaf('properties.newsletter', 'eq', true) }] },
    jsonb: (sql) => sql`(properties ->> 'plan' = 'team' OR (properties ->> 'newsletter')::boolean IS NOT TRUE)`,
    isSelective: false,
  },
  {
    name: 'exists 2 %',
    filter: leaf('properties.referrer', 'exists'),
    jsonb: (sql) => sql`properties ? 'referrer'`,
    isSelective: true,
  },
  {
    name: 'platform + last seen',
    filter: {
      and: [leaf('device.platform', 'eq', 'ios'), leaf('device.last_seen_at', 'after', seenAfter.toISOString())],
    },
    jsonb: (sql) => sql`platform = 'ios' AND last_seen_at > ${seenAfter}`,
    isSelective: true,
  },
  {
    name: 'contains',
    filter: leaf('properties.city', 'contains', 'burg'),
    jsonb: (sql) => sql`strpos(properties ->> 'city', 'burg') > 0`,
    isSelective: false,
  },
];

/**
 * A filter over every measured key and the other keys of the catalog, so that the service builds
 * all their indexes.
 */
export const usedFilter = (measured: readonly MeasuredFilter[]): object => ({
  or: [
    ...measured.map(({ filter }) => filter),
    leaf('properties.topic', 'exists'),
    leaf('properties.orders', 'exists'),
    leaf('properties.tier', 'exists'),
  ],
});

/** The number of matching devices, counted over JSONB. */
export async function countOverJsonb(sql: Sql, appId: Uuid, { jsonb }: MeasuredFilter): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*) AS count FROM bench_jsonb WHERE app_id = ${appId} AND active AND ${jsonb(sql)}`;
  return row?.count ?? 0;
}
