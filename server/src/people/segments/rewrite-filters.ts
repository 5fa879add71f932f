// Brings the filters of segments to canonical form. Earlier versions stored other forms.

import { type Sql, transaction } from '@carillon/postgres';
import { canonicalFields, canonicalFilter } from '../audience/canonical-filter.ts';
import { rewriteEach } from '../audience/canonical-locales.ts';
import { findSegment, listFiltersComparing, rewriteFilter, tryLockSegments } from './queries.ts';

/** Returns false when segments were being edited, which are then left unchanged. */
export function rewriteSegments(sql: Sql): Promise<boolean> {
  return rewriteEach(
    (after) => listFiltersComparing(sql, canonicalFields, after),
    ({ appId, id }) =>
      transaction(sql, async (tx) => {
        if (!(await tryLockSegments(tx, appId))) return false;
        // Read again under the lock: somebody may have edited the segment since it was listed.
        const segment = await findSegment(tx, appId, id);
        if (segment) await rewriteFilter(tx, { appId, id, filter: canonicalFilter(segment.filter) });
        return true;
      }),
  );
}
