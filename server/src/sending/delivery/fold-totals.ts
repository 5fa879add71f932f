// Keeps the sums of outcomes small: folds what flushes append, and deletes what no report can ask
// for.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { deleteTotalsBefore, foldDeltas } from './totals-queries.ts';

const foldedAtOnce = 20_000;
/** Days. A report reaches back 366 days, and its comparison as many days more. */
const keptDays = 2 * 366;

/** Folds all deltas. Any number of processes may call it, every few seconds. */
export async function foldOutcomes({ sql }: { readonly sql: Sql }): Promise<void> {
  while ((await foldDeltas(sql, foldedAtOnce)) === foldedAtOnce);
}

/** Deletes sums that are older than every report. */
export function forgetOldOutcomes({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }): Promise<void> {
  return deleteTotalsBefore(sql, clock, keptDays);
}
