// Brings the audience rows of devices in step with their user's profile, in the transaction that changed either. The caller
// holds the lock on each device's row of `devices`, taken before it read the profile: whoever writes last has seen both sides.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Property, StoredProperties } from '../properties/property.ts';
import { copyProfile, type Profile, type ProfileCopy } from './profile-copy.ts';
import { updateProfileCopy } from './queries.ts';

export interface DeviceToCopyTo {
  readonly id: Uuid;
  /** The device's own. */
  readonly properties: StoredProperties;
}

/** `profile` null: the devices belong to nobody. `slotted` is read after the locks were taken, so that it knows every number. */
export async function writeCopies(
  tx: Tx,
  appId: Uuid,
  copies: {
    readonly profile: Profile | null;
    readonly devices: readonly DeviceToCopyTo[];
    readonly slotted: readonly Property[];
  },
): Promise<void> {
  // Few devices have properties of their own, so the devices of a user mostly share one copy and one statement.
  const groups = new Map<string, { copy: ProfileCopy; deviceIds: Uuid[] }>();
  for (const { id, properties } of copies.devices) {
    const key = JSON.stringify(properties);
    const group = groups.get(key);
    if (group) group.deviceIds.push(id);
    else groups.set(key, { copy: copyProfile(copies.profile, properties, copies.slotted), deviceIds: [id] });
  }
  for (const { copy, deviceIds } of groups.values()) await updateProfileCopy(tx, appId, deviceIds, copy);
}
