// Keeps a user at 100 active devices (contract 8). Each change of a profile is written to the rows
// of all of them. Without a limit, a stranger who links thousands of invented devices to one user
// would make such a change take seconds.

import type { Tx } from '@carillon/postgres';
import { invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { devicesPerUserMax } from '../devices/device.ts';
import { countDevicesOfUser, findLongestUnseen, findOldestUnreached } from '../devices/room-queries.ts';

export interface LinkToMake {
  readonly externalId: string;
  readonly deviceId: Uuid;
  readonly byClient: boolean;
}

/**
 * Lists the devices to unlink before this one is linked. The caller holds the lock on the person,
 * so that no other device is linked meanwhile. A user with more devices than the limit keeps them:
 * one is unlinked for each that is linked. Throws the 400 for a link by client key when a push has
 * reached all of the user's devices.
 */
export async function listDevicesToUnlink(tx: Tx, appId: Uuid, link: LinkToMake): Promise<readonly Uuid[]> {
  const { externalId, deviceId: exceptId, byClient } = link;
  const { active, inactive } = await countDevicesOfUser(tx, appId, externalId, {
    exceptId,
    countMax: devicesPerUserMax,
  });
  const unlinked: (Uuid | undefined)[] = [];
  // Inactive devices are limited too, because a stranger could add any number of them.
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
