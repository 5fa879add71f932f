// Clears the rows of deleted apps, some thousand a statement: tokens and profiles first. A process
// that dies in the middle leaves the rest to the next turn.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { deleteBatchesOf, deleteRowsOf, listAppsToClear, listTablesOfApps, markAppCleared } from './clear-queries.ts';

const rowsAtOnce = 5_000;
/** A batch has up to 1,000 deliveries. */
const batchesAtOnce = 20;
/** Tokens, profiles and the rows that point to them stand first in the list. */
const firstTables = 5;

/**
 * Minutes after the deletion. Other processes accept a deleted app's keys for two more seconds.
 * Work that began by then ends within a minute, the limit of the longest statement.
 */
const clearedAfterMinutes = 2;

/** Clears every app that was deleted some minutes ago and still has rows. */
export async function clearDeletedApps({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }): Promise<void> {
  const apps = await listAppsToClear(sql, clock, clearedAfterMinutes);
  if (apps.length === 0) return;
  const tables = await listTablesOfApps(sql);
  for (const appId of apps) {
    // Rows that were written while others were cleared are found by the next pass.
    while ((await clearOnce(sql, tables, appId)) > 0);
    await markAppCleared(sql, clock, appId);
  }
}

/** Goes through all tables once, and returns how many rows and batches it deleted. */
async function clearOnce(sql: Sql, tables: readonly string[], appId: Uuid): Promise<number> {
  let deleted = 0;
  const repeat = async (atOnce: number, work: () => Promise<number>): Promise<void> => {
    for (let count = atOnce; count === atOnce; deleted += count) count = await work();
  };
  const clear = (table: string): Promise<void> => repeat(rowsAtOnce, () => deleteRowsOf(sql, table, appId, rowsAtOnce));
  for (const table of tables.slice(0, firstTables)) await clear(table);
  // Deliveries are reached through their batches.
  await repeat(batchesAtOnce, () => transaction(sql, (tx) => deleteBatchesOf(tx, appId, batchesAtOnce)));
  for (const table of tables.slice(firstTables).filter((name) => name !== 'batches')) await clear(table);
  return deleted;
}
