// Translates an event leaf into a condition over the person of an audience row (contract 6, rule
// 5). The only form is an uncorrelated, grouped sub-select over people, which a distributed
// database accepts too (design 3). The person is `coalesce(user_id, device_id)`, which is never
// null, so a negation is exact. An event without a user counts for the user who owns the device
// now.
import type { Fragment, Tx } from '@carillon/postgres';
import type { CheckedCondition } from './check-filter.ts';
import type { EventLeaf, Last } from './filter.ts';
import { type SqlContext, testToSql } from './test-to-sql.ts';

const dayMs = 86_400_000;

export function eventToSql(context: SqlContext, leaf: EventLeaf<CheckedCondition>): Fragment {
  const { tx } = context;
  const counted = countToSql(context, leaf);
  if (leaf.last === null) return counted;
  const source = leaf.where.length === 0 ? daysOfAllTime(context, leaf) : eventsSince(context, leaf, null);
  return tx`(${counted} AND ${people(context, source, lastToSql(context, leaf.last))})`;
}

/** Every operator is expressed by "at least" and its negation. Everybody has at least 0 events. */
function countToSql(context: SqlContext, leaf: EventLeaf<CheckedCondition>): Fragment {
  const { tx } = context;
  const { op, value } = leaf.count;
  const atLeast = (least: number): Fragment =>
    least <= 0 ? tx`true` : people(context, sourceOf(context, leaf), tx`sum(e.count) >= ${least}::float8`);
  switch (op) {
    case 'gte':
      return atLeast(value);
    case 'gt':
      return atLeast(value + 1);
    case 'lt':
      return tx`NOT ${atLeast(value)}`;
    case 'lte':
      return tx`NOT ${atLeast(value + 1)}`;
    case 'eq':
      if (value === 0) return tx`NOT ${atLeast(1)}`;
      return people(context, sourceOf(context, leaf), tx`sum(e.count) = ${value}::float8`);
  }
}

/**
 * The number of events that a leaf counts and the time of the latest of them, as one JSON value per
 * audience row `a`. For a question about few subjects only.
 */
export function countedToSql(context: SqlContext, leaf: EventLeaf<CheckedCondition>): Fragment {
  const { tx, appId } = context;
  return tx`(
    SELECT jsonb_build_object('count', coalesce(sum(e.count), 0), 'last_at', max(e.last_at)) FROM (
      ${sourceOf(context, leaf)}) e
    LEFT JOIN audience d ON d.app_id = ${appId} AND d.device_id = e.subject_id
    WHERE coalesce(d.user_id, e.subject_id) = coalesce(a.user_id, a.device_id))`;
}

function lastToSql({ tx, now }: SqlContext, last: Last): Fragment {
  const latest = tx`max(e.last_at)`;
  if (last.op === 'within_last') {
    return tx`${latest} BETWEEN ${now} - ${last.durationMs}::float8 * interval '1 millisecond' AND ${now}`;
  }
  const at = tx`${new Date(last.atMs)}::timestamptz`;
  return last.op === 'before' ? tx`${latest} < ${at}` : tx`${latest} > ${at}`;
}

/** Tests whether the row's person is among the people whose events in `source` fulfil `having`. */
function people({ tx, appId }: SqlContext, source: Fragment, having: Fragment): Fragment {
  return tx`coalesce(a.user_id, a.device_id) IN (
    SELECT coalesce(d.user_id, e.subject_id) FROM (${source}) e
    LEFT JOIN audience d ON d.app_id = ${appId} AND d.device_id = e.subject_id
    GROUP BY 1 HAVING ${having})`;
}

/** Rows of (subject_id, count, last_at), whose sum is the count that the leaf asks for. */
function sourceOf(context: SqlContext, leaf: EventLeaf<CheckedCondition>): Fragment {
  const { withinMs, where } = leaf;
  if (where.length > 0 || (withinMs !== null && withinMs < dayMs)) return eventsSince(context, leaf, withinMs);
  return withinMs === null ? daysOfAllTime(context, leaf) : daysSince(context, leaf, withinMs);
}

function daysOfAllTime(context: SqlContext, { event }: EventLeaf<CheckedCondition>): Fragment {
  const { tx, appId } = context;
  return tx`
    SELECT subject_id, count, last_at FROM subject_events
    WHERE app_id = ${appId} AND name = ${event} ${ofSubjects(context)}`;
}

/** Limits events to the subjects that the question is about. */
function ofSubjects({ tx, subjects }: SqlContext): Fragment {
  return subjects === undefined ? tx`` : tx`AND subject_id = ANY(${subjects}::uuid[])`;
}

/**
 * Reads whole days from the daily counts, and the rest of the first day event by event, so that the
 * window is exact.
 */
function daysSince(context: SqlContext, { event }: EventLeaf<CheckedCondition>, withinMs: number): Fragment {
  const { tx, appId } = context;
  const since = sinceOf(context, withinMs);
  // The day after the window's first moment. Days are in UTC.
  const firstWholeDay = tx`((${since} AT TIME ZONE 'UTC')::date + 1)`;
  return tx`
    SELECT subject_id, count, last_at FROM subject_events
    WHERE app_id = ${appId} AND name = ${event} AND day >= ${firstWholeDay} ${ofSubjects(context)}
    UNION ALL
    SELECT subject_id, 1, at FROM events
    WHERE app_id = ${appId} AND name = ${event} AND at >= ${since} AND at < (${firstWholeDay}::timestamp AT TIME ZONE 'UTC')
      ${ofSubjects(context)}`;
}

function eventsSince(context: SqlContext, leaf: EventLeaf<CheckedCondition>, withinMs: number | null): Fragment {
  const { tx, appId, now } = context;
  const window = withinMs === null ? tx`` : tx`AND at >= ${sinceOf(context, withinMs)}`;
  const conditions = leaf.where.map((condition) => tx`AND ${conditionToSql(tx, now, condition)}`);
  return tx`
    SELECT subject_id, 1 AS count, at AS last_at FROM events
    WHERE app_id = ${appId} AND name = ${leaf.event} ${window} ${ofSubjects(context)} ${conditions.length === 0 ? tx`` : conditions}`;
}

function sinceOf({ tx, now }: SqlContext, withinMs: number): Fragment {
  return tx`(${now} - ${withinMs}::float8 * interval '1 millisecond')`;
}

// A value of another type than the compared one counts as missing, and so does JSON's null.
function conditionToSql(tx: Tx, now: Fragment, { key, type, test, isNegated }: CheckedCondition): Fragment {
  const value = tx`properties -> ${key}::text`;
  const column =
    type === 'string'
      ? tx`(CASE WHEN jsonb_typeof(${value}) = 'string' THEN properties ->> ${key}::text END)`
      : type === 'number'
        ? tx`(CASE WHEN jsonb_typeof(${value}) = 'number' THEN (${value})::float8 END)`
        : type === 'boolean'
          ? tx`(CASE WHEN jsonb_typeof(${value}) = 'boolean' THEN (${value})::boolean END)`
          : tx`nullif(jsonb_typeof(${value}), 'null')`;
  const positive = testToSql(tx, now, column, test);
  return isNegated ? tx`(${positive}) IS NOT TRUE` : positive;
}
