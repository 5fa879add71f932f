// The values of a device's form, and the changes that a save sends. Pure. A property stands under
// `property KEY`, as in the profile of a user.
import type { Device, DeviceEdit } from '../api/objects.ts';
import { changesIn, fieldOf, type UserValues } from './user-values.ts';

const facts = ['locale', 'timezone', 'environment'] as const;

export function deviceValuesOf(device: Pick<Device, (typeof facts)[number] | 'properties'>): UserValues {
  const own = Object.entries(device.properties).map(([key, value]) => [fieldOf(key), value] as const);
  return { ...Object.fromEntries(facts.map((name) => [name, device[name] ?? ''])), ...Object.fromEntries(own) };
}

/** Only what differs from `base` is sent. An emptied fact and a removed property are cleared. */
export const deviceEditOf = (base: UserValues, values: UserValues, seen: string): DeviceEdit => ({
  updated_at: seen,
  ...changesIn(facts, base, values),
});
