// Deletes the values of properties that were deleted or changed their type, from profiles, devices
// and audience rows. The values are already invisible; clearing them frees their space and their
// slot. Works a few rows at a time and never waits for a locked row.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { clearOverflow, clearSlot } from '../audience/queries.ts';
import { clearDeviceProperty } from '../devices/queries.ts';
import { deleteRetired, listRetired, type RetiredProperty } from '../properties/queries.ts';
import { slotColumn } from '../properties/slots.ts';
import { clearUserProperty } from './queries.ts';

const rowsAtOnce = 1_000;
/**
 * Seconds. Longer than any transaction that read the former catalog, so that no transaction writes
 * a retired value afterwards.
 */
const quietSeconds = 60;

export interface PropertyClearing {
  /** Any number of processes may call it, every few minutes. */
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
    // A key with a slot may have values here too: it may have moved from here, or have been moving.
    () => clearOverflow(sql, appId, id, rowsAtOnce),
    ...(slot === null ? [] : [() => clearSlot(sql, appId, slotColumn(type, slot), rowsAtOnce)]),
  ];
  for (const step of steps) while ((await step()) > 0);
  // A row that was locked just now keeps its value until the next run. The slot is free only when
  // none is left.
  for (const step of steps) if ((await step()) > 0) return;
  await deleteRetired(sql, appId, id);
}
