// Folds the deltas that requests appended into the sums, up to 20,000 rows at a time. A reader that
// adds both in one statement is exact at every moment.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { runAlone } from '../../ground/database/run-alone.ts';
import { foldDeltas } from './totals-queries.ts';

const foldedAtOnce = 20_000;
const waitMs = 200;

/**
 * Runs `work` while no other process folds, rebuilds sums or deletes events. Returns false when
 * another process does. Ingest continues meanwhile.
 */
export function aloneWithTotals(sql: Sql, work: () => Promise<void>): Promise<boolean> {
  return runAlone(sql, 'eventTotals', work);
}

/**
 * Runs `work` as soon as no other process folds, rebuilds or deletes. A fold takes well under a
 * second; deleting a month may take minutes.
 */
export async function waitAloneWithTotals(sql: Sql, work: () => Promise<void>): Promise<void> {
  while (!(await aloneWithTotals(sql, work))) await sleep(waitMs);
}

/** Folds all deltas. Any number of processes may call it, every few seconds. */
export async function foldTotals({ sql }: { sql: Sql }): Promise<void> {
  await aloneWithTotals(sql, async () => {
    while ((await foldDeltas(sql, foldedAtOnce)) === foldedAtOnce);
  });
}
