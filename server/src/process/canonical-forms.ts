// The periodic task that brings locales and filters to canonical form, over the rooms that store
// them.
import { canonicalizeLocales, rewriteEach } from '../audience/canonical-locales.ts';
import type { Clock } from '../database/clock.ts';
import type { Sql } from '../database/db.ts';
import { listScheduledFilters, rewriteScheduledFilter } from '../messages/scheduled-filter-queries.ts';
import { rewriteSegments } from '../segments/rewrite-filters.ts';

export function bringToCanonicalForm(deps: { sql: Sql; clock: Clock }, devicesAtOnce?: number): Promise<void> {
  const rewriteFilters = async (): Promise<boolean> => {
    const areSegmentsDone = await rewriteSegments(deps.sql);
    const areMessagesDone = await rewriteEach(
      (after) => listScheduledFilters(deps.sql, after),
      (row) => rewriteScheduledFilter(deps.sql, row),
    );
    return areSegmentsDone && areMessagesDone;
  };
  return canonicalizeLocales({ ...deps, rewriteFilters }, devicesAtOnce);
}
