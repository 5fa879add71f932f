// Keeps a user at 100 active and 100 inactive devices at most (contract 8). A row that links one
// more device makes room in the same way as a request with a server key; `users/make-room.ts` does
// the same in SQL. Pure.

import type { Uuid } from '../../ground/values/ids.ts';
import { devicesPerUserMax } from '../devices/device.ts';

/** A user's device in its state after the rows so far. */
export interface OwnedDevice {
  readonly id: Uuid;
  readonly isActive: boolean;
  readonly isReached: boolean;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/**
 * Chooses the devices to unlink before another device is linked to a user with these devices. A
 * user with more than 100 keeps that number.
 */
export function chooseDevicesToUnlink<Owned extends OwnedDevice>(owned: readonly Owned[]): Owned[] {
  const active = owned.filter(({ isActive }) => isActive);
  const inactive = owned.filter(({ isActive }) => !isActive);
  return [
    ...(inactive.length >= devicesPerUserMax ? firstBy(inactive, 'lastSeenAt') : []),
    ...(active.length >= devicesPerUserMax
      ? [...firstBy(active, 'createdAt', ({ isReached }) => !isReached), ...firstBy(active, 'lastSeenAt')].slice(0, 1)
      : []),
  ];
}

function firstBy<Owned extends OwnedDevice>(
  devices: readonly Owned[],
  time: 'createdAt' | 'lastSeenAt',
  fits: (device: Owned) => boolean = () => true,
): Owned[] {
  let first: Owned | undefined;
  for (const device of devices) {
    if (!fits(device)) continue;
    const apart = first ? device[time].getTime() - first[time].getTime() : -1;
    if (!first || apart < 0 || (apart === 0 && device.id < first.id)) first = device;
  }
  return first ? [first] : [];
}
