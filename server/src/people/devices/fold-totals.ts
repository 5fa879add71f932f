// Keeps the sums of changes of devices' states small: folds what transactions append.
import type { Sql } from '@carillon/postgres';
import { foldDeviceDeltas } from './totals-queries.ts';

const foldedAtOnce = 20_000;

/** Folds all deltas. Any number of processes may call it, every few seconds. */
export async function foldDeviceTotals({ sql }: { readonly sql: Sql }): Promise<void> {
  while ((await foldDeviceDeltas(sql, foldedAtOnce)) === foldedAtOnce);
}
