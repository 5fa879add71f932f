// A user has at most 100 active devices (contract 8): each change of a profile is written on the rows of all of them, and without a
// limit a stranger who links thousands of made-up devices to one user makes that change take seconds.
import { devicesPerUserMax } from '../devices/device.ts';
import { countDevicesOfUser, findLongestUnseen, findOldestUnreached } from '../devices/room-queries.ts';
import { invalid } from '../platform/api-error.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface LinkToMake {
  readonly externalId: string;
  readonly deviceId: Uuid;
  readonly byClient: boolean;
}

/**
 * Which devices are to be unlinked before this one is linked? The caller holds the person, so that no other device is linked
 * meanwhile. Users who have more than the limit keep theirs: one goes for one that comes. Throws the 400 for a link by client key
 * to a user all of whose devices were reached.
 */
export async function listDevicesToUnlink(tx: Tx, appId: Uuid, link: LinkToMake): Promise<readonly Uuid[]> {
  const { externalId, deviceId: exceptId, byClient } = link;
  const { active, inactive } = await countDevicesOfUser(tx, appId, externalId, {
    ...{ exceptId, countMax: devicesPerUserMax },
  });
  const unlinked: (Uuid | undefined)[] = [];
  // Devices that are none any more would be as many as a stranger likes.
  if (inactive >= devicesPerUserMax) {
    unlinked.push(await findLongestUnseen(tx, appId, externalId, { exceptId, isActive: false }));
  }
  if (active >= devicesPerUserMax) {
    const unreached = await findOldestUnreached(tx, appId, externalId, exceptId);
    if (unreached === undefined && byClient) throw tooMany();
    unlinked.push(unreached ?? (await findLongestUnseen(tx, appId, externalId, { exceptId, isActive: true })));
  }
  return unlinked.filter((id) => id !== undefined);
}

function tooMany(): Error {
  const message = `A user has at most ${devicesPerUserMax} active devices.`;
  return invalid([{ path: ['device_id'], code: 'too_big', message, limit: devicesPerUserMax }]);
}
