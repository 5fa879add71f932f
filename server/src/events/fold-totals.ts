// What requests appended is folded into the sums, some thousand rows at a time. A reader who sums both in one statement is exact
// before, during and after.
import type { Sql } from '../platform/db.ts';
import { runAlone } from '../platform/run-alone.ts';
import { foldDeltas } from './totals-queries.ts';

/** Any number that nothing else in this database locks. */
const totalsLock = 4_271_960_141;

const foldedAtOnce = 20_000;

/**
 * Runs `work` while nobody else folds, sums up anew or takes events away; false when somebody does. Ingest goes on meanwhile.
 */
export function aloneWithTotals(sql: Sql, work: () => Promise<void>): Promise<boolean> {
  return runAlone(sql, totalsLock, work);
}

/** Folds all there is. To be run every few seconds, by any number of processes. */
export async function foldTotals({ sql }: { sql: Sql }): Promise<void> {
  await aloneWithTotals(sql, async () => {
    while ((await foldDeltas(sql, foldedAtOnce)) === foldedAtOnce);
  });
}
