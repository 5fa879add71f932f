// The periodic task that brings locales and filters to canonical form, over the rooms that store
// them.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { canonicalizeLocales, rewriteEach } from '../../people/audience/canonical-locales.ts';
import { rewriteSegments } from '../../people/segments/rewrite-filters.ts';
import { listScheduledFilters, rewriteScheduledFilter } from '../../sending/messages/scheduled-filter-queries.ts';

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
