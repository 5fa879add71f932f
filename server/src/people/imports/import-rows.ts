// Stores rows with the same result as the same requests one after the other, in one transaction
// with a few statements for all of them. The same token is the same device, even while other
// registrations run. Locks are taken in the order that the migration of these tables names.

import { ApiError } from '../../ground/http/api-error.ts';
import { learnManyProperties, nothingLearned, recordSightings } from '../properties/learn-properties.ts';
import { noChanges } from '../properties/property.ts';
import type { HoldContext } from '../users/hold-devices.ts';
import type { UpsertUser } from '../users/merge-profile.ts';
import { listPeople } from '../users/queries.ts';
import {
  type AcceptedUpsert,
  type MergedUpserts,
  type MergeOptions,
  mergeUpserts,
  UpsertsRefused,
  UserIsHeld,
  writeUpserts,
} from '../users/upsert-users.ts';
import { claimDevices, type LearnedRow, mergeDevices, writeDevices } from './merge-devices.ts';
import { type ImportCounts, type ImportRow, RowsRefused } from './row.ts';

export interface StoredRows {
  readonly counts: ImportCounts;
  /** Values that the catalog has under another type, as sentences, by their rows. */
  readonly conflicts: ReadonlyMap<ImportRow, readonly string[]>;
}

/**
 * Stores rows. Throws `RowsRefused` for rows that exceed a limit, and `UserIsHeld` for a user who
 * is erased meanwhile; then the transaction must be rolled back.
 */
export async function importRows(context: HoldContext, rows: readonly ImportRow[]): Promise<StoredRows> {
  const { tx, clock, appId } = context;
  const parts = rows.flatMap(({ device, user }) => [device?.properties ?? noChanges, user?.properties ?? noChanges]);
  const takesPart = rows.every(({ isForeign }) => isForeign);
  const many = await learnManyProperties(tx, clock, appId, parts, { takesPart });
  const refusals = new Map<ImportRow, ApiError>();
  const conflicts = new Map<ImportRow, string[]>();
  const learned = rows.map((row, i): LearnedRow => {
    const [ofDevice, ofUser] = [many.each[2 * i], many.each[2 * i + 1]].map((each = nothingLearned) => {
      if (!(each instanceof ApiError)) return each;
      refusals.set(row, each);
      return nothingLearned;
    });
    const sentences = [ofDevice, ofUser].flatMap((each) =>
      (each?.conflicts ?? []).map(
        ({ property }) => `properties.${property.key}: The catalog has this key as a ${property.type}.`,
      ),
    );
    if (sentences.length > 0) conflicts.set(row, sentences);
    return { row, ofDevice: ofDevice ?? nothingLearned, ofUser: ofUser ?? nothingLearned };
  });
  if (refusals.size > 0) throw new RowsRefused(refusals);

  const claimed = await claimDevices(context, rows);
  const users = await mergeUsers(context, learned, {
    linkedTo: rows.flatMap(({ device, user }) => (device && user ? user.externalId : [])),
    besideIds: [...claimed.values()].flatMap(({ id, holderId }) => (holderId === id ? [] : holderId)),
  });
  const devices = await mergeDevices(context, claimed, users.devices, learned);
  const ofDevice = await writeDevices(context, devices, users.devices, await writeUpserts(context, users, true));
  await recordSightings(tx, clock, appId, many, [...users.gone, ...devices.gone]);
  const created = users.states.filter(({ former }) => !former).length;
  const changed = users.states.filter(({ isChanged }) => isChanged).length;
  const counts = {
    ...ofDevice,
    usersCreated: created,
    usersUpdated: changed - created,
    usersUnchanged: users.states.length - changed,
    propertyConflicts: [...conflicts.values()].reduce((sum, sentences) => sum + sentences.length, 0),
  };
  return { counts, conflicts };
}

async function mergeUsers(
  context: HoldContext,
  learned: readonly LearnedRow[],
  locks: Pick<MergeOptions, 'linkedTo' | 'besideIds'>,
): Promise<MergedUpserts> {
  const { tx, appId } = context;
  const rowOf = new Map<UpsertUser, ImportRow>();
  const accepted = learned.flatMap(({ row, ofUser }): AcceptedUpsert[] => {
    if (!row.user) return [];
    const { createdAt, ...user } = row.user;
    const request = { ...user, appId, deviceId: null };
    rowOf.set(request, row);
    return [{ request, learned: ofUser, createdAt, dropsMisfits: row.isForeign }];
  });
  const named = [...new Set(accepted.map(({ request }) => request.externalId))];
  const known = named.length === 0 ? new Map() : await listPeople(tx, appId, named);
  try {
    return await mergeUpserts(context, accepted, { known, waits: true, ...locks });
  } catch (error) {
    if (!(error instanceof UpsertsRefused)) throw error;
    const refusals = new Map<ImportRow, ApiError>();
    for (const [request, refusal] of error.refusals) {
      const row = rowOf.get(request);
      if (refusal instanceof UserIsHeld) throw refusal;
      if (row) refusals.set(row, refusal);
    }
    throw new RowsRefused(refusals);
  }
}
