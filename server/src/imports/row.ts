// A row of an import after it was judged: what it says of a device, of a user, or of a user and one of their devices. The words
// and limits are those of a registration and of a user's upsert. Pure.
import type { FactsGiven } from '../audience/device-facts.ts';
import type { Environment, Platform } from '../channels/channel.ts';
import type { DeviceToken } from '../devices/token.ts';
import type { ApiError } from '../platform/api-error.ts';
import type { PropertyChanges } from '../properties/property.ts';

/** Absent: keep what is stored. Null: clear it. */
export interface DevicePart {
  readonly platform: Platform;
  readonly token: DeviceToken;
  /** What a new device is bound to; null: the channel is not set. */
  readonly credentialId: number | null;
  readonly facts: FactsGiven;
  readonly environment: Environment | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  /** Null: the file does not say. */
  readonly createdAt: Date | null;
  readonly lastSeenAt: Date | null;
}

export interface UserPart {
  readonly externalId: string;
  readonly firstName: string | null | undefined;
  readonly country: string | null | undefined;
  readonly language: string | null | undefined;
  readonly timezone: string | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  readonly createdAt: Date | null;
}

/** With both, the device belongs to the user from then on. */
export interface ImportRow {
  readonly device: DevicePart | null;
  readonly user: UserPart | null;
}

/** Some rows cannot be taken beside what is stored: nothing of any is written, and the others may be tried again without them. */
export class RowsRefused extends Error {
  override readonly name = 'RowsRefused';
  readonly refusals: ReadonlyMap<ImportRow, ApiError>;

  constructor(refusals: ReadonlyMap<ImportRow, ApiError>) {
    super(`${refusals.size} rows were refused`);
    this.refusals = refusals;
  }
}

/** What an import came to. Devices and users count once for each transaction that names them. */
export interface ImportCounts {
  readonly devicesCreated: number;
  readonly devicesUpdated: number;
  readonly devicesUnchanged: number;
  /** Known here as having opted out: an import brings nobody back. */
  readonly devicesOptedOut: number;
  readonly usersCreated: number;
  readonly usersUpdated: number;
  readonly usersUnchanged: number;
  /** Values whose type is another than the catalog's: left out. */
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
