// Clears the rows of deleted apps, some thousand a statement: tokens and profiles first. A process
// that dies in the middle leaves the rest to the next turn.
import type { Clock } from '../database/clock.ts';
import { type Sql, transaction } from '../database/db.ts';
import { deleteBatchesOf, deleteRowsOf, listAppsToClear, listTablesOfApps, markAppCleared } from './clear-queries.ts';

const rowsAtOnce = 5_000;
/** A batch has up to 1,000 deliveries. */
const batchesAtOnce = 20;

/** Clears every deleted app that still has rows. */
export async function clearDeletedApps({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }): Promise<void> {
  const apps = await listAppsToClear(sql);
  if (apps.length === 0) return;
  const tables = await listTablesOfApps(sql);
  const [first, others] = [tables.slice(0, 5), tables.slice(5).filter((name) => name !== 'batches')];
  for (const appId of apps) {
    const clear = async (table: string): Promise<void> => {
      while ((await deleteRowsOf(sql, table, appId, rowsAtOnce)) === rowsAtOnce);
    };
    for (const table of first) await clear(table);
    // Deliveries are reached through their batches.
    while ((await transaction(sql, (tx) => deleteBatchesOf(tx, appId, batchesAtOnce))) === batchesAtOnce);
    for (const table of others) await clear(table);
    await markAppCleared(sql, clock, appId);
  }
}
