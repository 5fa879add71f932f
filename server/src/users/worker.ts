// Clears the values of properties that were deleted or given another type, from profiles, devices and audience rows. They are
// invisible already; this frees their space and their slot. A few rows at a time, never waiting for a row that somebody holds.
import { clearOverflow, clearSlot } from '../audience/queries.ts';
import { clearDeviceProperty } from '../devices/queries.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { deleteRetired, listRetired, type RetiredProperty } from '../properties/queries.ts';
import { slotColumn } from '../properties/slots.ts';
import { clearUserProperty } from './queries.ts';

const rowsAtOnce = 1_000;
/** Longer than any transaction that read the catalog before: nobody writes a retired value after this. */
const quietSeconds = 60;

export interface PropertyClearing {
  /** To be run every few minutes, by any number of processes. */
  runOnce(): Promise<void>;
}

export function createPropertyClearing({ sql, clock }: { sql: Sql; clock: Clock }): PropertyClearing {
  return {
    async runOnce() {
      for (const retired of await listRetired(sql, clock, quietSeconds)) await clearOne(sql, retired);
    },
  };
}

async function clearOne(sql: Sql, { appId, id, type, slot }: RetiredProperty): Promise<void> {
  const steps = [
    () => clearUserProperty(sql, appId, id, rowsAtOnce),
    () => clearDeviceProperty(sql, appId, id, rowsAtOnce),
    // Also of a key that had a slot: it may have come from there, or have been on its way.
    () => clearOverflow(sql, appId, id, rowsAtOnce),
    ...(slot === null ? [] : [() => clearSlot(sql, appId, slotColumn(type, slot), rowsAtOnce)]),
  ];
  for (const step of steps) while ((await step()) > 0);
  // A row that was held just now keeps its value until the next run; only then the slot is free.
  for (const step of steps) if ((await step()) > 0) return;
  await deleteRetired(sql, appId, id);
}
