// Stores rows with the same result as the same requests one after the other, in one transaction
// with a few statements for all of them. The same token is the same device, even while other
// registrations run. Locks are taken in the order that the migration of these tables names.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { learnManyProperties, recordManySightings } from '../properties/learn-many.ts';
import { noChanges } from '../properties/property.ts';
import { claimDevices, mergeDevices, writeDevices } from './merge-devices.ts';
import type { RowToMerge } from './merge-properties.ts';
import { mergeUsers, writeUsers } from './merge-users.ts';
import { type ImportCounts, type ImportRow, type Refusal, RowsRefused } from './row.ts';

export interface StoredRows {
  readonly counts: ImportCounts;
  /** Values that the catalog has under another type, as sentences, by their rows. */
  readonly conflicts: ReadonlyMap<ImportRow, readonly string[]>;
}

/**
 * Stores rows. Throws `RowsRefused` for rows that exceed a limit; then the transaction must be
 * rolled back.
 */
export async function importRows(
  context: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  rows: readonly ImportRow[],
): Promise<StoredRows> {
  const { tx, clock, appId } = context;
  const refusals = new Map<ImportRow, Refusal>();
  const refuse = (): void => {
    if (refusals.size > 0) throw new RowsRefused(refusals);
  };

  const many = await learnManyProperties(
    tx,
    clock,
    appId,
    rows.flatMap(({ device, user }) => [device?.properties ?? noChanges, user?.properties ?? noChanges]),
    rows.every(({ isForeign }) => isForeign),
  );
  const ofDevices: RowToMerge[] = [];
  const ofUsers: RowToMerge[] = [];
  const conflicts = new Map<ImportRow, string[]>();
  let propertyConflicts = 0;
  for (const [i, row] of rows.entries()) {
    for (const [rowsOf, learned] of [
      [ofDevices, many.each[2 * i]],
      [ofUsers, many.each[2 * i + 1]],
    ] as const) {
      if (!learned) continue;
      if ('error' in learned) {
        refusals.set(row, learned);
        continue;
      }
      rowsOf.push({ row, learned });
      if (learned.conflicts.length === 0) continue;
      propertyConflicts += learned.conflicts.length;
      const sentences = learned.conflicts.map(
        ({ property }) => `properties.${property.key}: The catalog has this key as a ${property.type}.`,
      );
      conflicts.set(row, [...(conflicts.get(row) ?? []), ...sentences]);
    }
  }
  refuse();

  const claimed = await claimDevices(context, rows);
  const users = await mergeUsers(context, ofUsers, refusals);
  const devices = await mergeDevices(context, claimed, users, ofDevices, refusals);
  refuse();

  const ofUser = await writeUsers(context, users);
  const ofDevice = await writeDevices(context, devices, users);
  await recordManySightings(tx, clock, appId, many, [...users.gone, ...devices.gone]);
  const counts = {
    devicesCreated: ofDevice.created,
    devicesUpdated: ofDevice.updated,
    devicesUnchanged: ofDevice.unchanged,
    devicesOptedOut: ofDevice.optedOut,
    usersCreated: ofUser.created,
    usersUpdated: ofUser.updated,
    usersUnchanged: ofUser.unchanged,
    propertyConflicts,
  };
  return { counts, conflicts };
}
