// Finds one user with the data that answers show beside the profile: the catalog entries of its
// properties, and the newest active devices.
import { listActiveDeviceIdsOfUser } from '../audience/queries.ts';
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Property } from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import { findUser } from './queries.ts';
import type { User } from './user.ts';

export interface FoundUser {
  readonly user: User;
  readonly catalog: ReadonlyMap<number, Property>;
  readonly deviceIds: readonly Uuid[];
}

/** Devices that an answer lists at most (contract 5.17). */
export const devicesShownMax = 100;

export async function findUserWithDevices(sql: Sql, appId: Uuid, externalId: string): Promise<FoundUser | undefined> {
  const user = await findUser(sql, appId, externalId);
  if (!user) return undefined;
  const [catalog, deviceIds] = await Promise.all([
    readCatalog(sql, appId, Object.keys(user.properties).map(Number)),
    listActiveDeviceIdsOfUser(sql, appId, externalId, devicesShownMax),
  ]);
  return { user, catalog, deviceIds };
}
