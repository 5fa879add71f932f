// Counts how many devices and users an audience reaches now. A count that takes longer than
// two seconds is refused with the path of its slowest leaf, so that nobody waits longer and no pool
// fills up.

import {
  type Cancel,
  cancelableTransaction,
  isStatementTimeout,
  type Sql,
  setStatementTimeout,
  transaction,
} from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { CheckedFilter } from '../audience/check-filter.ts';
import { countAudience, type SendStatement } from '../audience/count-audience.ts';
import type { AudienceCount } from '../audience/count-queries.ts';
import { asksForParts, compareWholeValues } from '../audience/few-values.ts';
import { estimateCosts, type ResolvedAudience } from '../audience/queries.ts';

export const previewMsMax = 2_000;
const retryAfterMs = 5_000;

/**
 * The path of an audience's filter, and whether the leaves stand in the request or in a stored
 * segment.
 */
export interface FilterPath {
  readonly path: readonly (string | number)[];
  readonly isInRequest: boolean;
}

/**
 * Counts an audience. Throws the 503 with the `path` of the slowest leaf, or of the exclusion that
 * contains it. `sql` is the pool for counts. A count whose caller has gone is canceled.
 */
export async function preview(
  { sql, clock, cancel }: { sql: Sql; clock: Clock; cancel: Cancel },
  appId: Uuid,
  audience: ResolvedAudience,
  filter: FilterPath,
  timeoutMs = previewMsMax,
): Promise<AudienceCount> {
  try {
    const isOneSnapshot = asksForParts(audience);
    return await cancelableTransaction(sql, { ...cancel, isOneSnapshot }, async (tx) => {
      const context = { tx, clock, appId };
      const untilMs = clock.steadyMs() + timeoutMs;
      // The statements are sent together, and the connection runs them one after the other.
      const send: SendStatement = async (statement) => {
        const leftMs = Math.max(1, Math.round(untilMs - clock.steadyMs()));
        const [, result] = await Promise.all([setStatementTimeout(tx, leftMs), statement()]);
        return result;
      };
      const counted = isOneSnapshot ? await send(() => compareWholeValues(context, audience)) : audience;
      return countAudience(context, counted, send);
    });
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    const path = await slowestPath({ sql, clock }, appId, audience, filter);
    const message = 'This count takes too long. The slowest part of the filter stands at path.';
    throw new ApiError('unavailable', { message, retryAfterMs, extra: { path }, cause: error });
  }
}

/**
 * Planning takes milliseconds unless the table is locked. In that case the answer does not wait for
 * the leaf's path.
 */
const planMsMax = 500;

/** The path at which a request names the excluded segment. */
const excludePath = ['exclude_segment_id'];

type Path = readonly (string | number)[];

async function slowestPath(
  { sql, clock }: { sql: Sql; clock: Clock },
  appId: Uuid,
  audience: ResolvedAudience,
  { path, isInRequest }: FilterPath,
): Promise<Path> {
  const selected = 'filter' in audience ? leavesOf(audience.filter) : [];
  const excluded = audience.exclude ? leavesOf(audience.exclude) : [];
  if (selected.length === 0 && excluded.length > 0) return excludePath;
  // There is only one possible path.
  if (!isInRequest && excluded.length === 0) return path;
  const paths: Path[] = [
    ...selected.map((leaf) => (isInRequest ? [...path, ...leaf.path] : path)),
    ...excluded.map(() => excludePath),
  ];
  try {
    return await transaction(sql, async (tx) => {
      await setStatementTimeout(tx, planMsMax);
      const costs = await estimateCosts({ tx, clock, appId }, [...selected, ...excluded]);
      return paths[costs.indexOf(Math.max(...costs))] ?? path;
    });
  } catch (error) {
    if (isStatementTimeout(error)) return path;
    throw error;
  }
}

type Leaf = Extract<CheckedFilter, { readonly kind: 'leaf' | 'event' }>;

function leavesOf(filter: CheckedFilter): Leaf[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.nodes.flatMap(leavesOf);
    case 'not':
      return leavesOf(filter.node);
    default:
      return [filter];
  }
}
