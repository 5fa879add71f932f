// A row of an import after its check: a device, a user, or a user with one of their devices. The
// names and limits of fields are those of a registration and of a user's upsert. Pure.

import type { ApiError } from '../../ground/http/api-error.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { FactsGiven } from '../audience/device-facts.ts';
import type { DeviceToken } from '../devices/token.ts';
import type { PropertyChanges } from '../properties/property.ts';
import type { UpsertUser } from '../users/merge-profile.ts';

/** An absent field keeps the stored value; null clears it. */
export interface DevicePart {
  readonly platform: Platform;
  readonly token: DeviceToken;
  /** The credential to which a new device is bound; null when the channel has none. */
  readonly credentialId: number | null;
  readonly facts: FactsGiven;
  readonly environment: Environment | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  /** Null when the file does not say. */
  readonly createdAt: Date | null;
  readonly lastSeenAt: Date | null;
}

export interface UserPart extends Omit<UpsertUser, 'appId' | 'deviceId'> {
  readonly createdAt: Date | null;
}

/** In a row with both, the device is linked to the user. */
export interface ImportRow {
  readonly device: DevicePart | null;
  readonly user: UserPart | null;
  /** True for a row of another service. Values that do not fit are omitted. */
  readonly isForeign: boolean;
  /** Values that were left out, each as a sentence. */
  readonly dropped: readonly string[];
}

/**
 * Some rows are refused because of stored data. Nothing of the lot was written, and the other rows
 * may be tried again without them.
 */
export class RowsRefused extends Error {
  override readonly name = 'RowsRefused';
  readonly refusals: ReadonlyMap<ImportRow, ApiError>;

  constructor(refusals: ReadonlyMap<ImportRow, ApiError>) {
    super(`${refusals.size} rows were refused`);
    this.refusals = refusals;
  }
}

/** The results of an import. A device or user counts once in each transaction that names it. */
export interface ImportCounts {
  readonly devicesCreated: number;
  readonly devicesUpdated: number;
  readonly devicesUnchanged: number;
  /** Devices that opted out here earlier; an import does not activate them. */
  readonly devicesOptedOut: number;
  readonly usersCreated: number;
  readonly usersUpdated: number;
  readonly usersUnchanged: number;
  /** Values of another type than the catalog's, which are not stored. */
  readonly propertyConflicts: number;
}

export const noCounts: ImportCounts = {
  devicesCreated: 0,
  devicesUpdated: 0,
  devicesUnchanged: 0,
  devicesOptedOut: 0,
  usersCreated: 0,
  usersUpdated: 0,
  usersUnchanged: 0,
  propertyConflicts: 0,
};

export function addCounts(one: ImportCounts, other: ImportCounts): ImportCounts {
  const names = Object.keys(noCounts) as (keyof ImportCounts)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as ImportCounts;
}
