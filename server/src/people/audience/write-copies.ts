// Updates the audience rows of devices after a change of the profile or of the devices, in the same
// transaction. The caller locked each row of `devices` before it read the profile, so the last
// writer has seen both changes.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Property, StoredProperties } from '../properties/property.ts';
import { copyProfile, type Profile, type ProfileCopy } from './profile-copy.ts';
import { updateProfileCopy } from './queries.ts';

export interface DeviceToCopyTo {
  readonly id: Uuid;
  /** The device's own properties. */
  readonly properties: StoredProperties;
}

/**
 * `profile` is null when the devices belong to no user. Read `slotted` after taking the locks, so
 * that it contains every stored number.
 */
export async function writeCopies(
  tx: Tx,
  appId: Uuid,
  copies: {
    readonly profile: Profile | null;
    readonly devices: readonly DeviceToCopyTo[];
    readonly slotted: readonly Property[];
  },
): Promise<void> {
  // Few devices have properties of their own, so most devices of a user share one copy and one
  // statement.
  const groups = new Map<string, { copy: ProfileCopy; deviceIds: Uuid[] }>();
  for (const { id, properties } of copies.devices) {
    const key = JSON.stringify(properties);
    const group = groups.get(key);
    if (group) group.deviceIds.push(id);
    else groups.set(key, { copy: copyProfile(copies.profile, properties, copies.slotted), deviceIds: [id] });
  }
  // Sent together, so that none waits for the answer to another.
  await Promise.all([...groups.values()].map(({ copy, deviceIds }) => updateProfileCopy(tx, appId, deviceIds, copy)));
}
