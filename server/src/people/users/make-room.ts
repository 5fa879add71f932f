// Keeps a user at 100 active and 100 inactive devices (contract 8). Each change of a profile is
// written to the rows of all of them. Without a limit, a stranger who links thousands of invented
// devices to one user would make such a change take seconds.

import { invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { DeviceOfUser } from '../audience/queries.ts';
import { devicesPerUserMax } from '../devices/device.ts';

/**
 * Lists the devices to unlink before another device is linked to the user of these devices. The
 * caller holds the lock on the person, so that no other device is linked meanwhile. A user with
 * more devices than the limit keeps them: one is unlinked for each that is linked. `readReached`
 * reads which of a full user's devices a push has reached. Throws the 400 for a link by client key
 * when it has reached all of the active ones.
 */
export async function listDevicesToUnlink(
  devices: readonly DeviceOfUser[],
  readReached: (ids: readonly Uuid[]) => Promise<ReadonlySet<Uuid>>,
  byClient = false,
): Promise<Uuid[]> {
  const active = devices.filter((device) => device.active);
  const inactive = devices.filter((device) => !device.active);
  const unlinked: (Uuid | undefined)[] = [];
  // Inactive devices are limited too, because a stranger could add any number of them.
  if (inactive.length >= devicesPerUserMax) unlinked.push(findEarliest(inactive, 'lastSeenAt'));
  if (active.length >= devicesPerUserMax) {
    const reached = await readReached(active.map(({ deviceId }) => deviceId));
    const unreached = findEarliest(
      active.filter(({ deviceId }) => !reached.has(deviceId)),
      'createdAt',
    );
    if (unreached === undefined && byClient) throw tooMany();
    unlinked.push(unreached ?? findEarliest(active, 'lastSeenAt'));
  }
  return unlinked.filter((id) => id !== undefined);
}

function findEarliest(devices: readonly DeviceOfUser[], time: 'createdAt' | 'lastSeenAt'): Uuid | undefined {
  let earliest: DeviceOfUser | undefined;
  for (const device of devices) {
    const laterMs = earliest ? device[time].getTime() - earliest[time].getTime() : -1;
    if (!earliest || laterMs < 0 || (laterMs === 0 && device.deviceId < earliest.deviceId)) earliest = device;
  }
  return earliest?.deviceId;
}

function tooMany(): Error {
  const message = `A user has at most ${devicesPerUserMax} active devices.`;
  return invalid([{ path: ['device_id'], code: 'too_big', message, limit: devicesPerUserMax }]);
}
