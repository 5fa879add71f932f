// A user has at most 100 active devices, and at most 100 inactive ones (contract 8). A row of a file that links one more makes room
// as the same request with a server key would: `users/make-room.ts` says it in SQL. Pure.
import { devicesPerUserMax } from '../devices/device.ts';
import type { Uuid } from '../platform/ids.ts';

/** A device of a user, as the rows so far leave it. */
export interface OwnedDevice {
  readonly id: Uuid;
  readonly isActive: boolean;
  readonly isReached: boolean;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/** The devices to unlink before another device is linked to a user who has these. Users who have more than 100 keep as many. */
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
