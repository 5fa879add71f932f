// Finds one user with the data that answers show beside the profile: the catalog entries of its
// properties, and the newest active devices.

import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { type DeviceOfUser, listDevicesOfUsers } from '../audience/queries.ts';
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
  const [catalog, devices] = await Promise.all([
    readCatalog(sql, appId, Object.keys(user.properties).map(Number)),
    listDevicesOfUsers(sql, appId, [externalId]),
  ]);
  return { user, catalog, deviceIds: listShown(externalId, devices) };
}

/**
 * Selects the active devices of a user that answers show, newest first. The database does not sort
 * them: without statistics, the planner would choose an index in that order, which contains every
 * device of the app.
 */
export function listShown(externalId: string, devices: Iterable<DeviceOfUser>): Uuid[] {
  const active = [...devices].filter((device) => device.externalId === externalId && device.active);
  return active
    .sort(
      (one, other) => other.createdAt.getTime() - one.createdAt.getTime() || (one.deviceId < other.deviceId ? 1 : -1),
    )
    .slice(0, devicesShownMax)
    .map(({ deviceId }) => deviceId);
}
