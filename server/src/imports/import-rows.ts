// Stores rows with the same result as the same requests one after the other, in one transaction
// with a few statements for all of them. The same token is the same device, even while other
// registrations run. Locks are taken in the order that the migration of these tables names.

import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { learnManyProperties, recordManySightings } from '../properties/learn-many.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import { noChanges } from '../properties/property.ts';
import { claimDevices, mergeDevices, writeDevices } from './merge-devices.ts';
import type { RowToMerge } from './merge-properties.ts';
import { mergeUsers, writeUsers } from './merge-users.ts';
import { type ImportCounts, type ImportRow, RowsRefused } from './row.ts';

/**
 * Stores rows. Throws `RowsRefused` for rows that exceed a limit; then the transaction must be
 * rolled back.
 */
export async function importRows(
  context: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  rows: readonly ImportRow[],
): Promise<ImportCounts> {
  const { tx, clock, appId } = context;
  const refusals = new Map<ImportRow, ApiError>();
  const refuse = (): void => {
    if (refusals.size > 0) throw new RowsRefused(refusals);
  };

  const many = await learnManyProperties(
    tx,
    clock,
    appId,
    rows.flatMap(({ device, user }) => [device?.properties ?? noChanges, user?.properties ?? noChanges]),
  );
  const ofDevices: RowToMerge[] = [];
  const ofUsers: RowToMerge[] = [];
  let propertyConflicts = 0;
  for (const [i, row] of rows.entries()) {
    for (const [rowsOf, learned] of [
      [ofDevices, many.each[2 * i]],
      [ofUsers, many.each[2 * i + 1]],
    ] as const) {
      if (learned instanceof ApiError) refusals.set(row, learned);
      else if (learned) {
        rowsOf.push({ row, learned });
        propertyConflicts += (learned as LearnedProperties).conflicts.length;
      }
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
  return {
    devicesCreated: ofDevice.created,
    devicesUpdated: ofDevice.updated,
    devicesUnchanged: ofDevice.unchanged,
    devicesOptedOut: ofDevice.optedOut,
    usersCreated: ofUser.created,
    usersUpdated: ofUser.updated,
    usersUnchanged: ofUser.unchanged,
    propertyConflicts,
  };
}
